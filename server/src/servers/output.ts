import { existsSync, mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { Groups } from '../lib/groups.ts'
import { KeyedLock } from '../lib/keyed-lock.ts'
import { LineSplitter } from '../lib/lines.ts'
import type { Log } from '../lib/log.ts'
import { type LogLine, type LogPage, type LogQuery, LogStore } from '../lib/log-store.ts'
import { Slots } from '../lib/slots.ts'
import type { OutputStream, Runtime } from '../runtime/runtime.ts'
import { type Allowance, Allowances } from './allowance.ts'

const bytesKept = 8 * 1024 * 1024 // of lines, for one bot
const watchedIntervalMs = 250
const idleIntervalMs = 1_000
// What was read is given back to the disk in pieces: each costs a process.
const dropAfterBytes = 1024 * 1024
// A bot that writes faster than this in a round: the middle of it goes, the newest stays.
const backlogMax = 4 * 1024 * 1024
const backlogKept = 1024 * 1024
// Each takes memory for what it reads, and a process for what it gives back to the disk.
const readersMax = 8
const lineFeed = 0x0a
const streams = ['stdout', 'stderr'] as const

interface Reader {
  readonly instanceId: string
  readonly splitters: Record<OutputStream, LineSplitter>
  readonly offsets: Record<OutputStream, number>
  readonly marks: Record<string, number>
  readonly dropped: Record<OutputStream, number>
  readonly allowance: Allowance
}

/** Reads what bots write, line by line, into a log of each bot, and tells whoever listens. */
export class Output {
  readonly #options: { runtime: Runtime; clock: Clock; log: Log; folder: string }
  readonly #stores = new Map<string, LogStore>()
  readonly #readers = new Map<string, Reader>()
  readonly #watchers = new Groups<(lines: readonly LogLine[]) => void>()
  readonly #reading = new Map<string, Promise<void>>()
  readonly #lock = new KeyedLock()
  readonly #allowances = new Allowances()
  readonly #slots = new Slots(readersMax)
  readonly #never = new AbortController().signal
  #timer: NodeJS.Timeout | undefined
  #ticks = 0

  /** `folder`: of the bots' logs. */
  constructor(options: { runtime: Runtime; clock: Clock; log: Log; folder: string }) {
    this.#options = options
    mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), watchedIntervalMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#reading.values())
    for (const store of this.#stores.values()) store.close()
  }

  logOf(botId: string): LogStore {
    let store = this.#stores.get(botId)
    if (!store) {
      store = LogStore.open(join(this.#options.folder, botId), { bytesMax: bytesKept })
      this.#stores.set(botId, store)
    }
    return store
  }

  /** From where the last reader stopped: the position stands in the log beside the lines. */
  follow(botId: string, instanceId: string): void {
    const kept = this.logOf(botId).marks
    const at = (stream: OutputStream) => kept[`${instanceId}:${stream}`] ?? 0
    this.#readers.set(botId, {
      instanceId,
      splitters: { stdout: new LineSplitter(at('stdout')), stderr: new LineSplitter(at('stderr')) },
      offsets: { stdout: at('stdout'), stderr: at('stderr') },
      marks: { [`${instanceId}:stdout`]: at('stdout'), [`${instanceId}:stderr`]: at('stderr') },
      dropped: { stdout: 0, stderr: 0 },
      allowance: this.#allowances.open(),
    })
  }

  /** The instance has ended: everything that it wrote, also what has no end of line. */
  async finish(botId: string, instanceId: string): Promise<void> {
    if (this.#readers.get(botId)?.instanceId !== instanceId) this.follow(botId, instanceId)
    const reader = this.#readers.get(botId)
    await this.#lock.run(botId, async () => {
      if (!reader) return
      await this.#read(botId, reader)
      for (const stream of streams) this.#append(botId, reader, { stream, lines: reader.splitters[stream].flush() })
    })
    if (this.#readers.get(botId) === reader) this.#readers.delete(botId)
  }

  /** Looking makes nothing: there are bots that never wrote a line. */
  read(botId: string, query: LogQuery): LogPage {
    const isKnown = this.#stores.has(botId) || existsSync(join(this.#options.folder, botId))
    return isKnown ? this.logOf(botId).read(query) : { data: [], before: null, after: null }
  }

  /** A line of our own. */
  say(botId: string, text: string): void {
    const reader = this.#readers.get(botId)
    const line = { at: this.#options.clock.now(), stream: 'system' as const, phase: 'run', text }
    this.#tell(botId, this.logOf(botId).append([line], reader?.marks))
  }

  watch(botId: string, listener: (lines: readonly LogLine[]) => void): () => void {
    return this.#watchers.add(botId, listener)
  }

  async remove(botId: string): Promise<void> {
    this.#readers.delete(botId)
    await this.#lock.run(botId, async () => {
      this.#stores.get(botId)?.close()
      this.#stores.delete(botId)
      await rm(join(this.#options.folder, botId), { recursive: true, force: true })
    })
  }

  /** Those that somebody looks at four times a second, the others every second. */
  #tick(): void {
    const isFullRound = this.#ticks++ % (idleIntervalMs / watchedIntervalMs) === 0
    for (const botId of isFullRound ? this.#readers.keys() : this.#watchers.keys()) {
      const reader = this.#readers.get(botId)
      if (this.#reading.has(botId) || !reader) continue
      const reading = this.#lock
        .run(botId, () => this.#read(botId, reader))
        .catch((error: unknown) => this.#beginAgain(botId, reader, error))
        .finally(() => this.#reading.delete(botId))
      this.#reading.set(botId, reading)
    }
  }

  /** Nothing is lost by a full disk: what could not be written is read again from where the log ends. */
  #beginAgain(botId: string, { instanceId }: Reader, error: unknown): void {
    this.#options.log.error({ err: error, botId }, 'a bot’s output cannot be read')
    if (this.#readers.get(botId)?.instanceId === instanceId) this.follow(botId, instanceId)
  }

  /** One at a time for a bot: two readers of one position would both write what they find. */
  async #read(botId: string, reader: Reader): Promise<void> {
    for (const stream of streams) {
      const bytes = await this.#options.runtime.outputBytes(reader.instanceId, stream)
      if (bytes !== reader.offsets[stream])
        await this.#slots.run(() => this.#readTo(botId, reader, { stream, end: bytes }), this.#never)
    }
  }

  /** Only what was there before: a bot that goes on writing as fast would keep us here for ever. */
  async #readTo(botId: string, reader: Reader, { stream, end }: { stream: OutputStream; end: number }): Promise<void> {
    this.#skipBacklog(botId, reader, { stream, end })
    let isRest = false
    while (reader.offsets[stream] < end) {
      if (this.#readers.get(botId) !== reader) return
      const offset = reader.offsets[stream]
      const found = await this.#options.runtime.readOutput(reader.instanceId, stream, offset)
      const chunk = found.subarray(0, end - offset)
      if (chunk.length === 0) break // cut off meanwhile
      if (!isRest && !reader.allowance.take({ lines: countLines(chunk), bytes: chunk.length })) {
        await this.#skipLines(botId, reader, { stream, end })
        isRest = true
        continue
      }
      reader.offsets[stream] += chunk.length
      this.#append(botId, reader, { stream, lines: reader.splitters[stream].push(chunk) })
    }
    await this.#drop(reader, stream)
  }

  /** Also a bot that cuts its own output off, or stretches it, is read on from where it is now. */
  #skipBacklog(botId: string, reader: Reader, { stream, end }: { stream: OutputStream; end: number }): void {
    const waiting = end - reader.offsets[stream]
    if (waiting >= 0 && waiting <= backlogMax) return
    this.#jump(botId, reader, { stream, to: waiting < 0 ? 0 : end - backlogKept })
  }

  /** All but the last lines of what there is now. */
  async #skipLines(
    botId: string,
    reader: Reader,
    { stream, end }: { stream: OutputStream; end: number },
  ): Promise<void> {
    const kept = reader.allowance.takeEnd()
    const from = Math.max(reader.offsets[stream], end - kept.bytes)
    const tail = await this.#options.runtime.readOutput(reader.instanceId, stream, from)
    const to = from + startOfLast(kept.lines, tail.subarray(0, end - from))
    if (to > reader.offsets[stream]) this.#jump(botId, reader, { stream, to })
  }

  #jump(botId: string, reader: Reader, { stream, to }: { stream: OutputStream; to: number }): void {
    const skipped = to - reader.offsets[stream]
    reader.offsets[stream] = to
    reader.splitters[stream] = new LineSplitter(to)
    reader.marks[`${reader.instanceId}:${stream}`] = to
    reader.dropped[stream] = Math.min(reader.dropped[stream], to)
    const what = skipped < 0 ? 'was cut off' : `came too fast: ${(skipped / 1e6).toFixed(1)} MB of it were skipped`
    this.say(botId, `The output to ${stream} ${what}.`)
  }

  async #drop(reader: Reader, stream: OutputStream): Promise<void> {
    const done = reader.marks[`${reader.instanceId}:${stream}`] ?? 0
    if (done - reader.dropped[stream] < dropAfterBytes) return
    reader.dropped[stream] = done
    await this.#options.runtime.dropOutput(reader.instanceId, stream, done)
  }

  #append(
    botId: string,
    reader: Reader,
    { stream, lines }: { stream: OutputStream; lines: { text: string; endOffset: number }[] },
  ): void {
    const last = lines.at(-1)
    if (!last) return
    const at = this.#options.clock.now()
    const marks = { ...reader.marks, [`${reader.instanceId}:${stream}`]: last.endOffset }
    const written = this.logOf(botId).append(
      lines.map(({ text }) => ({ at, stream, phase: 'run', text })),
      marks,
    )
    Object.assign(reader.marks, marks)
    this.#tell(botId, written)
  }

  #tell(botId: string, lines: readonly LogLine[]): void {
    for (const listener of this.#watchers.get(botId)) listener(lines)
  }
}

function countLines(chunk: Buffer): number {
  let count = 0
  for (const byte of chunk) if (byte === lineFeed) count++
  return count
}

/** Where the last so many lines begin, one without an end among them. */
function startOfLast(lines: number, chunk: Buffer): number {
  let at = chunk.length - 1
  for (let left = lines; left > 0 && at >= 0; left--) at = at === 0 ? -1 : chunk.lastIndexOf(lineFeed, at - 1)
  return at + 1
}
