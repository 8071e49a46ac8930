import type { Deployment } from '@botberth/sdk'
import type { LogEntry } from '../live/log-buffer.ts'

/** Stands between lines: from here on they are those of another release. */
export interface Marker {
  /** Of the line before it. */
  readonly seq: number
  readonly deployment: Deployment
}

export type LogItem = LogEntry | Marker

/** When its release was started, or when it failed before that. */
export function momentOf({ status, steps, finishedAt, createdAt }: Deployment): string | undefined {
  if (status === 'succeeded') return steps.find(({ name }) => name === 'starting')?.startedAt ?? finishedAt ?? createdAt
  return status === 'failed' ? (finishedAt ?? createdAt) : undefined
}

/** The lines with those deployments between them that happened meanwhile; none after `until`, where lines end there. */
export function placeMarkers(
  entries: readonly LogEntry[],
  deployments: readonly Deployment[],
  until?: string,
): readonly LogItem[] {
  const first = entries.find((entry) => 'at' in entry)
  if (!first || !('at' in first)) return entries
  const placed = deployments
    .flatMap((deployment) => {
      const at = momentOf(deployment)
      if (at === undefined || at < first.at || (until !== undefined && at > until)) return []
      return [{ deployment, index: indexAt(entries, at) }]
    })
    .toSorted((a, b) => a.index - b.index)
  if (placed.length === 0) return entries
  const items: LogItem[][] = []
  let from = 0
  for (const { deployment, index } of placed) {
    items.push(entries.slice(from, index), [{ seq: entries[index - 1]?.seq ?? 0, deployment }])
    from = index
  }
  return [...items, entries.slice(from)].flat()
}

/** Of the first line that was written then or later. */
function indexAt(entries: readonly LogEntry[], at: string): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const entry = entries[middle]
    // What is no longer kept has no time: it counts as written with the line before it.
    const time = entry && 'at' in entry ? entry.at : (entries[middle - 1] as { at?: string } | undefined)?.at
    if (time !== undefined && time < at) low = middle + 1
    else high = middle
  }
  return low
}

/** By the words with which the server tells of it in the log. */
export function isCrash({ stream, text }: { readonly stream: string; readonly text: string }): boolean {
  return (
    stream === 'system' &&
    /^The bot (exited with code|was ended by|ran out of memory|was lost|has no room left)/.test(text)
  )
}
