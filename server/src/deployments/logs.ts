import { existsSync, mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { type LogLine, type LogQuery, LogStore } from '../lib/log-store.ts'

const bytesKept = 2 * 1024 * 1024
const lineMax = 4_000

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
  readonly #open = new Map<string, LogStore>()
  readonly #watchers = new Map<string, Set<(lines: readonly LogLine[]) => void>>()

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** For the one that is being worked on. */
  write(ref: DeploymentRef, line: { stream: LogLine['stream']; phase: string; text: string }): void {
    let store = this.#open.get(ref.id)
    if (!store) {
      store = LogStore.open(this.#folderOf(ref), { bytesMax: bytesKept })
      this.#open.set(ref.id, store)
    }
    const text = line.text.length > lineMax ? `${line.text.slice(0, lineMax)} …` : line.text
    const at = this.#clock.now()
    const lines = store.append(text.split('\n').map((part) => ({ ...line, text: part, at })))
    for (const listener of this.#watchers.get(ref.id) ?? []) listener(lines)
  }

  read(ref: DeploymentRef, query: LogQuery): Page {
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
    const listeners = this.#watchers.get(id) ?? new Set()
    this.#watchers.set(id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#watchers.delete(id)
    }
  }

  finish(id: string): void {
    this.#open.get(id)?.close()
    this.#open.delete(id)
  }

  /** Everything of a bot. */
  async remove(botId: string): Promise<void> {
    await rm(join(this.#folder, botId), { recursive: true, force: true })
  }

  #folderOf({ id, bot_id }: DeploymentRef): string {
    return join(this.#folder, bot_id, id)
  }
}
