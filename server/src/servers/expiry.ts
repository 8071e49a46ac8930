import { sql } from 'kysely'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { DatabaseAway } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { wake } from '../jobs/wake.ts'
import { changeServer } from './queries.ts'

const retryMs = 500
// A clock that was set forward is noticed within this.
const longestMs = 60_000
const batch = 500

/** Stops bots the moment they expire. One timer to the next that is due; nothing looks at the others. */
export class Expiry {
  readonly #app: App
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(app: App) {
    this.#app = app
  }

  /** What expired while nobody was there comes first. */
  async run(): Promise<void> {
    if (this.#isClosed) return
    const app = this.#app
    try {
      while ((await tx(app.pool.db, (db) => expireDue(db, app.clock.now()))) === batch);
      this.#later(await this.#untilNext())
    } catch (error) {
      if (!(error instanceof DatabaseAway)) app.log.error({ err: error }, 'bots could not be expired')
      this.#later(retryMs)
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #later(ms: number): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.run(), ms).unref()
  }

  /** Whatever is renewed or made meanwhile is due later than that, so nothing has to be told. */
  async #untilNext(): Promise<number> {
    const { pool, clock } = this.#app
    const [next] = await pool.query<{ expires_at: Date }>(
      'select expires_at from bots where not is_expired order by expires_at limit 1',
    )
    const ms = (next?.expires_at.getTime() ?? Number.POSITIVE_INFINITY) - clock.now().getTime()
    return Math.min(Math.max(0, ms), clock.pollMs ?? longestMs)
  }
}

/** Returns how many were due. */
async function expireDue(db: Db, now: Date): Promise<number> {
  const due = db
    .selectFrom('bots')
    .select('id')
    .where('is_expired', '=', false)
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(batch)
    .forUpdate()
    .skipLocked()
  const expired = await db
    .updateTable('bots')
    .set({ is_expired: true })
    .where('id', 'in', due)
    .returning('id')
    .execute()
  if (expired.length === 0) return 0
  const stopped = await db
    .updateTable('servers')
    .set({ wanted: 'offline', is_expiry_stop: true, restart_at: null })
    .where(
      'bot_id',
      'in',
      expired.map(({ id }) => id),
    )
    .where('wanted', '=', 'running')
    .returning('bot_id')
    .execute()
  for (const { bot_id } of stopped) await wake(db, 'server', bot_id)
  return expired.length
}

/** A bot that expired while it was running runs again; in the transaction that renews it. */
export async function resumeRenewed(db: Db, botId: string, now: Date): Promise<void> {
  const server = await db
    .selectFrom('servers')
    .select(['bot_id', 'instance_id'])
    .where('bot_id', '=', botId)
    .where(sql<boolean>`is_expiry_stop`)
    .forUpdate()
    .executeTakeFirst()
  if (!server) return
  await changeServer(db, server, {
    wanted: 'running',
    is_expiry_stop: false,
    state: 'starting',
    state_at: now,
    crashes: [],
    backoff: 0,
    restarts: 0,
  })
  await wake(db, 'server', botId)
}
