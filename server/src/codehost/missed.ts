import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'
import type { Delivery } from './answers.ts'
import type { CodehostClient } from './client.ts'

// The platform sends nothing again that is older.
const longestMs = 3 * 24 * 60 * 60_000
// Its clock is not ours, and what was under way at the last look is in neither list.
const overlapMs = 10 * 60_000
const requestMs = 10_000
// As many as that in one look are an accident; the others follow with the next one.
const pagesMax = 100
const redeliveriesMax = 200
// It takes some eighty requests a minute that change something.
const spaceMs = 1_000
// From one try of an event to the next one, twice as long each time: a day and a half in all.
const firstWaitMs = 15 * 60_000
const triesMax = 7
// In a row: then it is away, and not a single event at fault.
const failuresMax = 3
// Longer than a look takes.
const leaseMs = 15 * 60_000
const checkedAt = 'codehost_checked_at'
const lookAfter = 'codehost_look_after'

interface Look {
  /** So many are sent again. */
  readonly count: number
  /** False: there is more to be sent again, later. */
  readonly isAll: boolean
}

/**
 * Has the platform send what it could not deliver, which it does not do by itself: we may have been away. One server at a
 * time; undefined: another one is at it, or the platform has had enough of us for now.
 */
export async function fetchMissed(app: App, client: CodehostClient, stopping: AbortSignal): Promise<Look | undefined> {
  const { db } = app.pool
  const now = app.clock.now()
  if (!(await claimLook(db, now))) return undefined
  let after = now
  try {
    return await look(app, client, stopping)
  } catch (error) {
    const askedMs = error instanceof AppError ? Number(error.headers['retry-after'] ?? 0) * 1000 : 0
    after = new Date(now.getTime() + askedMs)
    throw error
  } finally {
    await note(db, lookAfter, after)
  }
}

async function look(app: App, client: CodehostClient, stopping: AbortSignal): Promise<Look> {
  const { db } = app.pool
  const now = app.clock.now()
  const since = new Date(Math.max(now.getTime() - longestMs, (await readCheckedAt(db)) - overlapMs))
  const signal = () => AbortSignal.any([stopping, AbortSignal.timeout(requestMs)])
  const { all, isWhole } = await listSince(client, since, signal)
  const missed = await withoutGivenUp(db, await withoutKnown(db, findMissed(all)))
  const wanted = missed.filter(({ dueAt }) => dueAt <= now.getTime()).slice(0, redeliveriesMax)
  let count = 0
  let failures = 0
  for (const { id, guid } of wanted) {
    if (count + failures > 0) await sleep(spaceMs, undefined, { signal: stopping })
    try {
      const isSent = await client.redeliver(id, signal())
      await noteTry(db, { guid, tries: isSent ? 1 : triesMax, now })
      count++
      failures = 0
    } catch (error) {
      const isLimited = error instanceof AppError && error.headers['retry-after'] !== undefined
      if (!(error instanceof AppError) || isLimited || stopping.aborted || ++failures === failuresMax) throw error
      app.log.warn({ err: error, event: guid }, 'an event that was missed is not sent again')
      await noteTry(db, { guid, tries: 1, now })
    }
  }
  if (count > 0) app.log.info({ count }, 'events that were missed are sent again')
  await forgetTries(db, now)
  const isAll = count === missed.length
  // What is older than the last page stays to be looked at.
  if (isAll && isWhole) await note(db, checkedAt, now)
  return { count, isAll }
}

async function listSince(
  client: CodehostClient,
  since: Date,
  signal: () => AbortSignal,
): Promise<{ all: Delivery[]; isWhole: boolean }> {
  const all: Delivery[] = []
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page++) {
    const { deliveries, next } = await client.listDeliveries(cursor, signal())
    all.push(...deliveries.filter(({ deliveredAt }) => deliveredAt >= since))
    const isPast = deliveries.some(({ deliveredAt }) => deliveredAt < since)
    if (next === undefined || isPast) return { all, isWhole: true }
    cursor = next
  }
  return { all, isWhole: false }
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

/** Each with the time of its next try. */
async function withoutGivenUp(db: Db, deliveries: readonly Delivery[]): Promise<(Delivery & { dueAt: number })[]> {
  if (deliveries.length === 0) return []
  const guids = deliveries.map(({ guid }) => guid)
  const rows = await db.selectFrom('codehost_redeliveries').selectAll().where('guid', 'in', guids).execute()
  const tried = new Map(rows.map((row) => [row.guid, row]))
  return deliveries.flatMap((delivery) => {
    const { tries = 0, asked_at } = tried.get(delivery.guid) ?? {}
    const dueAt = asked_at ? asked_at.getTime() + firstWaitMs * 2 ** (tries - 1) : 0
    return tries >= triesMax ? [] : { ...delivery, dueAt }
  })
}

async function noteTry(db: Db, { guid, tries, now }: { guid: string; tries: number; now: Date }): Promise<void> {
  await db
    .insertInto('codehost_redeliveries')
    .values({ guid, tries, asked_at: now })
    .onConflict((conflict) =>
      conflict
        .column('guid')
        .doUpdateSet({ tries: sql<number>`codehost_redeliveries.tries + excluded.tries`, asked_at: now }),
    )
    .execute()
}

async function forgetTries(db: Db, now: Date): Promise<void> {
  const before = new Date(now.getTime() - 2 * longestMs)
  await db.deleteFrom('codehost_redeliveries').where('asked_at', '<', before).execute()
}

async function readCheckedAt(db: Db): Promise<number> {
  const row = await db.selectFrom('instance').select('value').where('name', '=', checkedAt).executeTakeFirst()
  return row ? new Date(row.value).getTime() : 0
}

async function claimLook(db: Db, now: Date): Promise<boolean> {
  const value = new Date(now.getTime() + leaseMs).toISOString()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('instance')
    .values({ name: lookAfter, value })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({ value }).where('instance.value', '<=', now.toISOString()),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

async function note(db: Db, name: string, at: Date): Promise<void> {
  const value = at.toISOString()
  await db
    .insertInto('instance')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
