import { existsSync, mkdirSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { Groups } from '../lib/groups.ts'
import type { Log } from '../lib/log.ts'
import { type LogLine, type LogQuery, LogStore, type NewLogLine } from '../lib/log-store.ts'

const bytesKept = 2 * 1024 * 1024
const lineMax = 4_000
const flushMs = 50
const linesAtOnce = 500
/** Of one bot. */
const logsKept = 50

type Page = ReturnType<LogStore['read']>

/** Names a deployment and whose it is. */
export interface DeploymentRef {
  readonly id: string
  readonly bot_id: string
}

/** What each deployment said, on disk. */
export class DeploymentLogs {
  readonly #folder: string
  readonly #clock: Clock
  readonly #log: Log
  readonly #waiting = new Map<string, { ref: DeploymentRef; lines: NewLogLine[]; skipped: number }>()
  #isFlushDue = false
  readonly #open = new Map<string, LogStore>()
  readonly #watchers = new Groups<(lines: readonly LogLine[]) => void>()

  constructor(folder: string, { clock, log }: { clock: Clock; log: Log }) {
    this.#folder = folder
    this.#clock = clock
    this.#log = log
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /**
   * For the one that is being worked on. Lines are written together a few times a second; a build that prints faster
   * than anybody reads loses the middle of what it prints. A log that cannot be written is no reason to stop.
   */
  write(ref: DeploymentRef, line: { stream: LogLine['stream']; phase: string; text: string }): void {
    const waiting = this.#waiting.get(ref.id) ?? { ref, lines: [], skipped: 0 }
    this.#waiting.set(ref.id, waiting)
    const at = this.#clock.now()
    const text = line.text.length > lineMax ? `${line.text.slice(0, lineMax)} …` : line.text
    for (const part of text.split('\n')) {
      if (waiting.lines.length < linesAtOnce || line.stream === 'system')
        waiting.lines.push({ ...line, text: part, at })
      else waiting.skipped++
    }
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    setTimeout(() => this.#flushAll(), flushMs)
  }

  #flushAll(): void {
    this.#isFlushDue = false
    for (const id of this.#waiting.keys()) this.#flush(id)
  }

  #flush(id: string): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    this.#waiting.delete(id)
    const { ref, lines, skipped } = waiting
    const at = this.#clock.now()
    const note = {
      at,
      stream: 'system' as const,
      phase: lines.at(-1)?.phase ?? '',
      text: `${skipped} lines were skipped.`,
    }
    try {
      const store = this.#open.get(id) ?? LogStore.open(this.#folderOf(ref), { bytesMax: bytesKept })
      this.#open.set(id, store)
      const written = store.append(skipped > 0 ? [...lines, note] : lines)
      for (const listener of this.#watchers.get(id)) listener(written)
    } catch (error) {
      this.#log.error({ err: error, deployment: id }, 'the log of a deployment cannot be written')
    }
  }

  read(ref: DeploymentRef, query: LogQuery): Page {
    this.#flush(ref.id)
    const open = this.#open.get(ref.id)
    if (open) return open.read(query)
    if (!existsSync(this.#folderOf(ref))) return { data: [], before: null, after: null }
    const store = LogStore.open(this.#folderOf(ref), { bytesMax: bytesKept })
    try {
      return store.read(query)
    } finally {
      store.close()
    }
  }

  watch({ id }: DeploymentRef, listener: (lines: readonly LogLine[]) => void): () => void {
    return this.#watchers.add(id, listener)
  }

  finish(id: string): void {
    this.#flush(id)
    this.#open.get(id)?.close()
    this.#open.delete(id)
  }

  /** All but the newest ones of a bot; their ids sort by time. */
  async prune(botId: string): Promise<void> {
    const folder = join(this.#folder, botId)
    const names = existsSync(folder) ? (await readdir(folder)).toSorted() : []
    for (const name of names.slice(0, -logsKept)) await rm(join(folder, name), { recursive: true, force: true })
  }

  /** Everything of a bot. */
  async remove(botId: string): Promise<void> {
    await rm(join(this.#folder, botId), { recursive: true, force: true })
  }

  #folderOf({ id, bot_id }: DeploymentRef): string {
    return join(this.#folder, bot_id, id)
  }
}
