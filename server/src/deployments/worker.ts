import { DatabaseAway } from '../db/pool.ts'
import type { Wakes } from '../jobs/wake.ts'
import { runDeployment } from './deploy.ts'
import { Canceled, type Deployer, NotNow } from './deployer.ts'
import { listNext } from './queries.ts'

const retryMs = 500
// A clock that was set forward is noticed within this.
const longestMs = 60_000
// Those that wait for a place to be built in cost nothing but memory.
const atOnceMax = 100

/**
 * Runs the deployments of this node: one at a time for a bot, in order. The table is the queue. Nobody else works on
 * this node's bots (the data directory is locked), so whatever is under way when we start was left by a dead process
 * and is taken up at once.
 */
export class DeploymentWorker {
  readonly #deployer: Deployer
  readonly #nodeId: string
  readonly #running = new Map<string, { id: string; abort: AbortController; done: Promise<void> }>()
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(deployer: Deployer, nodeId: string) {
    this.#deployer = deployer
    this.#nodeId = nodeId
  }

  start(wakes: Wakes): void {
    wakes.on('deployment', () => this.#pump())
    wakes.on('cancel', (id) => {
      for (const running of this.#running.values())
        if (id === undefined || running.id === id) this.#lookWhetherCanceled(running)
    })
    wakes.on('removal', (botId) => {
      if (botId !== undefined) this.#running.get(botId)?.abort.abort(new Canceled())
    })
    this.#pump()
  }

  /** What is under way for a bot that was deleted has ended, one way or another. */
  async whenIdle(botId: string): Promise<void> {
    await this.#running.get(botId)?.done
    await this.#deployer.tidying.drop(botId)
  }

  /** Ends what is under way where it is; the next start takes it up. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('stopping'))
    clearTimeout(this.#timer)
    for (const { abort } of this.#running.values()) abort.abort(new Error('stopping'))
    await Promise.all([...this.#running.values()].map(({ done }) => done))
    await this.#deployer.tidying.close()
  }

  #lookWhetherCanceled(running: { id: string; abort: AbortController }): void {
    this.#cancelIfWanted(running).catch((error: unknown) => {
      if (!(error instanceof DatabaseAway)) this.#deployer.app.log.error({ err: error }, 'a deployment cannot be read')
      setTimeout(() => this.#lookWhetherCanceled(running), retryMs).unref()
    })
  }

  async #cancelIfWanted({ id, abort }: { id: string; abort: AbortController }): Promise<void> {
    const { db } = this.#deployer.app.pool
    const row = await db
      .selectFrom('deployments')
      .select(['is_cancel_wanted', 'finished_at'])
      .where('id', '=', id)
      .executeTakeFirst()
    // Gone: its bot was deleted. Over: it waited for a place, and others of its bot wait behind it.
    if (!row || row.is_cancel_wanted || row.finished_at) abort.abort(new Canceled())
  }

  #pump(): void {
    if (this.#stopping.signal.aborted) return
    this.#takeNext().catch((error: unknown) => {
      if (!(error instanceof DatabaseAway)) this.#deployer.app.log.error({ err: error }, 'deployments cannot be read')
      setTimeout(() => this.#pump(), retryMs).unref()
    })
  }

  async #takeNext(): Promise<void> {
    const { clock, pool } = this.#deployer.app
    const waits: number[] = []
    for (const { id, bot_id, not_before } of await listNext(pool.db, this.#nodeId, clock.now())) {
      if (this.#running.size >= atOnceMax || this.#stopping.signal.aborted) return
      const waitMs = (not_before?.getTime() ?? 0) - clock.now().getTime()
      if (waitMs > 0) waits.push(waitMs)
      else if (!this.#running.has(bot_id)) this.#run(bot_id, id)
    }
    clearTimeout(this.#timer)
    if (waits.length > 0 && !this.#stopping.signal.aborted)
      this.#timer = setTimeout(() => this.#pump(), Math.min(...waits, clock.pollMs ?? longestMs)).unref()
  }

  #run(botId: string, id: string): void {
    const abort = new AbortController()
    const done = this.#deploy(botId, id, abort.signal)
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return undefined
        // Neither done nor failed: the database went away in the middle. It is taken up where it stands.
        if (!(error instanceof DatabaseAway) && !(error instanceof NotNow))
          this.#deployer.app.log.error({ err: error, deployment: id }, 'a deployment was interrupted')
        return new Promise<void>((resolve) => setTimeout(resolve, retryMs))
      })
      .finally(() => {
        this.#running.delete(botId)
        this.#pump()
      })
    this.#running.set(botId, { id, abort, done })
  }

  async #deploy(botId: string, id: string, signal: AbortSignal): Promise<void> {
    const isOver = await runDeployment(this.#deployer, id, signal)
    if (isOver) this.#deployer.tidying.later(botId)
  }
}
