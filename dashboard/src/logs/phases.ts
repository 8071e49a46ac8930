import type { LogEntry } from '../live/log-buffer.ts'

/** The phases of a log, in the order in which they came. */
export class Phases {
  names: readonly string[] = []
  #firstSeq = 0
  #lastSeq = 0

  /** Looks only at lines before and after those that it has seen: a log has many. */
  see(entries: readonly LogEntry[]): void {
    const seenAt = entries.findIndex(({ seq }) => seq >= this.#firstSeq)
    const older = seenAt === -1 ? entries : entries.slice(0, seenAt)
    const newer = entries.slice(entries.findLastIndex(({ seq }) => seq <= this.#lastSeq) + 1)
    this.names = [...new Set([...phasesOf(older), ...this.names, ...phasesOf(newer)])]
    this.#firstSeq = entries[0]?.seq ?? 0
    this.#lastSeq = entries.at(-1)?.seq ?? 0
  }
}

function phasesOf(entries: readonly LogEntry[]): string[] {
  return entries.flatMap((entry) => ('phase' in entry && entry.phase !== '' ? [entry.phase] : []))
}
