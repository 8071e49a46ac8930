import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import { newId } from '../lib/ids.ts'
import {
  insertSubscription,
  lockVoteSubscription,
  type SubscriptionRow,
  updateSubscription,
} from '../webhooks/queries.ts'
import { checkSecret, checkUrl, makeSecret, statusChange } from '../webhooks/receiver.ts'
import { lockOwn, type Mine } from './listings.ts'

interface Wanted {
  readonly url: string
  readonly secret?: string | null | undefined
}

/** Where the votes of a listed bot are sent. The secret is in the return value if it is new, and nowhere else. */
export async function putVoteWebhook(
  { pool, clock, secrets }: App,
  mine: Mine,
  { wanted, guard }: { wanted: Wanted; guard: AddressGuard },
): Promise<{ subscription: SubscriptionRow; secret: string | null }> {
  const given = checkSecret(wanted.secret)
  return tx(pool.db, async (db) => {
    await lockOwn(db, mine)
    const url = checkUrl(wanted.url, guard)
    const before = await lockVoteSubscription(db, mine.botId)
    const secret = given ?? (before ? null : makeSecret())
    const sealed = secret === null ? undefined : secrets.seal(secret, 'webhook')
    const subscription = before
      ? await change(db, before, { url, sealed, now: clock.now() })
      : await insertVoteSubscription(db, mine, { url, sealed, now: clock.now() })
    return { subscription, secret }
  })
}

interface Values {
  readonly url: string
  readonly sealed: Buffer | undefined
  readonly now: Date
}

function change(db: Db, before: SubscriptionRow, { url, sealed, now }: Values): Promise<SubscriptionRow> {
  const enabled = statusChange(before, 'active', now)
  return updateSubscription(db, before.id, { url, ...(sealed && { secret: sealed }), ...enabled })
}

function insertVoteSubscription(
  db: Db,
  { userId, botId }: Mine,
  { url, sealed, now }: Values,
): Promise<SubscriptionRow> {
  if (!sealed) throw new Error('a new subscription needs a secret')
  return insertSubscription(db, {
    id: newId('whs', now),
    user_id: userId,
    listing_id: botId,
    url,
    events: ['vote'],
    secret: sealed,
    created_at: now,
  })
}
