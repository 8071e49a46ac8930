import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/pool.ts'
import type { Tables } from '../db/tables.ts'
import { waking } from '../jobs/wake.ts'
import { AppError } from '../lib/app-error.ts'

export type SubscriptionRow = Omit<
  Selectable<Tables['webhook_subscriptions']>,
  'secret' | 'user_id' | 'is_slow' | 'listing_id'
>
export type DeliveryRow = Pick<
  Selectable<Tables['webhook_deliveries']>,
  'id' | 'event_id' | 'status' | 'reason' | 'attempts' | 'next_at' | 'created_at' | 'finished_at'
> & { event: string }

const subscriptionColumns = [
  'id',
  'url',
  'events',
  'status',
  'disabled_at',
  'disabled_reason',
  'epoch',
  'consecutive_failures',
  'last_delivery_at',
  'created_at',
] as const

const deliveryColumns = [
  'webhook_deliveries.id',
  'event_id',
  'events.event',
  'status',
  'reason',
  'attempts',
  'next_at',
  'webhook_deliveries.created_at',
  'finished_at',
] as const

/** Whose it is, and which. */
export interface Key {
  readonly userId: string
  readonly id: string
}

export function insertSubscription(
  db: Db,
  values: Pick<
    Selectable<Tables['webhook_subscriptions']>,
    'id' | 'user_id' | 'url' | 'events' | 'secret' | 'created_at'
  > & { listing_id?: string },
): Promise<SubscriptionRow> {
  return db.insertInto('webhook_subscriptions').values(values).returning(subscriptionColumns).executeTakeFirstOrThrow()
}

export async function countSubscriptions(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('webhook_subscriptions')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .where('user_id', '=', userId)
    .where('listing_id', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export function listSubscriptions(db: Db, userId: string): Promise<SubscriptionRow[]> {
  return db
    .selectFrom('webhook_subscriptions')
    .select(subscriptionColumns)
    .where('user_id', '=', userId)
    .where('listing_id', 'is', null)
    .orderBy('id', 'desc')
    .execute()
}

export async function getSubscription(db: Db, key: Key): Promise<SubscriptionRow> {
  return found(await ownSubscription(db, key).executeTakeFirst())
}

/** The same, and nobody changes it until the transaction ends. */
export async function lockSubscription(db: Db, key: Key): Promise<SubscriptionRow> {
  return found(await ownSubscription(db, key).forNoKeyUpdate().executeTakeFirst())
}

function ownSubscription(db: Db, { userId, id }: Key) {
  return db
    .selectFrom('webhook_subscriptions')
    .select(subscriptionColumns)
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('listing_id', 'is', null)
}

/** The one for the votes of a listed bot, which is known to be the caller's. */
export async function getVoteSubscription(db: Db, listingId: string): Promise<SubscriptionRow> {
  return found(await findVoteSubscription(db, listingId))
}

export function findVoteSubscription(db: Db, listingId: string): Promise<SubscriptionRow | undefined> {
  return voteSubscription(db, listingId).executeTakeFirst()
}

/** The same, and nobody changes it until the transaction ends. Undefined: there is none. */
export function lockVoteSubscription(db: Db, listingId: string): Promise<SubscriptionRow | undefined> {
  return voteSubscription(db, listingId).forNoKeyUpdate().executeTakeFirst()
}

function voteSubscription(db: Db, listingId: string) {
  return db.selectFrom('webhook_subscriptions').select(subscriptionColumns).where('listing_id', '=', listingId)
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new AppError('not_found')
  return row
}

type Changes = Partial<
  Pick<
    Selectable<Tables['webhook_subscriptions']>,
    | 'url'
    | 'events'
    | 'secret'
    | 'status'
    | 'disabled_at'
    | 'disabled_reason'
    | 'epoch'
    | 'consecutive_failures'
    | 'is_slow'
  >
>

export function updateSubscription(db: Db, id: string, changes: Changes): Promise<SubscriptionRow> {
  return db
    .updateTable('webhook_subscriptions')
    .set(changes)
    .where('id', '=', id)
    .returning(subscriptionColumns)
    .executeTakeFirstOrThrow()
}

export async function deleteSubscription(db: Db, { userId, id }: Key): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('webhook_subscriptions')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('listing_id', 'is', null)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw new AppError('not_found')
}

/** Undefined: there was none. */
export async function deleteVoteSubscription(db: Db, listingId: string): Promise<string | undefined> {
  const row = await db
    .deleteFrom('webhook_subscriptions')
    .where('listing_id', '=', listingId)
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

/** What waits for its time. What is under way is recorded when it ends. */
export async function cancelWaiting(db: Db, subscriptionId: string, now: Date): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ status: 'canceled', reason: 'subscription_disabled', next_at: null, finished_at: now })
    .where('subscription_id', '=', subscriptionId)
    .where('status', '=', 'pending')
    .where('claim_id', 'is', null)
    .where('is_manual', '=', false)
    .execute()
}

export async function listDeliveries(
  db: Db,
  subscriptionId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: DeliveryRow[]; total: number }> {
  const [rows, { count }] = await Promise.all([
    db
      .selectFrom('webhook_deliveries')
      .innerJoin('events', 'events.id', 'event_id')
      .select(deliveryColumns)
      .where('subscription_id', '=', subscriptionId)
      .orderBy('webhook_deliveries.id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute(),
    db
      .selectFrom('webhook_deliveries')
      .select((eb) => eb.fn.countAll<string>().as('count'))
      .where('subscription_id', '=', subscriptionId)
      .executeTakeFirstOrThrow(),
  ])
  return { rows, total: Number(count) }
}

/** Of a subscription that is known to be the caller's. */
export async function getDelivery(db: Db, subscriptionId: string, id: string): Promise<DeliveryRow & { body: string }> {
  const row = await db
    .selectFrom('webhook_deliveries')
    .innerJoin('events', 'events.id', 'event_id')
    .select([...deliveryColumns, 'events.body'])
    .where('webhook_deliveries.id', '=', id)
    .where('subscription_id', '=', subscriptionId)
    .executeTakeFirst()
  return found(row)
}

/** False: it has not ended. */
export async function requestAgain(
  db: Db,
  { id, subscriptionId }: { id: string; subscriptionId: string },
  now: Date,
): Promise<boolean> {
  const row = await db
    .updateTable('webhook_deliveries')
    .set({ status: 'pending', is_manual: true, reason: null, interruptions: 0, next_at: now, finished_at: null })
    .where('id', '=', id)
    .where('status', '<>', 'pending')
    .returning(waking('delivery', subscriptionId).as('told'))
    .executeTakeFirst()
  return row !== undefined
}

/** How many tests or repeats wait for their one attempt, or are in it. By both indexes on what has not ended. */
export async function countManual(db: Db, subscriptionId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::integer as count from (
    select from webhook_deliveries
    where subscription_id = ${subscriptionId} and status = 'pending' and claim_id is null and is_manual
    union all
    select from webhook_deliveries where subscription_id = ${subscriptionId} and claim_id is not null and is_manual
  ) as open`.execute(db)
  return rows[0]?.count ?? 0
}

/** Some at a time, the oldest first. Returns how many. */
export async function deleteEventsBefore(db: Db, firstKept: string, most: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from events where id in (
    select id from events where id < ${firstKept} order by id limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** The same. */
export async function deleteDeliveriesBefore(db: Db, firstKept: string, most: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from webhook_deliveries where id in (
    select id from webhook_deliveries where id < ${firstKept} order by id limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0)
}
