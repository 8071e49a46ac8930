import type { Bot } from '@botberth/sdk'
import { Button } from '@mantine/core'
import { useTexts } from '../../texts/texts.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { usePower } from './power.ts'

/** What to do next where there is nothing because the bot does not run. */
export function StartButton({ bot }: { bot: Bot }) {
  const t = useTexts()
  const power = usePower(bot.id)
  if (bot.server.state === 'running' || bot.server.state === 'starting') return null
  return (
    <>
      <Button loading={power.isRunning} onClick={() => power.run('start')} leftSection={<Icon name="play" size={16} />}>
        {t.power.start}
      </Button>
      {power.error !== undefined && <ErrorCard error={power.error} />}
    </>
  )
}
