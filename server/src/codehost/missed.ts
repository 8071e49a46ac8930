import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import type { Delivery } from './answers.ts'
import type { CodehostClient } from './client.ts'

// The platform sends nothing again that is older.
const longestMs = 3 * 24 * 60 * 60_000
// Its clock is not ours, and what was under way at the last look is in neither list.
const overlapMs = 10 * 60_000
const requestMs = 10_000
// As many as that in one look are an accident; the others follow with the next one.
const pagesMax = 100
const redeliveriesMax = 500
const name = 'codehost_checked_at'

/**
 * Has the platform send what it could not deliver, which it does not do by itself: we may have been away. Several servers may
 * do so at once, because each delivery counts once. Returns how many.
 */
export async function fetchMissed(app: App, client: CodehostClient, stopping: AbortSignal): Promise<number> {
  const { db } = app.pool
  const now = app.clock.now()
  const since = new Date(Math.max(now.getTime() - longestMs, (await readCheckedAt(db)) - overlapMs))
  const signal = () => AbortSignal.any([stopping, AbortSignal.timeout(requestMs)])
  const missed = await withoutKnown(db, findMissed(await listSince(client, since, signal)))
  const wanted = missed.slice(0, redeliveriesMax)
  for (const { id } of wanted) await client.redeliver(id, signal())
  if (wanted.length > 0) app.log.info({ count: wanted.length }, 'events that were missed are sent again')
  if (wanted.length === missed.length) await noteCheckedAt(db, now)
  return wanted.length
}

async function listSince(client: CodehostClient, since: Date, signal: () => AbortSignal): Promise<Delivery[]> {
  const all: Delivery[] = []
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page++) {
    const { deliveries, next } = await client.listDeliveries(cursor, signal())
    all.push(...deliveries.filter(({ deliveredAt }) => deliveredAt >= since))
    const isPast = deliveries.some(({ deliveredAt }) => deliveredAt < since)
    if (next === undefined || isPast) break
    cursor = next
  }
  return all
}

/** The oldest first, one for each event of which no attempt came through. */
function findMissed(deliveries: readonly Delivery[]): Delivery[] {
  const taken = new Set(deliveries.filter(({ isTaken }) => isTaken).map(({ guid }) => guid))
  const newest = new Map(deliveries.toReversed().map((delivery) => [delivery.guid, delivery]))
  // What we have refused twice we would refuse for ever.
  return [...newest.values()].filter(({ guid, isRefused, isRepeat }) => !taken.has(guid) && !(isRefused && isRepeat))
}

/** We may have taken one without the platform hearing of it. */
async function withoutKnown(db: Db, deliveries: readonly Delivery[]): Promise<Delivery[]> {
  if (deliveries.length === 0) return []
  const guids = deliveries.map(({ guid }) => guid)
  const rows = await db.selectFrom('codehost_events').select('id').where('id', 'in', guids).execute()
  const known = new Set(rows.map(({ id }) => id))
  return deliveries.filter(({ guid }) => !known.has(guid))
}

/** Whether there is anything to miss: most servers have no code host, or a sandbox that nobody has ever used. */
export async function hasLinks(db: Db): Promise<boolean> {
  return (await db.selectFrom('codehost_links').select('bot_id').limit(1).executeTakeFirst()) !== undefined
}

async function readCheckedAt(db: Db): Promise<number> {
  const row = await db.selectFrom('instance').select('value').where('name', '=', name).executeTakeFirst()
  return row ? new Date(row.value).getTime() : 0
}

async function noteCheckedAt(db: Db, now: Date): Promise<void> {
  const value = now.toISOString()
  await db
    .insertInto('instance')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
