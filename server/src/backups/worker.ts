import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseAway } from '../db/pool.ts'
import { NotNow } from '../deployments/deployer.ts'
import type { Wakes } from '../jobs/wake.ts'
import { runBackup } from './backup.ts'
import { type Keeper, Unwanted } from './keeper.ts'
import { deleteBackup, findUnfinished, listDeleted, listNext, type Next } from './queries.ts'
import { runRestore } from './restore.ts'
import { Retries } from './retries.ts'

const retryMs = 500
// A store that is away may be so for hours.
const storeRetryMs = 10_000
const lookId = 'look'
// Those that wait for their turn cost nothing but memory.
const atOnceMax = 100

interface Running extends Next {
  readonly abort: AbortController
  readonly done: Promise<void>
}

/**
 * Makes and restores the backups of this node's bots: one at a time for a bot, in order. The tables are the queue, and
 * nobody else works on this node's bots, so whatever is under way when we start was left by a dead process.
 */
export class BackupWorker {
  readonly #keeper: Keeper
  readonly #running = new Map<string, Running>()
  readonly #stopping = new AbortController()
  readonly #retries: Retries
  #deleting: Promise<void> = Promise.resolve()
  #retry: NodeJS.Timeout | undefined

  constructor(keeper: Keeper) {
    this.#keeper = keeper
    this.#retries = new Retries(keeper.app.clock)
  }

  start(wakes: Wakes): void {
    wakes.on('backup', () => this.#pump())
    wakes.on('removal', (botId) => {
      if (botId !== undefined) this.#running.get(botId)?.abort.abort(new Unwanted())
    })
    this.#pump()
  }

  /** What is under way for a bot has ended, one way or another. */
  async whenIdle(botId: string): Promise<void> {
    await this.#running.get(botId)?.done
  }

  /** Ends what is under way where it is; the next start takes it up. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('stopping'))
    for (const { abort } of this.#running.values()) abort.abort(new Error('stopping'))
    await Promise.all([...this.#running.values()].map(({ done }) => done))
    await this.#deleting
  }

  #pump(): void {
    if (this.#stopping.signal.aborted) return
    this.#look().then(
      () => this.#retries.forget(lookId),
      (error: unknown) => {
        const waitMs = this.#noteFailure(error, { id: lookId, words: 'backups cannot be read or removed' })
        clearTimeout(this.#retry) // however often we are woken, there is one
        this.#retry = setTimeout(
          () => this.#pump(),
          error instanceof DatabaseAway ? waitMs : Math.max(waitMs, storeRetryMs),
        ).unref()
      },
    )
  }

  async #look(): Promise<void> {
    for (const running of this.#running.values()) await this.#endUnwanted(running)
    for (const next of await listNext(this.#keeper.app.pool.db, this.#keeper.nodeId)) {
      if (this.#running.size >= atOnceMax || this.#stopping.signal.aborted) return
      if (!this.#running.has(next.bot_id)) this.#run(next)
    }
    const deleting = this.#deleting.then(() => this.#deleteMarked())
    this.#deleting = deleting.catch(() => undefined) // whoever looks is told
    await deleting
  }

  async #endUnwanted({ kind, id, abort }: Running): Promise<void> {
    if (kind === 'backup' && !(await findUnfinished(this.#keeper.app.pool.db, id))) abort.abort(new Unwanted())
  }

  /** One that cannot be removed, because its store is away, keeps none of the others. */
  async #deleteMarked(): Promise<void> {
    const { app, stores, nodeId } = this.#keeper
    const errors: unknown[] = []
    for (const { id, bot_id, store } of await listDeleted(app.pool.db, nodeId)) {
      const running = this.#running.get(bot_id)
      if (running?.id === id) await running.done
      try {
        await stores.get(store).remove({ botId: bot_id, id })
        await deleteBackup(app.pool.db, id)
      } catch (error) {
        if (error instanceof DatabaseAway) throw error
        errors.push(error)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} backups could not be removed`)
  }

  #run(next: Next): void {
    const abort = new AbortController()
    const run = next.kind === 'backup' ? runBackup : runRestore
    const done = run(this.#keeper, next.id, abort.signal)
      .then(
        () => this.#retries.forget(next.id),
        (error: unknown) => this.#waitAfter(error, next, abort.signal),
      )
      .finally(() => {
        this.#running.delete(next.bot_id)
        this.#pump()
      })
    this.#running.set(next.bot_id, { ...next, abort, done })
  }

  /** Neither done nor failed: it is taken up where it stands, unless nobody wants it any more. */
  async #waitAfter(error: unknown, { kind, id }: Next, signal: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([signal, this.#stopping.signal])
    if (!ended.aborted) {
      const words = 'a backup or a restore was interrupted'
      const waitMs = this.#noteFailure(error, { id, words, fields: { [kind]: id } })
      await sleep(waitMs, undefined, { signal: ended }).catch(() => undefined) // whoever ended it waits for us
    }
    if (signal.reason instanceof Unwanted) this.#retries.forget(id)
  }

  /** Returns when to try again: soon if it was only not the time for it. */
  #noteFailure(error: unknown, { id, words, fields }: { id: string; words: string; fields?: object }): number {
    if (error instanceof DatabaseAway || error instanceof NotNow) return retryMs
    const { waitMs, isNews } = this.#retries.fail(id)
    if (isNews) this.#keeper.app.log.error({ err: error, ...fields }, words)
    return waitMs
  }
}
