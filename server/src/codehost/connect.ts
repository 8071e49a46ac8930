import { createHash } from 'node:crypto'
import { findUser, insertAuditEvent, insertOneTimeCode, takeOneTimeCode } from '../auth/queries.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import { AppError } from '../lib/app-error.ts'
import { randomToken, sha256 } from '../lib/secret.ts'
import type { CodehostClient } from './client.ts'
import { saveConnection } from './queries.ts'
import { sealTokens } from './tokens.ts'

// A person may have to find their password first.
const stateMs = 10 * 60_000

interface Begin {
  readonly userId: string
  /** The platform as the browser sees it. */
  readonly browserUrl: string
  readonly redirectUri: string
  readonly returnTo: string
  readonly hints: Readonly<Record<string, string>>
}

/** Where to send the browser, and the state that has to come back in the same browser. */
export async function beginConnect(
  { pool, clock, secrets }: App,
  client: CodehostClient,
  { userId, browserUrl, redirectUri, returnTo, hints }: Begin,
): Promise<{ url: string; state: string }> {
  const state = randomToken()
  const verifier = randomToken()
  const sealed = secrets.seal(verifier, 'codehost-connect').toString('base64')
  await insertOneTimeCode(pool.db, {
    kind: 'codehost',
    hash: sha256(state),
    data: { userId, verifier: sealed, redirectUri, returnTo },
    expiresAt: new Date(clock.now().getTime() + stateMs),
  })
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url')
  return { url: client.authorizationUrl(browserUrl, { redirectUri, state, codeChallenge, hints }), state }
}

interface Finish {
  readonly code: string | undefined
  readonly state: string
  /** Whoever is signed in in this browser; undefined: nobody. */
  readonly visitorId: string | undefined
  readonly ip: string
  readonly signal: AbortSignal
}

/** Connects the account of whoever came back. The state is used up, whatever comes of it. */
export async function finishConnect(
  app: App,
  client: CodehostClient,
  { code, state, visitorId, ip, signal }: Finish,
): Promise<{ returnTo: string }> {
  const { pool, clock, secrets } = app
  const data = await takeOneTimeCode(pool.db, 'codehost', sha256(state), clock.now())
  const codeVerifier = data && secrets.open(Buffer.from(data['verifier'] ?? '', 'base64'), 'codehost-connect')
  if (!data || codeVerifier === undefined) throw notConnected('was finished before, or took too long')
  const { userId = '', redirectUri = '', returnTo = '/' } = data
  if (visitorId !== undefined && visitorId !== userId) throw notConnected('was begun by somebody else')
  if (code === undefined) throw notConnected('was not allowed on the code host')
  const user = await findUser(pool.db, userId)
  if (!user) throw notConnected('was begun by somebody who is gone')
  if (user.suspended_at) throw new AppError('account_suspended')
  const tokens = await client.exchangeCode({ code, redirectUri, codeVerifier }, signal)
  const account = tokens && (await client.findUser(tokens.accessToken, signal))
  if (!account) throw notConnected('came back with a code that the code host does not take')
  const { id: accountId, login, avatarUrl } = account
  const expiresAt = tokens.expiresAt ?? null
  const now = clock.now()
  await tx(pool.db, async (db) => {
    const sealed = sealTokens(app, tokens)
    await saveConnection(db, { userId, accountId, login, avatarUrl, tokens: sealed, expiresAt }, now)
    await insertAuditEvent(db, { userId, kind: 'codehost_connected', details: { login }, ip }, now)
  })
  return { returnTo }
}

function notConnected(why: string): AppError {
  return new AppError('invalid_state', { detail: `This connection ${why}. Start again.` })
}
