import { closeSync, constants, ftruncateSync, mkdirSync, openSync, readdirSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { textMax } from './lines.ts'
import {
  fileSize,
  offsetOfSeq,
  readBlocksBackward,
  readLinesBackward,
  readLinesForward,
  writeAll,
} from './log-segment.ts'

export interface LogLine {
  seq: number
  /** ISO 8601 with milliseconds. */
  at: string
  stream: 'stdout' | 'stderr' | 'system'
  phase: string
  text: string
}

export interface NewLogLine {
  at: Date
  stream: LogLine['stream']
  phase: string
  text: string
}

export interface LogQuery {
  /** The newest so many, at most `limit`. */
  tail?: number
  /** Only lines with a smaller seq. */
  before?: number
  /** Only lines with a greater seq; the page is then the oldest of these, not the newest, unless `tail` is given. */
  after?: number
  since?: Date
  until?: Date
  stream?: LogLine['stream']
  /** Upper and lower case are the same. */
  q?: string
  limit: number
}

export interface LogPage {
  /** Oldest first. */
  data: LogLine[]
  /** Pass it as `before` to get the page before; null if nothing older is kept. */
  before: number | null
  /** Pass it as `after` to go on: everything up to it was looked at. Null if the log never had a line. */
  after: number | null
}

type Marks = Record<string, number>

/** A line as it is on disk. The last one of an append carries the marks; an append without lines is marks alone. */
type Entry = Partial<LogLine> & { marks?: Marks; last?: number }

interface Segment {
  /** The seq of its first line, which its file is named after. */
  readonly first: number
  /** Up to where the file holds whole appends; what is behind was torn off by a crash or a full disk. */
  size: number
}

/**
 * Lines of a log, kept in a folder of their own that only one process writes to. An append is there as a whole or
 * not at all, whenever the process is killed. Holds no file open, so that thousands of logs can be.
 */
export class LogStore {
  readonly #folder: string
  readonly #bytesMax: number
  readonly #segments: Segment[]
  #lastSeq = 0
  #marks: Marks = {}
  /** The newest file may hold more than its segment: cut it before writing. */
  #isTorn = true
  #isClosed = false

  static open(folder: string, options: { bytesMax: number }): LogStore {
    mkdirSync(folder, { recursive: true })
    return new LogStore(folder, options.bytesMax)
  }

  private constructor(folder: string, bytesMax: number) {
    this.#folder = folder
    this.#bytesMax = bytesMax
    this.#segments = readdirSync(folder)
      .filter((name) => /^\d{10,}\.jsonl$/.test(name))
      .map((name) => ({ first: Number.parseInt(name, 10), size: fileSize(join(folder, name)) }))
      .toSorted((a, b) => a.first - b.first)
    this.#findEnd()
  }

  /** The newest segment may hold nothing whole yet; the one before it then has the last marks. */
  #findEnd(): void {
    const newest = this.#segments.at(-1)
    if (!newest) return
    this.#lastSeq = newest.first - 1
    for (const segment of this.#segments.slice(-2).toReversed()) {
      const found = findLastAppend(this.#file(segment), segment.size)
      if (segment === newest) {
        newest.size = found?.end ?? 0
        this.#lastSeq = found?.lastSeq ?? this.#lastSeq
      }
      if (!found) continue
      this.#marks = found.marks
      return
    }
  }

  /** The seq of the oldest line that is kept; 0: none. */
  get firstSeq(): number {
    const first = this.#segments[0]?.first ?? 0
    return first <= this.#lastSeq ? first : 0
  }

  /** The seq of the newest line there ever was; 0: none. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /**
   * The marks of the last append that gave some and reached the disk. Who keeps its position in an input here can
   * neither lose nor repeat a line, as both are written at once.
   */
  get marks(): Marks {
    return { ...this.#marks }
  }

  /**
   * Throws if the lines could not be written, as on a full disk: then none of them is there, and it can be tried
   * again. `marks` replace the former ones as a whole.
   */
  append(lines: readonly NewLogLine[], marks?: Marks): LogLine[] {
    if (this.#isClosed) throw new Error('the log is closed')
    if (lines.length === 0 && (!marks || isSame(marks, this.#marks))) return []
    const numbered = lines.map((line, index) => numberLine(line, this.#lastSeq + 1 + index))
    const newMarks = { ...(marks ?? this.#marks) }
    const bytes = encode(numbered, newMarks, this.#lastSeq)
    this.#write(bytes)
    this.#lastSeq += numbered.length
    this.#marks = newMarks
    this.#prune()
    return numbered
  }

  #write(bytes: Buffer): void {
    const newest = this.#segments.at(-1)
    const isFull = newest && newest.size > 0 && newest.size + bytes.length > this.#bytesMax / 8
    if (isFull && newest.first > this.#lastSeq) this.#replace(newest, bytes)
    else this.#extend(newest && !isFull ? newest : undefined, bytes)
  }

  #extend(existing: Segment | undefined, bytes: Buffer): void {
    const segment = existing ?? { first: this.#lastSeq + 1, size: 0 }
    const fd = openSync(this.#file(segment), constants.O_WRONLY | constants.O_CREAT, 0o600)
    try {
      // From here on the file is the newest one, also if writing fails: lines must not go to the former one any more.
      if (!existing) this.#segments.push(segment)
      if (this.#isTorn || !existing) ftruncateSync(fd, segment.size)
      this.#isTorn = true
      writeAll(fd, bytes, segment.size)
    } finally {
      closeSync(fd)
    }
    this.#isTorn = false
    segment.size += bytes.length
  }

  /** A segment full of marks without a single line: a new one would have the same name. */
  #replace(segment: Segment, bytes: Buffer): void {
    const draft = join(this.#folder, 'draft')
    const fd = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o600)
    try {
      writeAll(fd, bytes, 0)
    } finally {
      closeSync(fd)
    }
    renameSync(draft, this.#file(segment))
    segment.size = bytes.length
    this.#isTorn = false
  }

  /** The newest segment stays, however large it is: its name and its marks are where the numbering goes on. */
  #prune(): void {
    let total = this.#segments.reduce((sum, { size }) => sum + size, 0)
    while (total > this.#bytesMax && this.#segments.length > 1) {
      const [oldest] = this.#segments
      if (!oldest) return
      try {
        unlinkSync(this.#file(oldest))
      } catch (error) {
        // The lines are written, so the append must not fail for this; the next one tries again.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return
      }
      this.#segments.shift()
      total -= oldest.size
    }
  }

  read(query: LogQuery): LogPage {
    const isForward = query.after !== undefined && query.tail === undefined
    const first = Math.max((query.after ?? 0) + 1, this.firstSeq)
    const last = Math.min((query.before ?? Number.POSITIVE_INFINITY) - 1, this.#lastSeq)
    const count = Math.min(query.tail ?? query.limit, query.limit)
    const range = { first, last }
    const { data, isCut } = take(isForward ? this.#forward(range) : this.#backward(range), query, count)
    if (!isForward) data.reverse()
    // Nothing before the page was left out if it was looked through down to the first line of all.
    const start = data[0]?.seq ?? (isForward ? first : last + 1)
    const hasOlder = isForward || isCut || first > this.firstSeq
    const end = isForward && isCut ? (data.at(-1)?.seq ?? first - 1) : Math.max(last, 0)
    return {
      data,
      before: hasOlder && this.firstSeq > 0 && start > this.firstSeq ? Math.min(start, this.#lastSeq + 1) : null,
      after: this.#lastSeq === 0 ? null : end,
    }
  }

  *#forward({ first, last }: Range): Generator<string[]> {
    for (const segment of this.#segmentsOf({ first, last })) {
      yield* readLinesForward(this.#file(segment), this.#offsets(segment, { first, last }))
    }
  }

  *#backward({ first, last }: Range): Generator<string[]> {
    for (const segment of this.#segmentsOf({ first, last }).toReversed()) {
      yield* readLinesBackward(this.#file(segment), this.#offsets(segment, { first, last }))
    }
  }

  #segmentsOf({ first, last }: Range): Segment[] {
    return this.#segments.filter((segment, index) => {
      const next = this.#segments[index + 1]
      return first <= last && segment.first <= last && (!next || next.first > first)
    })
  }

  #offsets(segment: Segment, { first, last }: Range): { start: number; end: number } {
    const file = this.#file(segment)
    const end = last >= this.#lastSeq ? segment.size : offsetOfSeq(file, segment.size, last + 1)
    return { start: first <= segment.first ? 0 : offsetOfSeq(file, segment.size, first), end }
  }

  #file(segment: Segment): string {
    return join(this.#folder, `${String(segment.first).padStart(10, '0')}.jsonl`)
  }

  close(): void {
    this.#isClosed = true
  }
}

interface Range {
  readonly first: number
  readonly last: number
}

function isSame(a: Marks, b: Marks): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}

function numberLine({ at, stream, phase, text }: NewLogLine, seq: number): LogLine {
  if (text.length > textMax) throw new RangeError(`a log line has ${text.length} characters; ${textMax} are allowed`)
  if (text.includes('\n')) throw new RangeError('a log line has a line feed in it')
  return { seq, at: at.toISOString(), stream, phase, text }
}

/** JSON escapes lone surrogates and control characters, so that every text survives the way through UTF-8. */
function encode(lines: readonly LogLine[], marks: Marks, lastSeq: number): Buffer {
  const entries: Entry[] = lines.length === 0 ? [{ last: lastSeq, marks }] : [...lines]
  if (lines.length > 0) entries.push({ ...entries.pop(), marks })
  return Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
}

/** Where the last whole append of a segment ends; undefined if there is none. */
function findLastAppend(file: string, size: number): { end: number; lastSeq: number; marks: Marks } | undefined {
  for (const { at, bytes } of readBlocksBackward(file, { start: 0, end: size })) {
    for (let end = bytes.length; end > 0; ) {
      const start = bytes.subarray(0, end - 1).lastIndexOf(0x0a) + 1
      const entry = parseEntry(bytes.toString('utf8', start, end - 1))
      const lastSeq = entry?.seq ?? entry?.last
      if (entry?.marks && lastSeq !== undefined) return { end: at + end, lastSeq, marks: entry.marks }
      end = start
    }
  }
  return undefined
}

/** Undefined if it is damaged: the lines around it are still good. */
function parseEntry(line: string): Entry | undefined {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'object' && entry !== null ? entry : undefined
  } catch {
    return undefined
  }
}

/** The first so many that match, and whether there may be more of them. */
function take(blocks: Iterable<string[]>, query: LogQuery, count: number): { data: LogLine[]; isCut: boolean } {
  const data: LogLine[] = []
  if (count <= 0) return { data, isCut: true }
  const select = makeSelect(query)
  for (const lines of blocks) {
    for (const line of lines) {
      const found = select(line)
      if (!found) continue
      data.push(found)
      if (data.length >= count) return { data, isCut: true }
    }
  }
  return { data, isCut: false }
}

function makeSelect({ since, until, stream, q }: LogQuery): (line: string) => LogLine | undefined {
  const word = q?.toLowerCase() ?? ''
  // Such a word stands in the JSON as it does in the text, so most lines need not be parsed.
  const isPlain = /^[ -~]+$/.test(word) && !/["\\]/.test(word)
  const [from, to] = [since?.toISOString(), until?.toISOString()]
  return (line) => {
    if (isPlain && !line.toLowerCase().includes(word)) return undefined
    const entry = parseEntry(line)
    if (entry?.seq === undefined || entry.at === undefined || entry.text === undefined) return undefined
    if (!entry.stream || (stream && entry.stream !== stream)) return undefined
    if ((from && entry.at < from) || (to && entry.at > to)) return undefined
    if (word && !entry.text.toLowerCase().includes(word)) return undefined
    return { seq: entry.seq, at: entry.at, stream: entry.stream, phase: entry.phase ?? '', text: entry.text }
  }
}
