import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { DeploymentLogs } from './logs.ts'
import { pruneReleases } from './queries.ts'

// Thousands of files may have to go, and a bot that has just been started, or is about to be, has the machine first.
const usualPauseMs = 2_000
const fullnessMax = 0.5
const dropped = new Error('not any more')

interface Tools {
  readonly app: App
  readonly runtime: Runtime
  readonly logs: DeploymentLogs
}

/** Removes the releases and logs that nobody can come back to, also while the next deployment of the bot is under way. */
export class Tidying {
  readonly #tools: Tools
  readonly #pauseMs: number
  readonly #byBot = new Map<string, { hurry: AbortController; done: Promise<void> }>()

  constructor(tools: Tools, pauseMs = usualPauseMs) {
    this.#tools = tools
    this.#pauseMs = pauseMs
  }

  later(botId: string): void {
    const before = this.#byBot.get(botId)
    const hurry = new AbortController()
    const done = this.#tidy(botId, { signal: hurry.signal, before: before?.done }).finally(() => {
      if (this.#byBot.get(botId)?.done === done) this.#byBot.delete(botId)
    })
    before?.hurry.abort()
    this.#byBot.set(botId, { hurry, done })
  }

  /** Resolves when there is nothing left to remove. */
  async now(botId: string): Promise<void> {
    const tidying = this.#byBot.get(botId)
    tidying?.hurry.abort()
    await tidying?.done
  }

  /** For a deployment that is about to begin: only where the disk is rather full somebody has to wait. */
  async makeRoom(botId: string): Promise<void> {
    const fullness = await this.#tools.runtime.fullness(botId)
    if (fullness !== undefined && fullness <= fullnessMax) return
    // A server that was killed may have left something.
    if (fullness !== undefined && !this.#byBot.has(botId)) this.later(botId)
    await this.now(botId)
  }

  /** What has not begun need not: all of the bot goes, or the next deployment sees to it. */
  async drop(botId: string): Promise<void> {
    const tidying = this.#byBot.get(botId)
    tidying?.hurry.abort(dropped)
    await tidying?.done
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byBot.keys()].map((botId) => this.drop(botId)))
  }

  /** Best effort: the next deployment tries again. */
  async #tidy(botId: string, { signal, before }: { signal: AbortSignal; before: Promise<void> | undefined }) {
    const { app, runtime, logs } = this.#tools
    await before
    await sleep(this.#pauseMs, undefined, { ref: false, signal }).catch(() => undefined) // somebody is in a hurry
    if (signal.reason === dropped) return
    try {
      await runtime.removeReleases(botId, () => pruneReleases(app.pool.db, botId))
      await logs.prune(botId)
    } catch (error) {
      if (!(error instanceof DatabaseAway))
        app.log.error({ err: error, bot: botId }, 'old releases could not be removed')
    }
  }
}
