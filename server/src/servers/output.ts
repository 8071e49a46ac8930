import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { LineSplitter } from '../lib/lines.ts'
import type { Log } from '../lib/log.ts'
import { type LogLine, LogStore } from '../lib/log-store.ts'
import type { OutputStream, Runtime } from '../runtime/runtime.ts'

const bytesKept = 8 * 1024 * 1024 // of lines, for one bot
const watchedIntervalMs = 250
const idleIntervalMs = 1_000
// What was read is given back to the disk in pieces: each costs a process.
const dropAfterBytes = 1024 * 1024
// A bot that writes faster than anybody reads: the middle of it goes, the newest stays.
const backlogMax = 4 * 1024 * 1024
const streams = ['stdout', 'stderr'] as const

interface Reader {
  readonly instanceId: string
  readonly splitters: Record<OutputStream, LineSplitter>
  readonly offsets: Record<OutputStream, number>
  readonly marks: Record<string, number>
  readonly dropped: Record<OutputStream, number>
}

/** Reads what bots write, line by line, into a log of each bot, and tells whoever listens. */
export class Output {
  readonly #options: { runtime: Runtime; clock: Clock; log: Log; folder: string }
  readonly #stores = new Map<string, LogStore>()
  readonly #readers = new Map<string, Reader>()
  readonly #watchers = new Map<string, Set<(lines: readonly LogLine[]) => void>>()
  readonly #reading = new Map<string, Promise<void>>()
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
    })
  }

  /** The instance has ended: everything that it wrote, also what has no end of line. */
  async finish(botId: string, instanceId: string): Promise<void> {
    if (this.#readers.get(botId)?.instanceId !== instanceId) this.follow(botId, instanceId)
    await this.#reading.get(botId)
    await this.#read(botId)
    const reader = this.#readers.get(botId)
    this.#readers.delete(botId)
    for (const stream of streams) {
      const rest = reader?.splitters[stream].flush() ?? []
      if (reader && rest.length > 0) this.#append(botId, reader, { stream, lines: rest })
    }
  }

  /** A line of our own. */
  say(botId: string, text: string): void {
    const reader = this.#readers.get(botId)
    const line = { at: this.#options.clock.now(), stream: 'system' as const, phase: 'run', text }
    this.#tell(botId, this.logOf(botId).append([line], reader?.marks))
  }

  watch(botId: string, listener: (lines: readonly LogLine[]) => void): () => void {
    const listeners = this.#watchers.get(botId) ?? new Set()
    this.#watchers.set(botId, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#watchers.delete(botId)
    }
  }

  async remove(botId: string): Promise<void> {
    this.#readers.delete(botId)
    await this.#reading.get(botId)
    this.#stores.get(botId)?.close()
    this.#stores.delete(botId)
    await rm(join(this.#options.folder, botId), { recursive: true, force: true })
  }

  /** Those that somebody looks at four times a second, the others every second. */
  #tick(): void {
    const isFullRound = this.#ticks++ % (idleIntervalMs / watchedIntervalMs) === 0
    for (const botId of isFullRound ? this.#readers.keys() : this.#watchers.keys()) {
      if (this.#reading.has(botId) || !this.#readers.has(botId)) continue
      const reading = this.#read(botId)
        .catch((error: unknown) => this.#options.log.error({ err: error, botId }, 'a bot’s output cannot be read'))
        .finally(() => this.#reading.delete(botId))
      this.#reading.set(botId, reading)
    }
  }

  async #read(botId: string): Promise<void> {
    const reader = this.#readers.get(botId)
    if (!reader) return
    for (const stream of streams) {
      let read = 0
      for (;;) {
        const chunk = await this.#options.runtime.readOutput(reader.instanceId, stream, reader.offsets[stream])
        if (chunk.length === 0 || this.#readers.get(botId) !== reader) break
        reader.offsets[stream] += chunk.length
        read += chunk.length
        const lines = reader.splitters[stream].push(chunk)
        if (lines.length > 0) this.#append(botId, reader, { stream, lines })
        if (read > backlogMax) break // the others wait
      }
      await this.#drop(reader, stream)
    }
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
    const at = this.#options.clock.now()
    reader.marks[`${reader.instanceId}:${stream}`] = lines.at(-1)?.endOffset ?? 0
    const written = this.logOf(botId).append(
      lines.map(({ text }) => ({ at, stream, phase: 'run', text })),
      reader.marks,
    )
    this.#tell(botId, written)
  }

  #tell(botId: string, lines: readonly LogLine[]): void {
    for (const listener of this.#watchers.get(botId) ?? []) listener(lines)
  }
}
