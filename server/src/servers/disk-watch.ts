import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import { RunError } from '../lib/run.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Output } from './output.ts'
import { findServer } from './queries.ts'
import type { Resources } from './resources.ts'
import type { Supervisor } from './supervisor.ts'

const everyMs = 30_000
const mb = 1024 * 1024
const nearly = 0.9
const uncountedMax = 3
/** A file system of 16 MB keeps some blocks for its own tables. */
const full = 0.99
/** So far back from the last warning, and the next one is news again. */
const relief = 0.1

interface Options {
  readonly app: App
  readonly runtime: Runtime
  readonly supervisor: Supervisor
  readonly output: Output
  readonly resources: Resources
}

/**
 * Tells owners that the disk of a bot that runs is full, or soon will be. Bots that nothing else keeps within their
 * size are stopped when they have more. One bot at a time: looking through the files of one may take seconds.
 */
export class DiskWatch {
  readonly #options: Options
  readonly #told = new Map<string, number>()
  /** How often in a row their files could not be counted. */
  readonly #uncounted = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), everyMs).unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#looking
  }

  forget(botId: string): void {
    this.#told.delete(botId)
    this.#uncounted.delete(botId)
  }

  /** Through all that run; resolves when that is done. A look that takes long is not joined by another. */
  look(): Promise<void> {
    this.#looking ??= this.#lookAtAll().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookAtAll(): Promise<void> {
    const { app, runtime } = this.#options
    for (const { botId, exit } of await runtime.list()) {
      if (exit) continue
      if (this.#isClosed) return
      try {
        await this.#lookAt(botId).catch((error: unknown) => this.#noteUncounted(botId, error))
      } catch (error) {
        // The next look is another one, and the other bots have to be looked at too.
        if (!(error instanceof DatabaseAway)) app.log.error({ err: error, bot: botId }, 'a disk could not be looked at')
      }
    }
  }

  /** So many files that counting them never ends would be a way to have any number of them. */
  async #noteUncounted(botId: string, error: unknown): Promise<void> {
    if (!(error instanceof RunError) || error.reason !== 'timeout') throw error
    const times = (this.#uncounted.get(botId) ?? 0) + 1
    this.#uncounted.set(botId, times)
    if (times < uncountedMax) throw error
    if (await this.#options.supervisor.stopOverfull(botId, { isCounted: false })) this.#uncounted.delete(botId)
  }

  async #lookAt(botId: string): Promise<void> {
    const { app, runtime, supervisor, resources } = this.#options
    const { usedBytes, fullness } = await runtime.disk(botId)
    this.#uncounted.delete(botId)
    resources.noteDisk(botId, usedBytes)
    // What nearly all have: no need to ask who it is.
    if (fullness !== undefined && fullness < nearly - relief) return this.forget(botId)
    const server = await findServer(app.pool.db, botId)
    if (!server) return
    const limitBytes = server.disk_mb * mb
    if (fullness === undefined && usedBytes > limitBytes) await supervisor.stopOverfull(botId)
    else this.#tell(botId, { fullness: fullness ?? usedBytes / limitBytes, diskMb: server.disk_mb })
  }

  /** Once for each of the two, until there is room again. */
  #tell(botId: string, { fullness, diskMb }: { fullness: number; diskMb: number }): void {
    const told = this.#told.get(botId) ?? 0
    const level = fullness >= full ? full : fullness >= nearly ? nearly : 0
    if (level > told) {
      this.#told.set(botId, level)
      this.#options.output.say(botId, level === full ? fullText(diskMb) : nearlyText(diskMb, fullness))
    } else if (fullness < told - relief) this.#told.set(botId, level)
  }
}

function fullText(diskMb: number): string {
  return `The disk of this bot is full (${diskMb} MB): it can write nothing more until files are deleted.`
}

function nearlyText(diskMb: number, fullness: number): string {
  return `The disk of this bot is ${Math.floor(fullness * 100)} % full (of ${diskMb} MB, or of as many files as fit).`
}
