import type { Bot } from '@botberth/sdk'
import { useTexts } from '../../texts/texts.ts'
import { useDuration, useNow } from '../../ui/Time.tsx'

const hourMs = 3_600_000
const soonMs = 48 * hourMs
const urgentMs = 12 * hourMs

export interface BotProblem {
  readonly bot: Bot
  readonly text: string
  readonly color: 'red' | 'yellow'
}

/** What somebody should look at, the worst of each bot. */
export function useProblems(bots: readonly Bot[]): readonly BotProblem[] {
  const { home: t } = useTexts()
  const duration = useDuration()
  const now = useNow()
  return bots.flatMap((bot): BotProblem[] => {
    const { name } = bot
    const leftMs = Date.parse(bot.expiresAt) - now
    if (bot.status === 'expired') return [{ bot, text: t.expired(name), color: 'red' }]
    if (bot.server.state === 'crashed') return [{ bot, text: t.crashed(name), color: 'red' }]
    if (bot.lastDeployment?.status === 'failed') return [{ bot, text: t.failed(name), color: 'red' }]
    if (leftMs < soonMs)
      return [{ bot, text: t.expires(name, duration(leftMs)), color: leftMs < urgentMs ? 'red' : 'yellow' }]
    return []
  })
}
