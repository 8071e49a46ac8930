import { notifications } from '@mantine/notifications'
import { memo, type Ref } from 'react'
import { useTexts } from '../texts/texts.ts'
import { Icon } from '../ui/Icon.tsx'
import { TextLink } from '../ui/Links.tsx'
import { Line } from './Line.tsx'
import { levelOf } from './level.ts'
import { isCrash, type LogItem, type Marker, momentOf } from './markers.ts'

// Made once: making one takes longer than all else that a line needs.
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

interface Props {
  readonly ref?: Ref<HTMLDivElement> | undefined
  readonly index: number
  readonly start: number
  readonly entry: LogItem
  readonly hasTime: boolean
  readonly query: string
  readonly isCurrent: boolean
  readonly isMarked: boolean
}

export const LogRow = memo(function LogRow({ ref, index, start, entry, hasTime, query, isCurrent, isMarked }: Props) {
  const t = useTexts()
  const place = { ref, className: 'log-line', 'data-index': index, style: { transform: `translateY(${start}px)` } }
  if ('deployment' in entry)
    return (
      <div {...place} data-marker={entry.deployment.status}>
        <DeploymentMarker marker={entry} />
      </div>
    )
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
    <div
      {...place}
      data-level={levelOf(entry)}
      data-seq={seq}
      data-marked={isMarked || undefined}
      data-marker={isCrash(entry) ? 'crash' : undefined}
    >
      {hasTime && (
        <a href={`#L${seq}`} onClick={copyLink} title={t.logs.copyLink(String(seq))} tabIndex={-1}>
          <time dateTime={at}>{clock.format(new Date(at))}</time>
        </a>
      )}
      <span className="log-text">
        <Line text={text} query={query} isCurrent={isCurrent} />
      </span>
    </div>
  )
})

function DeploymentMarker({ marker: { deployment } }: { marker: Marker }) {
  const t = useTexts()
  const { id, botId, status, commitSha, commitMsg } = deployment
  const at = momentOf(deployment)
  return (
    <>
      <Icon name={status === 'failed' ? 'warning' : 'deploy'} size={14} />
      <TextLink to="/bots/$botId/deployments/$deploymentId" params={{ botId, deploymentId: id }} tabIndex={-1}>
        {status === 'failed' ? t.logs.failedHere : t.logs.deployedHere}
      </TextLink>
      {at && <time dateTime={at}>{new Date(at).toLocaleString('en-GB')}</time>}
      <span className="log-text">{commitSha && `${commitSha.slice(0, 7)} ${commitMsg?.split('\n')[0] ?? ''}`}</span>
    </>
  )
}
