import { announceChange, insertAuditEvent } from '../auth/queries.ts'
import type { Db } from '../db/pool.ts'
import { randomToken, sha256 } from '../lib/secret.ts'

interface KeyFor {
  readonly userId: string
  readonly botId: string
  readonly name: string
  readonly prefix: string
  readonly ip?: string
}

/** A key for a listing that is locked; one that it had stops when the transaction commits. It is answered here alone. */
export async function issueListKey(
  db: Db,
  { userId, botId, name, prefix, ip }: KeyFor,
  now: Date,
): Promise<{ key: string; last4: string }> {
  const key = `${prefix}_list_${randomToken()}`
  await putListKey(db, { botId, key }, now)
  const details = { botId, name, last4: key.slice(-4) }
  await insertAuditEvent(db, { userId, kind: 'listing_key_issued', details, ...(ip !== undefined && { ip }) }, now)
  return { key, last4: key.slice(-4) }
}

export async function putListKey(db: Db, { botId, key }: { botId: string; key: string }, now: Date): Promise<void> {
  await deleteListKey(db, botId)
  await db
    .insertInto('list_keys')
    .values({ bot_id: botId, hash: sha256(key), last4: key.slice(-4), created_at: now })
    .execute()
}

export async function deleteListKey(db: Db, botId: string): Promise<void> {
  await announceChange(db)
  await db.deleteFrom('list_keys').where('bot_id', '=', botId).execute()
}
