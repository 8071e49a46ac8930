import type { App } from '../context.ts'
import { DatabaseAway, type Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { wake } from '../jobs/wake.ts'
import type { Happening } from './events.ts'
import { handle, type PushDeployer } from './handle.ts'

// By hand a delivery can be repeated for some days; from then on nobody has to know it.
const keptMs = 30 * 24 * 60 * 60_000
const attemptsMax = 12

interface Received {
  /** The platform's own. */
  readonly id: string
  readonly event: string
  /** Undefined: of no concern, only remembered. */
  readonly happening: Happening | undefined
}

/** Each delivery once; false: it has come before. */
export async function insertEvent(db: Db, { id, event, happening }: Received, now: Date): Promise<boolean> {
  return tx(db, async (db) => {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('codehost_events')
      .values({
        id,
        event,
        body: happening ? JSON.stringify(happening) : null,
        next_at: happening ? now : null,
        received_at: now,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    const isNew = numInsertedOrUpdatedRows === 1n
    if (isNew && happening) await wake(db, 'codehost', id)
    return isNew
  })
}

/** Handles the one that has waited longest; false: none is due. */
export async function handleNext(app: App, deployer: PushDeployer): Promise<boolean> {
  const now = app.clock.now()
  let taken: { id: string; attempts: number } | undefined
  try {
    return await tx(app.pool.db, async (db) => {
      const event = await takeNext(db, now)
      if (!event) return false
      taken = event
      const outcome = await handle(db, JSON.parse(event.body ?? '') as Happening, { deployer, now })
      await settle(db, event.id, { body: null, next_at: null, outcome })
      return true
    })
  } catch (error) {
    if (!taken || error instanceof DatabaseAway) throw error
    await putOff(app, taken, error)
    return true
  }
}

/** Locked until its transaction ends: no other server takes it too. */
function takeNext(db: Db, now: Date) {
  return db
    .selectFrom('codehost_events')
    .select(['id', 'body', 'attempts'])
    .where('next_at', '<=', now)
    .orderBy('next_at')
    .orderBy('received_at')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
}

/** A fault of ours: later again, and longer each time. */
async function putOff(app: App, { id, attempts }: { id: string; attempts: number }, error: unknown): Promise<void> {
  const isLast = attempts + 1 >= attemptsMax
  app.log.error({ err: error, event: id, isLast }, 'an event of the code host could not be handled')
  const next_at = isLast ? null : new Date(app.clock.now().getTime() + 1000 * 2 ** attempts)
  await settle(app.pool.db, id, { attempts: attempts + 1, next_at, outcome: 'failed' })
}

async function settle(
  db: Db,
  id: string,
  changes: { body?: null; attempts?: number; next_at: Date | null; outcome: string },
): Promise<void> {
  await db.updateTable('codehost_events').set(changes).where('id', '=', id).execute()
}

/** When the next one is due, undefined: none waits. */
export async function nextEventAt(db: Db): Promise<Date | undefined> {
  const row = await db
    .selectFrom('codehost_events')
    .select('next_at')
    .where('next_at', 'is not', null)
    .orderBy('next_at')
    .limit(1)
    .executeTakeFirst()
  return row?.next_at ?? undefined
}

export async function forgetEvents(db: Db, now: Date): Promise<void> {
  await db
    .deleteFrom('codehost_events')
    .where('received_at', '<', new Date(now.getTime() - keptMs))
    .where('next_at', 'is', null)
    .execute()
}
