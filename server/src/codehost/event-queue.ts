import type { App } from '../context.ts'
import { DatabaseAway, type Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { wake } from '../jobs/wake.ts'
import { AppError } from '../lib/app-error.ts'
import type { Happening } from './events.ts'
import { handle, type PushDeployer } from './handle.ts'
import { checkRevoked } from './revoked.ts'

// By hand a delivery can be repeated for some days; from then on nobody has to know it.
const keptMs = 30 * 24 * 60 * 60_000
const attemptsMax = 12
// Longer than the platform is asked for one.
const leaseMs = 60_000

interface Received {
  /** The platform's own. */
  readonly id: string
  readonly event: string
  /** Undefined: of no concern, only remembered. */
  readonly happening: Happening | undefined
}

/** Each delivery once; false: it has come before, and is handled or will be. */
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
      // What we have given up is tried anew for whoever has it sent again.
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet({ next_at: now, attempts: 0 })
          .where('codehost_events.outcome', '=', 'failed')
          .where('codehost_events.body', 'is not', null)
          .where('codehost_events.next_at', 'is', null),
      )
      .executeTakeFirst()
    const isTaken = numInsertedOrUpdatedRows === 1n
    if (isTaken && happening) await wake(db, 'codehost', id)
    return isTaken
  })
}

/** Handles the one that has waited longest; false: none is due. */
export async function handleNext(app: App, deployer: PushDeployer): Promise<boolean> {
  const now = app.clock.now()
  let taken: { id: string; attempts: number } | undefined
  try {
    const revoked = await tx(app.pool.db, async (db) => {
      const event = await takeNext(db, now)
      taken = event
      if (!event) return undefined
      const happening = JSON.parse(event.body ?? '') as Happening
      if (happening.kind === 'authorization-revoked') {
        // The platform is asked about it, outside of any transaction; nobody else takes it meanwhile.
        const next_at = new Date(now.getTime() + leaseMs)
        await settle(db, event.id, { next_at, outcome: 'being checked' })
        return happening
      }
      const outcome = await handle(db, happening, deployer)
      await settle(db, event.id, { body: null, next_at: null, outcome })
      return undefined
    })
    if (revoked && taken) {
      await checkRevoked(app, revoked.accountId)
      await settle(app.pool.db, taken.id, { body: null, next_at: null, outcome: 'checked' })
    }
    return taken !== undefined
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

/** A fault of ours, or a platform that is away: later again, and longer each time. */
async function putOff(app: App, { id, attempts }: { id: string; attempts: number }, error: unknown): Promise<void> {
  const isLast = attempts + 1 >= attemptsMax && !(error instanceof AppError)
  app.log.error({ err: error, event: id, isLast }, 'an event of the code host could not be handled')
  const next_at = isLast ? null : new Date(app.clock.now().getTime() + 1000 * 2 ** Math.min(attempts, attemptsMax))
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
