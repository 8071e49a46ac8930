import { Alert, Button, Group, Progress, Text } from '@mantine/core'
import { formatBytes } from '../../format.ts'
import { useTexts } from '../../texts/texts.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { fileBytesMax, type Upload } from './upload.ts'

/** How far it is, and what did not go. */
export function Uploading({ upload }: { upload: Upload }) {
  const { action, progress, failed, isTooEarly, tooLarge, stop } = upload
  const t = useTexts()
  return (
    <div role="status">
      {progress && (
        <>
          <Group justify="space-between" wrap="nowrap" mb={4}>
            <Text size="sm" className="break">
              {t.files.uploading(String(progress.done + 1), progress.name)}
            </Text>
            <Button size="xs" variant="default" onClick={stop}>
              {t.files.stopUpload}
            </Button>
          </Group>
          <Progress value={Math.max(5, progress.share * 100)} animated aria-label={t.files.upload} />
        </>
      )}
      {isTooEarly && <Alert color="yellow">{t.files.tooEarly}</Alert>}
      {tooLarge.length > 0 && (
        <Alert color="yellow" className="break">
          {t.files.tooLarge(tooLarge.join(', '), formatBytes(fileBytesMax))}
        </Alert>
      )}
      {action.error !== undefined && <ErrorCard error={action.error} title={failed && t.files.uploadFailed(failed)} />}
    </div>
  )
}
