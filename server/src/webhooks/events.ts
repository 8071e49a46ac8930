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
  if (receivers.length === 0) return
  await db
    .insertInto('webhook_deliveries')
    .values(
      receivers.map(({ id: subscription_id, epoch, is_full: isFull }) => ({
        id: newId('dlv', at),
        subscription_id,
        event_id: id,
        epoch,
        created_at: at,
        ...(isFull
          ? { status: 'dropped', reason: 'backlog_full', finished_at: at }
          : { status: 'pending', next_at: at }),
      })),
    )
    .execute()
  const ids = receivers.map((receiver) => receiver.id)
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
async function findReceivers(
  db: Db,
  userId: string,
  event: string,
): Promise<{ id: string; epoch: number; is_full: boolean }[]> {
  const waiting = sql`select from webhook_deliveries d
    where d.subscription_id = webhook_subscriptions.id and d.status = 'pending' and d.claim_id is null`
  return db
    .selectFrom('webhook_subscriptions')
    .select(['id', 'epoch', sql<boolean>`exists (${waiting} offset ${backlogMax - 1})`.as('is_full')])
    .where('user_id', '=', userId)
    .where('status', '=', 'active')
    .where(sql<boolean>`${event} = any(events)`)
    .orderBy('id')
    .forShare()
    .execute()
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
