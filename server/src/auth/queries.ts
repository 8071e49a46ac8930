import type { AuditKind } from '@botberth/contract/me.ts'
import { type Selectable, sql } from 'kysely'
import type { Db, Pool } from '../db/pool.ts'
import type { Tables } from '../db/tables.ts'
import { AppError } from '../lib/app-error.ts'
import { newId } from '../lib/ids.ts'

export type UserRow = Selectable<Tables['users']>
export type ApiKeyRow = Omit<Selectable<Tables['api_keys']>, 'hash' | 'user_id' | 'is_bootstrap'>

const userColumns = [
  'id',
  'chat_user_id',
  'name',
  'avatar_url',
  'role',
  'suspended_at',
  'bots_max',
  'created_at',
  'updated_at',
] as const
const keyColumns = ['id', 'name', 'last4', 'created_at', 'last_used_at'] as const

export function findUser(db: Db, id: string): Promise<UserRow | undefined> {
  return db.selectFrom('users').select(userColumns).where('id', '=', id).executeTakeFirst()
}

const selectUser = `select ${userColumns.join(', ')} from users where id = $1`

/** The same in literal SQL, for `GET /me`: dashboards and scripts ask it all the time. */
export function readUser(pool: Pool, id: string): Promise<UserRow | undefined> {
  return pool.query<UserRow>(selectUser, [id]).then(([row]) => row)
}

export function findUserByChatId(db: Db, chatUserId: string): Promise<UserRow | undefined> {
  return db.selectFrom('users').select(userColumns).where('chat_user_id', '=', chatUserId).executeTakeFirst()
}

export function findOwner(db: Db): Promise<UserRow | undefined> {
  return db.selectFrom('users').select(userColumns).where('role', '=', 'owner').executeTakeFirst()
}

interface NewUser {
  readonly chatUserId: string | null
  readonly name: string
  readonly avatarUrl: string | null
  readonly role: 'owner' | 'user'
}

/** Undefined: there is such a user already, or an owner. */
export function insertUser(
  db: Db,
  { chatUserId, name, avatarUrl, role }: NewUser,
  now: Date,
): Promise<UserRow | undefined> {
  return db
    .insertInto('users')
    .values({
      id: newId('usr', now),
      chat_user_id: chatUserId,
      name,
      avatar_url: avatarUrl,
      role,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(userColumns)
    .executeTakeFirst()
}

interface UserChanges {
  readonly chat_user_id?: string
  readonly name?: string
  readonly avatar_url?: string | null
  readonly suspended_at?: Date | null
  readonly bots_max?: number | null
}

export function updateUser(db: Db, id: string, changes: UserChanges, now: Date): Promise<UserRow | undefined> {
  return db
    .updateTable('users')
    .set({ ...changes, updated_at: now })
    .where('id', '=', id)
    .returning(userColumns)
    .executeTakeFirst()
}

export async function listUsers(
  db: Db,
  range: { limit: number; offset: number },
): Promise<{ rows: UserRow[]; total: number }> {
  const rows = await db
    .selectFrom('users')
    .select(userColumns)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(range.limit)
    .offset(range.offset)
    .execute()
  return {
    rows,
    total: await countRows(db.selectFrom('users').select(sql<number>`count(*)::int`.as('count')).executeTakeFirst()),
  }
}

async function countRows(answer: Promise<{ count: number } | undefined>): Promise<number> {
  return (await answer)?.count ?? 0
}

/** False: there is no such user, or it is the owner. */
export async function deleteUser(db: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('users')
    .where('id', '=', id)
    .where('role', '<>', 'owner')
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/**
 * Holds the user's row, so that two requests cannot both take the last place under a limit. Somebody who was deleted
 * while their request was under way is nobody.
 */
export async function lockUser(db: Db, id: string): Promise<void> {
  const row = await db.selectFrom('users').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
  if (!row) throw new AppError('unauthenticated')
}

/** Tells every server, when the transaction commits and only then, that a credential was changed or ended. */
export async function announceChange(db: Db): Promise<void> {
  await sql`select pg_notify(${credentialsChannel}, '')`.execute(db)
}

export const credentialsChannel = 'botberth_credentials'

export function countApiKeys(db: Db, userId: string): Promise<number> {
  return countRows(
    db
      .selectFrom('api_keys')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('user_id', '=', userId)
      .executeTakeFirst(),
  )
}

/** The operator's key from the environment, in place of the one that stood there before. False: it is somebody else's. */
export async function putBootstrapKey(
  db: Db,
  { userId, hash, last4 }: { userId: string; hash: Buffer; last4: string },
  now: Date,
): Promise<boolean> {
  await db.deleteFrom('api_keys').where('is_bootstrap', '=', true).where('hash', '<>', hash).execute()
  const known = await db.selectFrom('api_keys').select(['user_id']).where('hash', '=', hash).executeTakeFirst()
  if (known) return known.user_id === userId
  const id = newId('key', now)
  await db
    .insertInto('api_keys')
    .values({ id, user_id: userId, name: 'BOOTSTRAP_API_KEY', hash, last4, created_at: now, is_bootstrap: true })
    .execute()
  await insertAuditEvent(
    db,
    { userId, kind: 'key_created', details: { keyId: id, name: 'BOOTSTRAP_API_KEY', last4 } },
    now,
  )
  return true
}

interface NewApiKey {
  readonly userId: string
  readonly name: string
  readonly hash: Buffer
  readonly last4: string
}

/** Undefined: this very key is there already. */
export function insertApiKey(
  db: Db,
  { userId, name, hash, last4 }: NewApiKey,
  now: Date,
): Promise<ApiKeyRow | undefined> {
  return db
    .insertInto('api_keys')
    .values({ id: newId('key', now), user_id: userId, name, hash, last4, created_at: now })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .returning(keyColumns)
    .executeTakeFirst()
}

export function listApiKeys(db: Db, userId: string): Promise<ApiKeyRow[]> {
  return db
    .selectFrom('api_keys')
    .select(keyColumns)
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

export function deleteApiKey(db: Db, userId: string, id: string): Promise<{ name: string } | undefined> {
  return db
    .deleteFrom('api_keys')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returning('name')
    .executeTakeFirst()
}

/** By what and from where a session is used. */
export interface Seen {
  readonly client: string | null
  readonly ip: string
}

export async function insertSession(
  db: Db,
  { userId, cookieHash, expiresAt, seen }: { userId: string; cookieHash: Buffer; expiresAt: Date; seen: Seen },
  now: Date,
): Promise<string> {
  const id = newId('ses', now)
  await db
    .insertInto('sessions')
    .values({
      id,
      user_id: userId,
      cookie_hash: cookieHash,
      created_at: now,
      expires_at: expiresAt,
      last_used_at: now,
      ...seen,
    })
    .execute()
  return id
}

export function extendSession(
  db: Db,
  { id, expiresAt, seen }: { id: string; expiresAt: Date; seen: Seen },
  now: Date,
): Promise<unknown> {
  const changes = { expires_at: expiresAt, last_used_at: now, ...seen }
  return db.updateTable('sessions').set(changes).where('id', '=', id).execute()
}

/** One session, or all of a user. Returns how many there were. */
export async function deleteSessions(
  db: Db,
  { userId, sessionId }: { userId: string; sessionId?: string },
): Promise<number> {
  let statement = db.deleteFrom('sessions').where('user_id', '=', userId)
  if (sessionId !== undefined) statement = statement.where('id', '=', sessionId)
  return Number((await statement.executeTakeFirst()).numDeletedRows)
}

export interface SessionRow extends Selectable<Pick<Tables['sessions'], 'client' | 'ip' | 'last_used_at'>> {
  readonly id: string
  readonly created_at: Date
  readonly expires_at: Date
}

export function listSessions(db: Db, userId: string, now: Date): Promise<SessionRow[]> {
  return db
    .selectFrom('sessions')
    .select(['id', 'client', 'ip', 'created_at', 'last_used_at', 'expires_at'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .execute()
}

/** For the export of somebody's data. */
export function listWebhookUrls(db: Db, userId: string): Promise<{ id: string; url: string; created_at: Date }[]> {
  return db
    .selectFrom('webhook_subscriptions')
    .select(['id', 'url', 'created_at'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
}

export function findCodehostLogin(db: Db, userId: string): Promise<{ login: string; connected_at: Date } | undefined> {
  return db
    .selectFrom('codehost_connections')
    .select(['login', 'connected_at'])
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

export function listBotNames(
  db: Db,
  userId: string,
): Promise<{ id: string; name: string; type: string; created_at: Date }[]> {
  return db
    .selectFrom('bots')
    .select(['id', 'name', 'type', 'created_at'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
}

export function listListingNames(
  db: Db,
  userId: string,
): Promise<{ bot_id: string; name: string; created_at: Date }[]> {
  return db
    .selectFrom('listings')
    .select(['bot_id', 'name', 'created_at'])
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .execute()
}

export function listVotes(db: Db, chatUserId: string): Promise<{ bot_id: string; voted_at: Date }[]> {
  return db
    .selectFrom('votes')
    .select(['bot_id', 'voted_at'])
    .where('chat_user_id', '=', chatUserId)
    .orderBy('voted_at')
    .execute()
}

/**
 * What the bot list knows of somebody who leaves. Votes of today stay for a while: or one could leave, come back and vote
 * again. Standings are locked first, then listings, then the account, as by whoever counts votes: neither waits for the
 * other.
 */
export async function deleteListed(db: Db, userId: string, now: Date): Promise<void> {
  await sql`select from standings where bot_id in (select bot_id from listings where user_id = ${userId})
    order by bot_id for update`.execute(db)
  await db.deleteFrom('listings').where('user_id', '=', userId).execute()
  await db
    .deleteFrom('votes')
    .where('chat_user_id', '=', (eb) => eb.selectFrom('users').select('chat_user_id').where('id', '=', userId))
    .where('day', '<', sql<Date>`${now.toISOString().slice(0, 10)}::date`)
    .execute()
}

interface NewAuditEvent {
  readonly userId: string
  readonly kind: AuditKind
  readonly details?: Record<string, string>
  readonly ip?: string
}

/** In the transaction of what happened. */
export async function insertAuditEvent(
  db: Db,
  { userId, kind, details = {}, ip }: NewAuditEvent,
  now: Date,
): Promise<void> {
  await db
    .insertInto('audit_events')
    .values({
      id: newId('aud', now),
      user_id: userId,
      kind,
      details: JSON.stringify(details),
      ip: ip ?? null,
      created_at: now,
    })
    .execute()
}

type AuditRow = Omit<Selectable<Tables['audit_events']>, 'user_id'>

export async function listAuditEvents(
  db: Db,
  userId: string,
  range: { limit: number; offset: number },
): Promise<{ rows: AuditRow[]; total: number }> {
  const rows = await db
    .selectFrom('audit_events')
    .select(['id', 'kind', 'details', 'ip', 'created_at'])
    .where('user_id', '=', userId)
    .orderBy('id', 'desc')
    .limit(range.limit)
    .offset(range.offset)
    .execute()
  const total = countRows(
    db
      .selectFrom('audit_events')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('user_id', '=', userId)
      .executeTakeFirst(),
  )
  return { rows, total: await total }
}

interface OneTimeCode {
  readonly hash: Buffer
  readonly kind: Tables['one_time_codes']['kind']
  readonly data: Record<string, string>
  readonly expiresAt: Date
}

export async function insertOneTimeCode(db: Db, { hash, kind, data, expiresAt }: OneTimeCode): Promise<void> {
  await db
    .insertInto('one_time_codes')
    .values({ hash, kind, data: JSON.stringify(data), expires_at: expiresAt })
    .execute()
}

/** Uses it up. Undefined: unknown, used, of another kind or too old; nobody can tell which. */
export async function takeOneTimeCode(
  db: Db,
  kind: OneTimeCode['kind'],
  hash: Buffer,
  now: Date,
): Promise<Record<string, string> | undefined> {
  const row = await db
    .deleteFrom('one_time_codes')
    .where('hash', '=', hash)
    .where('kind', '=', kind)
    .returning(['data', 'expires_at'])
    .executeTakeFirst()
  return row && row.expires_at > now ? row.data : undefined
}

export type PairingRow = Selectable<Tables['device_pairings']>

export async function insertPairing(
  db: Db,
  pairing: Pick<PairingRow, 'device_code_hash' | 'user_code' | 'client_name' | 'expires_at'>,
  now: Date,
): Promise<void> {
  await db
    .insertInto('device_pairings')
    .values({ ...pairing, id: newId('dev', now), status: 'pending', created_at: now })
    .execute()
}

export function findPairing(db: Db, userCode: string, now: Date): Promise<PairingRow | undefined> {
  return db
    .selectFrom('device_pairings')
    .selectAll()
    .where('user_code', '=', userCode)
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

export function findPairingByDeviceCode(db: Db, hash: Buffer, now: Date): Promise<PairingRow | undefined> {
  return db
    .selectFrom('device_pairings')
    .selectAll()
    .where('device_code_hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

/** Undefined: somebody has decided already. */
export function decidePairing(
  db: Db,
  id: string,
  decision: { status: 'approved' | 'denied'; userId: string },
): Promise<PairingRow | undefined> {
  return db
    .updateTable('device_pairings')
    .set({ status: decision.status, user_id: decision.userId })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirst()
}

/** What somebody approved and no device has come for yet. */
export async function deletePairings(db: Db, userId: string): Promise<void> {
  await db.deleteFrom('device_pairings').where('user_id', '=', userId).execute()
}

/** True for whoever comes first. */
export async function takePairing(db: Db, id: string): Promise<boolean> {
  return (
    (await db.deleteFrom('device_pairings').where('id', '=', id).where('status', '=', 'approved').executeTakeFirst())
      .numDeletedRows > 0n
  )
}

/** What can no longer be used. Audit events older than `auditBefore` go too. */
export async function deleteExpired(db: Db, now: Date, auditBefore: Date): Promise<void> {
  for (const table of ['sessions', 'one_time_codes', 'device_pairings', 'idempotency_keys'] as const) {
    await db.deleteFrom(table).where('expires_at', '<=', now).execute()
  }
  await db.deleteFrom('audit_events').where('created_at', '<', auditBefore).execute()
}
