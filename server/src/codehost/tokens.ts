import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import { AppError } from '../lib/app-error.ts'
import type { CodehostClient, UserTokens } from './client.ts'
import {
  type ConnectionRow,
  changeTokens,
  claimRefresh,
  deleteRejected,
  findConnection,
  releaseRefresh,
} from './queries.ts'

const purpose = 'codehost-tokens'
// One that ends while a request is under way is as good as none.
const marginMs = 60_000
const refreshMs = 9_000
// Longer than whoever refreshes waits for the platform.
const leaseMs = 15_000
const pollMs = 50

export function sealTokens({ secrets }: App, { accessToken, refreshToken }: UserTokens): Buffer {
  return secrets.seal(JSON.stringify({ accessToken, refreshToken }), purpose)
}

/** Undefined: they were sealed with another SECRET_KEY. */
export function openTokens(
  { secrets }: App,
  { tokens }: ConnectionRow,
): { accessToken: string; refreshToken?: string } | undefined {
  const text = secrets.open(tokens, purpose)
  return text === undefined ? undefined : (JSON.parse(text) as { accessToken: string; refreshToken?: string })
}

/** Who somebody is on the code host, and what to show there for it. */
export interface Access {
  readonly connection: ConnectionRow
  readonly accessToken: string
}

/**
 * Good for a while: an old token is replaced first. Refresh tokens work once, so of all servers one gets the new ones
 * and the others wait for what it writes down. Undefined: not connected, or not any more.
 */
export async function findAccess(
  app: App,
  client: CodehostClient,
  { userId, signal }: { userId: string; signal: AbortSignal },
): Promise<Access | undefined> {
  const { db } = app.pool
  for (;;) {
    const connection = await findConnection(db, userId)
    const tokens = connection && openTokens(app, connection)
    if (!tokens) return undefined
    const { accessToken, refreshToken } = tokens
    const now = app.clock.now()
    if (!connection.expires_at || connection.expires_at.getTime() > now.getTime() + marginMs)
      return { connection, accessToken }
    const until = new Date(now.getTime() + leaseMs)
    if (await claimRefresh(db, connection, { now, until })) {
      // Not with the caller's patience: a refresh that is broken off half-way may have used up the token.
      const ended = await refresh(app, client, { connection, refreshToken, signal: AbortSignal.timeout(refreshMs) })
      if (!ended) return undefined
    } else if (signal.aborted) throw new AppError('platform_timeout')
    else await sleep(pollMs)
  }
}

async function refresh(
  app: App,
  client: CodehostClient,
  {
    connection,
    refreshToken,
    signal,
  }: { connection: ConnectionRow; refreshToken: string | undefined; signal: AbortSignal },
): Promise<boolean> {
  const { db } = app.pool
  let fresh: UserTokens | undefined
  try {
    fresh = refreshToken === undefined ? undefined : await client.refresh(refreshToken, signal)
  } catch (error) {
    // The platform is away, it seems: the next one tries again. Who has had enough of us has taken nothing; of any other
    // failure nobody knows, because a gateway answers too when what is behind it has done its work.
    const isRefused = error instanceof AppError && error.headers['retry-after'] !== undefined
    await releaseRefresh(db, connection, { isUncertain: !isRefused })
    throw error
  }
  if (!fresh) {
    await rejected(app, connection)
    return false
  }
  const tokens = sealTokens(app, fresh)
  await changeTokens(db, connection, { tokens, expiresAt: fresh.expiresAt ?? null, now: app.clock.now() })
  return true
}

/** The platform does not take the token: from now on nobody is connected. */
export async function rejected(app: App, connection: ConnectionRow): Promise<void> {
  await tx(app.pool.db, (db) => deleteRejected(db, connection, app.clock.now()))
}
