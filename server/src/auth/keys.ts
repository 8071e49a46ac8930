import type { Db } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'
import { randomToken, sha256 } from '../lib/secret.ts'
import { type ApiKeyRow, countApiKeys, insertApiKey, insertAuditEvent, lockUser } from './queries.ts'

export const apiKeysMax = 200

interface NewKey {
  readonly userId: string
  readonly name: string
  readonly prefix: string
  readonly ip?: string
}

/** Makes a key for somebody. The key itself is in the return value and nowhere else. */
export async function createApiKey(
  db: Db,
  { userId, name, prefix, ip }: NewKey,
  now: Date,
): Promise<{ row: ApiKeyRow; key: string }> {
  await lockUser(db, userId)
  if ((await countApiKeys(db, userId)) >= apiKeysMax) {
    throw new AppError('limit_reached', {
      detail: `You have ${apiKeysMax} API keys, which is the most. Revoke one that is no longer used.`,
    })
  }
  const key = `${prefix}_live_${randomToken()}`
  const row = await insertApiKey(db, { userId, name, hash: sha256(key), last4: key.slice(-4) }, now)
  if (!row) throw new Error('two random keys are the same')
  await insertAuditEvent(
    db,
    {
      userId,
      kind: 'key_created',
      details: { keyId: row.id, name, last4: row.last4 },
      ...(ip !== undefined && { ip }),
    },
    now,
  )
  return { row, key }
}

/** Whether a text could be an API key at all. Spares the database what cannot be one. */
export function looksLikeKey(text: string): boolean {
  return /^[a-z0-9]+_live_[0-9A-Za-z]{32,128}$/.test(text)
}

/** The same for the key of a listed bot. */
export function looksLikeListKey(text: string): boolean {
  return /^[a-z0-9]+_list_[0-9A-Za-z]{32,128}$/.test(text)
}

export function apiKeyJson({ id, name, last4, created_at, last_used_at }: ApiKeyRow) {
  return { id, name, last4, createdAt: created_at.toISOString(), lastUsedAt: last_used_at?.toISOString() ?? null }
}
