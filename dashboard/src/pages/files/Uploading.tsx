import { Alert, Progress, Text } from '@mantine/core'
import { formatBytes } from '../../format.ts'
import { useTexts } from '../../texts/texts.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { fileBytesMax, type Upload } from './upload.ts'

/** How far it is, and what did not go. */
export function Uploading({ upload: { action, progress, tooLarge } }: { upload: Upload }) {
  const t = useTexts()
  return (
    <div role="status">
      {progress && (
        <>
          <Text size="sm" className="break">
            {t.files.uploading(String(progress.done + 1), progress.name)}
          </Text>
          <Progress value={Math.max(5, progress.share * 100)} animated aria-label={t.files.upload} />
        </>
      )}
      {tooLarge.length > 0 && (
        <Alert color="yellow" className="break">
          {t.files.tooLarge(tooLarge.join(', '), formatBytes(fileBytesMax))}
        </Alert>
      )}
      {action.error !== undefined && <ErrorCard error={action.error} />}
    </div>
  )
}
