import { Button } from '@mantine/core'
import { useTexts } from '../../texts/texts.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { useDeploy } from './power.ts'

/** What to do next where nothing was deployed yet. */
export function DeployButton({ botId }: { botId: string }) {
  const t = useTexts()
  const deploy = useDeploy(botId)
  return (
    <>
      <Button loading={deploy.isRunning} onClick={() => deploy.run()} leftSection={<Icon name="deploy" size={16} />}>
        {t.overview.deployNow}
      </Button>
      {deploy.error !== undefined && <ErrorCard error={deploy.error} />}
    </>
  )
}
