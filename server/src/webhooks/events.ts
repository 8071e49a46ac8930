import type { EventName, events } from '@botberth/contract/events.ts'
import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Db } from '../db/pool.ts'
import { waking } from '../jobs/wake.ts'
import { newId } from '../lib/ids.ts'

type Fields<E extends EventName> = Omit<
  Static<(typeof events)[E]['body']>,
  'id' | 'event' | 'timestamp' | 'botId' | 'botName'
>

interface Subject {
  readonly bot_id: string
  readonly name: string
  readonly user_id: string
}

// A receiver that takes nothing must not fill the disk. See `dropped` in the log of deliveries.
const backlogMax = 10_000

/**
 * Writes down what happened, in the transaction of what happened, with a delivery for everybody who wants to know. The
 * body is made once: every receiver gets these bytes.
 */
export async function recordEvent<E extends EventName>(
  db: Db,
  event: E,
  { bot, fields, at }: { bot: Subject; fields: Fields<E>; at: Date },
): Promise<void> {
  const id = newId('evt', at)
  const body = { id, event, botId: bot.bot_id, botName: bot.name, ...fields, timestamp: at.toISOString() }
  await insertEvent(db, { id, user_id: bot.user_id, bot_id: bot.bot_id, event, body: JSON.stringify(body), at })
  const receivers = await findReceivers(db, bot.user_id, event)
  await insertDeliveries(
    db,
    receivers.map((receiver) => ({ receiver, eventId: id })),
    at,
  )
}

/** The same for votes that were counted: an event each, for those bots whose owners want to know. */
export async function recordVotes(
  db: Db,
  votes: readonly { botId: string; chatUserId: string }[],
  at: Date,
): Promise<void> {
  const receivers = await findVoteReceivers(
    db,
    votes.map(({ botId }) => botId),
  )
  const wanted = votes.flatMap((vote) => {
    const receiver = receivers.get(vote.botId)
    return receiver ? [{ ...vote, receiver, eventId: newId('evt', at) }] : []
  })
  if (wanted.length === 0) return
  const timestamp = at.toISOString()
  await db
    .insertInto('events')
    .values(
      wanted.map(({ botId, chatUserId: userId, receiver, eventId: id }) => ({
        id,
        user_id: receiver.user_id,
        bot_id: null, // of the chat platform, not one that is hosted here
        event: 'vote',
        body: JSON.stringify({ id, event: 'vote', botId, userId, votedAt: timestamp, timestamp }),
        created_at: at,
      })),
    )
    .execute()
  await insertDeliveries(db, wanted, at)
}

interface Receiver {
  readonly id: string
  readonly epoch: number
  readonly is_full: boolean
}

async function insertDeliveries(
  db: Db,
  deliveries: readonly { receiver: Receiver; eventId: string }[],
  at: Date,
): Promise<void> {
  if (deliveries.length === 0) return
  await db
    .insertInto('webhook_deliveries')
    .values(
      deliveries.map(({ receiver: { id: subscription_id, epoch, is_full: isFull }, eventId }) => ({
        id: newId('dlv', at),
        subscription_id,
        event_id: eventId,
        epoch,
        created_at: at,
        ...(isFull
          ? { status: 'dropped', reason: 'backlog_full', finished_at: at }
          : { status: 'pending', next_at: at }),
      })),
    )
    .execute()
  const ids = [...new Set(deliveries.map(({ receiver }) => receiver.id))]
  await sql`select ${waking('delivery', sql`subscription`)} from unnest(${ids}::text[]) as subscription`.execute(db)
}

/** The event `ping` for one subscription: one attempt. */
export async function recordTest(
  db: Db,
  {
    userId,
    subscription: { id: subscription_id, epoch },
  }: { userId: string; subscription: { id: string; epoch: number } },
  at: Date,
): Promise<string> {
  const id = newId('evt', at)
  const body = { id, event: 'ping', subscriptionId: subscription_id, timestamp: at.toISOString() }
  await insertEvent(db, { id, user_id: userId, bot_id: null, event: 'ping', body: JSON.stringify(body), at })
  const delivery = newId('dlv', at)
  await db
    .insertInto('webhook_deliveries')
    .values({
      id: delivery,
      subscription_id,
      event_id: id,
      epoch,
      status: 'pending',
      is_manual: true,
      next_at: at,
      created_at: at,
    })
    .returning(waking('delivery', subscription_id).as('told'))
    .execute()
  return delivery
}

async function insertEvent(
  db: Db,
  { at, ...row }: { id: string; user_id: string; bot_id: string | null; event: string; body: string; at: Date },
): Promise<void> {
  await db
    .insertInto('events')
    .values({ ...row, created_at: at })
    .execute()
}

/** Locked, so that none of them is disabled before this transaction commits: then it would have a delivery left. */
function findReceivers(db: Db, userId: string, event: string): Promise<Receiver[]> {
  return activeSubscriptions(db).where('user_id', '=', userId).where(sql<boolean>`${event} = any(events)`).execute()
}

/** The same, by the listed bot. */
async function findVoteReceivers(
  db: Db,
  botIds: readonly string[],
): Promise<Map<string, Receiver & { user_id: string }>> {
  const rows = await activeSubscriptions(db)
    .select(['user_id', 'listing_id'])
    .where(sql<boolean>`listing_id = any(${botIds}::text[])`)
    .execute()
  return new Map(rows.map((row) => [row.listing_id ?? '', row]))
}

function activeSubscriptions(db: Db) {
  const waiting = sql`select from webhook_deliveries d
    where d.subscription_id = webhook_subscriptions.id and d.status = 'pending' and d.claim_id is null`
  return db
    .selectFrom('webhook_subscriptions')
    .select(['id', 'epoch', sql<boolean>`exists (${waiting} offset ${backlogMax - 1})`.as('is_full')])
    .where('status', '=', 'active')
    .orderBy('id')
    .forShare()
}

/** The end of a text, at most so many bytes of UTF-8, from the beginning of a line where there is one. */
export function lastBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let from = bytes.length - bytesMax
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++ // not in the middle of a character
  const end = bytes.subarray(from).toString()
  const line = end.indexOf('\n') + 1
  return line > 0 && line < end.length ? end.slice(line) : end
}
