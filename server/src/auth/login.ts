import { createHash } from 'node:crypto'
import { authorizationUrl, type ChatPlatform, type ChatUser, exchangeCode, fetchUser } from '../chat/client.ts'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { AppError } from '../lib/app-error.ts'
import { randomToken, sha256 } from '../lib/secret.ts'
import {
  findOwner,
  findUserByChatId,
  insertAuditEvent,
  insertOneTimeCode,
  insertSession,
  insertUser,
  lockUser,
  type Seen,
  takeOneTimeCode,
  type UserRow,
  updateUser,
} from './queries.ts'
import { sessionMs } from './tokens.ts'

// A person may have to find their password first.
const loginMs = 10 * 60_000

interface Begin {
  readonly platform: ChatPlatform
  readonly redirectUri: string
  readonly returnTo: string
  readonly hints: Readonly<Record<string, string>>
  readonly invite?: string
  /** Comes through the owner's one-time link. */
  readonly asOwner?: boolean
}

/** Where to send the browser, and the state that has to come back in the same browser. */
export async function beginLogin({ pool, clock, secrets }: App, begin: Begin): Promise<{ url: string; state: string }> {
  const state = randomToken()
  const verifier = randomToken()
  const data = {
    verifier: secrets.seal(verifier, 'login').toString('base64'),
    returnTo: begin.returnTo,
    redirectUri: begin.redirectUri,
    ...(begin.invite !== undefined && { invite: sha256(begin.invite).toString('base64') }),
    ...(begin.asOwner && { asOwner: 'true' }),
  }
  const expiresAt = new Date(clock.now().getTime() + loginMs)
  await insertOneTimeCode(pool.db, { kind: 'login', hash: sha256(state), data, expiresAt })
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url')
  const { redirectUri, hints } = begin
  return { url: authorizationUrl(begin.platform, { redirectUri, state, codeChallenge, hints }), state }
}

interface Finish {
  readonly platform: ChatPlatform
  readonly code: string | undefined
  readonly state: string
  readonly seen: Seen
  /** Whether people who are new here get an account. */
  readonly signups: 'open' | 'invite' | 'closed'
}

/** The session of whoever came back from the platform. The state is used up, whatever comes of it. */
export async function finishLogin(
  app: App,
  { platform, code, state, seen, signups }: Finish,
): Promise<{ cookie: string; returnTo: string }> {
  const { pool, clock, secrets } = app
  const data = await takeOneTimeCode(pool.db, 'login', sha256(state), clock.now())
  const codeVerifier = data && secrets.open(Buffer.from(data['verifier'] ?? '', 'base64'), 'login')
  if (!data || codeVerifier === undefined)
    throw new AppError('invalid_state', { detail: 'This log-in was finished before, or took too long. Start again.' })
  if (code === undefined)
    throw new AppError('invalid_state', { detail: 'The chat platform did not sign you in. Start again.' })
  const token = await exchangeCode(platform, { code, redirectUri: data['redirectUri'] ?? '', codeVerifier })
  if (token === undefined)
    throw new AppError('invalid_state', { detail: 'The chat platform does not take its code back. Start again.' })
  const chatUser = await fetchUser(platform, token)
  const cookie = await tx(pool.db, async (db) => {
    const user = data['asOwner']
      ? await becomeOwner(db, chatUser, clock.now())
      : await admit(app, db, { chatUser, invite: data['invite'], signups })
    if (user.suspended_at) throw new AppError('account_suspended')
    return openSession(db, { user, via: 'chat', seen }, clock.now())
  })
  return { cookie, returnTo: data['returnTo'] ?? '/' }
}

/** A new session. The cookie's value is in the return value and nowhere else. */
export async function openSession(
  db: Db,
  { user, via, seen }: { user: UserRow; via: string; seen: Seen },
  now: Date,
): Promise<string> {
  const cookie = randomToken()
  const expiresAt = new Date(now.getTime() + sessionMs)
  await insertSession(db, { userId: user.id, cookieHash: sha256(cookie), expiresAt, seen }, now)
  await insertAuditEvent(db, { userId: user.id, kind: 'login', details: { via }, ip: seen.ip }, now)
  return cookie
}

/** Somebody who was here before, with name and picture as they are now; or somebody new, if new people are let in. */
async function admit(
  { clock }: App,
  db: Db,
  { chatUser, invite, signups }: { chatUser: ChatUser; invite: string | undefined; signups: Finish['signups'] },
): Promise<UserRow> {
  const now = clock.now()
  const known = await findUserByChatId(db, chatUser.id)
  if (known) {
    const changes = { name: chatUser.name, avatar_url: chatUser.avatarUrl }
    return (await updateUser(db, known.id, changes, now)) ?? known
  }
  const isInvited =
    invite !== undefined && (await takeOneTimeCode(db, 'invite', Buffer.from(invite, 'base64'), now)) !== undefined
  if (signups !== 'open' && !(signups === 'invite' && isInvited)) throw new AppError('signups_closed')
  const made = await insertUser(
    db,
    { chatUserId: chatUser.id, name: chatUser.name, avatarUrl: chatUser.avatarUrl, role: 'user' },
    now,
  )
  const user = made ?? (await findUserByChatId(db, chatUser.id)) // two first sign-ins at once
  if (!user) throw new Error('the user that was there a moment ago is gone')
  return user
}

/** Only the printed one-time link leads here: ties the owner to whoever signed in through it. */
async function becomeOwner(db: Db, chatUser: ChatUser, now: Date): Promise<UserRow> {
  const found = await findOwner(db)
  if (found) await lockUser(db, found.id)
  const owner = await findOwner(db) // as it is now: two links may be under way
  const known = await findUserByChatId(db, chatUser.id)
  if (known && known.id !== owner?.id) {
    throw new AppError('invalid_state', {
      detail: 'This chat account has an ordinary account here already. Delete that first, or use another one.',
    })
  }
  if (owner?.chat_user_id && owner.chat_user_id !== chatUser.id) {
    throw new AppError('invalid_state', { detail: 'The owner has signed in with another chat account already.' })
  }
  const changes = { chat_user_id: chatUser.id, name: chatUser.name, avatar_url: chatUser.avatarUrl }
  const updated = owner && (await updateUser(db, owner.id, changes, now))
  if (!updated) throw new Error('there is no owner')
  return updated
}
