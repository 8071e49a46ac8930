import type { LogLines } from '@botberth/sdk'

export type LogLine = LogLines['data'][number]
/** Lines that are no longer kept stand as one line that says how many. */
export type LogEntry = LogLine | { readonly seq: number; readonly skipped: number }

/** As many as the browser holds; the oldest go first. */
export const linesMax = 50_000

/** The lines of one log without a hole, whatever order they come in. */
export class LogBuffer {
  /** A new array at each change, so that it can be compared. */
  entries: readonly LogEntry[] = []
  #last = 0

  get lastSeq(): number {
    return this.#last
  }

  get firstSeq(): number {
    return this.entries[0]?.seq ?? 0
  }

  /** Takes what is new and next. False: something before it is missing and has to be read first. */
  accept(lines: readonly LogLine[]): boolean {
    const fresh = lines.filter(({ seq }) => seq > this.#last)
    const [first] = fresh
    if (!first) return true
    if (first.seq !== this.#last + 1) return false
    this.#append(fresh)
    return true
  }

  /** What was read from the log after the last line: what is missing in between is no longer kept. */
  addRead(lines: readonly LogLine[]): void {
    const fresh = lines.filter(({ seq }) => seq > this.#last)
    const [first] = fresh
    if (!first) return
    const skipped = first.seq - this.#last - 1
    if (this.entries.length > 0 && skipped > 0) this.#append([{ seq: first.seq - 1, skipped }])
    this.#append(fresh)
  }

  prepend(lines: readonly LogLine[]): void {
    const older = lines.filter(({ seq }) => seq < this.firstSeq)
    this.entries = [...older, ...this.entries]
    this.#last = this.entries.at(-1)?.seq ?? 0
  }

  #append(entries: readonly LogEntry[]): void {
    const all = [...this.entries, ...entries]
    this.entries = all.length > linesMax ? all.slice(-linesMax) : all
    this.#last = all.at(-1)?.seq ?? this.#last
  }
}
