import type { Deployment, LogLevel } from '@botberth/sdk'
import { useMemo, useState } from 'react'
import type { LogEntry } from '../live/log-buffer.ts'
import { levelOf, levels } from './level.ts'
import { type LogItem, placeMarkers } from './markers.ts'
import { Phases } from './phases.ts'

/** A chip that hides some lines. */
export interface Choice {
  readonly name: string
  readonly isOn: boolean
  toggle(): void
}

interface Shown {
  readonly items: readonly LogItem[]
  /** How many of them are lines. */
  readonly lines: number
  readonly levels: readonly (Choice & { readonly name: LogLevel })[]
  /** Steps of a deployment; empty where there is only one. */
  readonly phases: readonly Choice[]
}

/** Which lines are not hidden, and what stands between them. */
export function useShown(
  entries: readonly LogEntry[],
  deployments: readonly Deployment[],
  until: string | undefined,
): Shown {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const toggle = (name: string) => {
    const next = new Set(hidden)
    if (!next.delete(name)) next.add(name)
    setHidden(next)
  }
  const choice = <T extends string>(name: T) => ({ name, isOn: !hidden.has(name), toggle: () => toggle(name) })
  const phases = usePhases(entries)
  const kept = useMemo(
    () =>
      hidden.size === 0
        ? entries
        : entries.filter((entry) => 'skipped' in entry || !(hidden.has(levelOf(entry)) || hidden.has(entry.phase))),
    [entries, hidden],
  )
  const items = useMemo(() => placeMarkers(kept, deployments, until), [kept, deployments, until])
  return { items, lines: kept.length, levels: levels.map(choice), phases: phases.map(choice) }
}

/** None where there is only one. */
function usePhases(entries: readonly LogEntry[]): readonly string[] {
  const [phases] = useState(() => new Phases())
  return useMemo(() => {
    phases.see(entries)
    return phases.names.length > 1 ? phases.names : []
  }, [entries, phases])
}
