import { createHash } from 'node:crypto'
import type { Db } from '../db/pool.ts'
import { AppError, validationError } from '../lib/app-error.ts'

const keptMs = 24 * 60 * 60_000

export interface IdempotentRequest {
  readonly credential: string
  readonly key: string
  readonly fingerprint: Buffer
}

export interface StoredAnswer {
  readonly status: number
  readonly answer: unknown
  readonly location: string | null
}

/** Undefined: the request carries no Idempotency-Key. */
export function idempotentRequest(
  header: string | string[] | undefined,
  credential: string,
  parts: readonly unknown[],
): IdempotentRequest | undefined {
  if (header === undefined || header === '') return undefined
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw validationError([{ pointer: '', detail: 'Idempotency-Key takes 1 to 255 visible ASCII characters' }])
  }
  return { credential, key: header, fingerprint: createHash('sha256').update(JSON.stringify(parts)).digest() }
}

/**
 * Claims the key in the transaction of the request. A second request with the same key waits here until the first has
 * committed or failed: either it finds the answer to repeat, or it is the first now.
 */
export async function claimKey(
  db: Db,
  { credential, key, fingerprint }: IdempotentRequest,
  now: Date,
): Promise<StoredAnswer | undefined> {
  await db
    .deleteFrom('idempotency_keys')
    .where('credential', '=', credential)
    .where('key', '=', key)
    .where('expires_at', '<=', now)
    .execute()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('idempotency_keys')
    .values({ credential, key, fingerprint, expires_at: new Date(now.getTime() + keptMs) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 1n) return undefined
  const stored = await db
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'status', 'answer', 'location', 'record_id'])
    .where('credential', '=', credential)
    .where('key', '=', key)
    .executeTakeFirstOrThrow()
  if (!stored.fingerprint.equals(fingerprint)) throw new AppError('idempotency_key_reused')
  if (stored.record_id !== null) throw new AppError('secret_not_repeatable', { members: { id: stored.record_id } })
  if (stored.status === null) throw new Error('an idempotency key was committed without its answer')
  return { status: stored.status, answer: stored.answer, location: stored.location }
}

/** In the same transaction, once the record is made. `recordId`: instead of an answer that holds a secret. */
export async function keepAnswer(
  db: Db,
  { credential, key }: IdempotentRequest,
  kept: StoredAnswer & { recordId: string | null },
): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({
      status: kept.status,
      answer: kept.recordId === null ? JSON.stringify(kept.answer) : null,
      location: kept.location,
      record_id: kept.recordId,
    })
    .where('credential', '=', credential)
    .where('key', '=', key)
    .execute()
}
