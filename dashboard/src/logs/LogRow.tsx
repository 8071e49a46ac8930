import { levelOf } from '@botberth/sdk'
import { notifications } from '@mantine/notifications'
import { memo, type Ref } from 'react'
import type { LogEntry } from '../live/log-buffer.ts'
import { useTexts } from '../texts/texts.ts'
import { Line } from './Line.tsx'

interface Props {
  readonly ref?: Ref<HTMLDivElement> | undefined
  readonly index: number
  readonly start: number
  readonly entry: LogEntry
  readonly hasTime: boolean
  readonly query: string
  readonly isCurrent: boolean
  readonly isMarked: boolean
}

export const LogRow = memo(function LogRow({ ref, index, start, entry, hasTime, query, isCurrent, isMarked }: Props) {
  const t = useTexts()
  const place = { ref, className: 'log-line', 'data-index': index, style: { transform: `translateY(${start}px)` } }
  if ('skipped' in entry)
    return (
      <div {...place} data-level="system">
        <span className="log-text">… {t.logs.skipped(String(entry.skipped))}</span>
      </div>
    )
  const { seq, at, text } = entry
  const copyLink = () => {
    const url = new URL(location.href)
    url.hash = `L${seq}`
    void navigator.clipboard
      ?.writeText(url.href)
      .then(() => notifications.show({ message: t.logs.linkCopied, autoClose: 2_000 }))
  }
  return (
    <div {...place} data-level={levelOf(entry)} data-seq={seq} data-marked={isMarked || undefined}>
      {hasTime && (
        <a href={`#L${seq}`} onClick={copyLink} title={t.logs.copyLink(String(seq))} tabIndex={-1}>
          <time dateTime={at}>{new Date(at).toLocaleTimeString('en-GB')}</time>
        </a>
      )}
      <span className="log-text">
        <Line text={text} query={query} isCurrent={isCurrent} />
      </span>
    </div>
  )
})
