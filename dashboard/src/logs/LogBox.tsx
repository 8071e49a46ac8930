import { levelOf } from '@botberth/sdk'
import { Text } from '@mantine/core'
import { useLayoutEffect, useRef } from 'react'
import { type LogSource, useLogs } from '../live/use-logs.ts'
import { useTexts } from '../texts/texts.ts'
import { ErrorCard } from '../ui/ErrorCard.tsx'
import { Line } from './Line.tsx'
import { useServerLogs } from './sources.ts'

const shownMax = 30

/** The last lines, without anything to set. */
export function LogBox({ botId }: { botId: string }) {
  return <LastLines source={useServerLogs(botId)} />
}

function LastLines({ source }: { source: LogSource }) {
  const t = useTexts()
  const { entries, error, isLoading, retry } = useLogs(source)
  const box = useRef<HTMLDivElement>(null)
  // The newest are the last: they are within sight.
  useLayoutEffect(() => {
    box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [entries])
  if (error !== undefined && entries.length === 0)
    return <ErrorCard error={error} title={t.errors.load} onRetry={retry} />
  if (entries.length === 0 && !isLoading) return <Text c="dimmed">{t.overview.noLines}</Text>
  return (
    <div
      ref={box}
      className="log"
      style={{ contain: 'content', padding: '8px 0', maxHeight: 320 }}
      role="log"
      aria-label={t.overview.recentLog}
      tabIndex={0}
    >
      {entries.slice(-shownMax).map((entry) =>
        'skipped' in entry ? null : (
          <div
            key={entry.seq}
            className="log-line"
            style={{ position: 'static', whiteSpace: 'pre-wrap' }}
            data-level={levelOf(entry)}
          >
            <span className="log-text break">
              <Line text={entry.text} />
            </span>
          </div>
        ),
      )}
    </div>
  )
}
