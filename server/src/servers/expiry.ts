import { sql } from 'kysely'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { Rounds } from '../jobs/rounds.ts'
import { wake } from '../jobs/wake.ts'
import { changeServer } from './queries.ts'

const batch = 500

/** Stops bots the moment they expire. One timer to the next that is due; nothing looks at the others. */
export function makeExpiry(app: App): Rounds {
  return new Rounds({
    app,
    failure: 'bots could not be expired',
    round: async () => {
      // What expired while nobody was there comes first.
      while ((await tx(app.pool.db, (db) => expireDue(db, app.clock.now()))) === batch);
      return untilNext(app)
    },
  })
}

/** Whatever is renewed or made meanwhile is due later than that, so nothing has to be told. */
async function untilNext({ pool, clock }: App): Promise<number> {
  const [next] = await pool.query<{ expires_at: Date }>(
    'select expires_at from bots where not is_expired order by expires_at limit 1',
  )
  return (next?.expires_at.getTime() ?? Number.POSITIVE_INFINITY) - clock.now().getTime()
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
  const stopped = await stopAll(
    db,
    expired.map(({ id }) => id),
  )
  for (const { bot_id } of stopped) await wake(db, 'server', bot_id)
  return expired.length
}

/** One that was started, or went back to its old release, while it expired. False: it was renewed meanwhile. */
export async function stopExpired(db: Db, botId: string, now: Date): Promise<boolean> {
  const expired = await db
    .selectFrom('bots')
    .select('id')
    .where('id', '=', botId)
    .where('expires_at', '<=', now)
    .forUpdate()
    .executeTakeFirst()
  if (expired) await stopAll(db, [botId])
  return expired !== undefined
}

/** Whoever renews one of them has it run again. */
function stopAll(db: Db, botIds: readonly string[]): Promise<{ bot_id: string }[]> {
  return db
    .updateTable('servers')
    .set({ wanted: 'offline', is_expiry_stop: true, restart_at: null })
    .where('bot_id', 'in', botIds)
    .where('wanted', '=', 'running')
    .returning('bot_id')
    .execute()
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
