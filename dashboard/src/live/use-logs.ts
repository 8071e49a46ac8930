import type { LogLines, LogsQuery } from '@botberth/sdk'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { LogRange } from '../logs/range.ts'
import { hub } from './hub.ts'
import { LogBuffer, type LogEntry, linesMax } from './log-buffer.ts'

const pageLines = 1_000
// Often enough to count what is new.
const calmMs = 250

export interface LogSource {
  readonly topic: string
  readonly range?: LogRange | undefined
  read(query: LogsQuery): Promise<LogLines>
}

export interface Logs {
  readonly entries: readonly LogEntry[]
  readonly isLoading: boolean
  readonly error: unknown
  /** Older lines than these are kept. */
  readonly hasEarlier: boolean
  loadEarlier(): Promise<void>
  /** Whether somebody looks at the newest lines, or reads older ones, where new ones only cost time. */
  watchEnd(isWatched: boolean): void
  retry(): void
}

/** Reads a log and keeps it up to date, unless only lines of the past are wanted. */
export function useLogs(source: LogSource): Logs {
  const reader = useMemo(() => new LogReader(source), [source])
  const [, redraw] = useState(0)
  useEffect(() => reader.open(() => redraw((count) => count + 1)), [reader])
  const shown = useRef(reader)
  if (!reader.isLoading || reader.error !== undefined || !shown.current.canStandInFor(reader)) shown.current = reader
  return shown.current
}

/** A line more for each that is written; painted at most once a frame, less often while nobody would see it. */
class LogReader implements Logs {
  readonly #source: LogSource
  readonly #buffer = new LogBuffer()
  #changed = () => {}
  #isPainting = false
  #isEndWatched = true
  /** Of the newest line that was told of before the first ones were read. */
  #toldSeq = 0
  #reading: Promise<void> = Promise.resolve()
  isLoading = true
  error: unknown
  hasEarlier = false

  constructor(source: LogSource) {
    this.#source = source
  }

  get entries(): readonly LogEntry[] {
    return this.#buffer.entries
  }

  /** Lines of another time stay until those that were asked for are there, and with them what is set around them. */
  canStandInFor(other: LogReader): boolean {
    return this.#source.topic === other.#source.topic && this.entries.length > 0
  }

  open(changed: () => void): () => void {
    this.#changed = changed
    this.#catchUp()
    if (this.#source.range?.until !== undefined) return () => (this.#changed = () => {})
    const unwatch = hub.watch(this.#source.topic, {
      onEvent: (event) => {
        if (event.type !== 'logs') return
        if (this.isLoading) this.#toldSeq = event.lines.at(-1)?.seq ?? this.#toldSeq
        else if (this.#buffer.accept(event.lines)) this.#paint()
        else this.#catchUp()
      },
      onCatchUp: () => this.#catchUp(),
    })
    return () => {
      this.#changed = () => {}
      unwatch()
    }
  }

  retry = (): void => this.#catchUp()

  watchEnd = (isWatched: boolean): void => {
    this.#isEndWatched = isWatched
  }

  loadEarlier = async (): Promise<void> => {
    const { data, before } = await this.#source.read({ before: this.#buffer.firstSeq, tail: pageLines })
    this.#buffer.prepend(data)
    this.hasEarlier = before !== null && data.length > 0 && this.entries.length < linesMax
    this.#paint()
  }

  /** One after the other: two at once would both add the same lines. */
  #catchUp(): void {
    this.#reading = this.#reading.then(() => this.#read())
  }

  async #read(): Promise<void> {
    try {
      if (this.isLoading) await this.#readFirst()
      else await this.#readOn()
      this.error = undefined
    } catch (error) {
      this.error = error
    }
    this.#paint()
  }

  async #readFirst(): Promise<void> {
    const { data, before } = await this.#source.read({ tail: pageLines })
    this.#buffer.addRead(data)
    this.hasEarlier = before !== null && data.length > 0
    this.isLoading = false
    // It may have been answered before that line was written.
    if (this.#toldSeq > this.#buffer.lastSeq) await this.#readOn()
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const { data } = await this.#source.read({ after: this.#buffer.lastSeq, tail: pageLines })
      this.#buffer.addRead(data)
      if (data.length < pageLines) return
      this.#paint()
    }
  }

  #paint(): void {
    if (this.#isPainting) return
    this.#isPainting = true
    const paint = () => {
      this.#isPainting = false
      this.#changed()
    }
    // A hidden tab gets no frames, and needs none.
    if (document.hidden) setTimeout(paint, 500)
    else if (!this.#isEndWatched) setTimeout(paint, calmMs)
    else requestAnimationFrame(paint)
  }
}
