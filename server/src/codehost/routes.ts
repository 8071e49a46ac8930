import type { FastifyRequest } from 'fastify'
import type { Credentials } from '../auth/credentials.ts'
import { insertAuditEvent } from '../auth/queries.ts'
import { safePath } from '../auth/routes.ts'
import { clearLoginCookie, loginCookie, originOf, sessionCookie, setLoginCookie } from '../auth/sessions.ts'
import { getOwnedBot } from '../bots/queries.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import { readCookie } from '../http/cookies.ts'
import type { Api } from '../http/endpoint.ts'
import { isLocalRequest } from '../http/local.ts'
import { AppError } from '../lib/app-error.ts'
import { sameText } from '../lib/secret.ts'
import type { Repository } from './answers.ts'
import type { CodehostClient } from './client.ts'
import { beginConnect, finishConnect } from './connect.ts'
import { patienceMs } from './platform.ts'
import { deleteConnection, deleteLink, findConnection, noteChecked, saveLink } from './queries.ts'
import { findAccess, openTokens, rejected } from './tokens.ts'

// How long a connection is believed to stand without asking the platform.
const checkedMs = 60_000
const checkMs = 3_000

const patience = () => AbortSignal.timeout(patienceMs)

/** Accounts on the code host, where our app is installed, and the repositories that bots are linked to. */
export function codehostRoutes(api: Api, app: App, { credentials }: { credentials: Credentials }): void {
  connectionRoutes(api, app, credentials)

  api.handle('listInstallations', async ({ caller }) => {
    const client = await app.codehost()
    if (!client) return { data: [], connected: false, installUrl: null }
    const signal = patience()
    const access = await findAccess(app, client, { userId: caller.userId, signal })
    const data = access && (await client.listInstallations(access.accessToken, signal))
    if (access && !data) await rejected(app, access.connection)
    const page = await client.appPage(signal).catch(noteFailure(app)) // the list is worth having without it
    return { data: data ?? [], connected: data !== undefined, installUrl: page ? `${page}/installations/new` : null }
  })

  api.handle('listRepositories', async ({ caller, params }) => {
    const client = await app.codehost()
    if (!client) throw new AppError('not_found')
    const found = await findRepositories(app, client, { userId: caller.userId, installationId: Number(params.id) })
    // To somebody who is not connected, no installation is theirs.
    if (found === 'not_connected') throw new AppError('not_found')
    return { data: found }
  })

  api.handle('connectRepo', async ({ caller, body, db }) => {
    const bot = await getOwnedBot(db, caller.userId, body.botId)
    const client = await app.codehost()
    if (!client) throw new AppError('codehost_not_connected')
    const { installationId, repoId, repoFullName } = body
    const found = await findRepositories(app, client, { userId: caller.userId, installationId })
    if (found === 'not_connected') throw new AppError('codehost_not_connected')
    const repo = found.find(({ id }) => id === repoId)
    // A name that is another repository's by now would link what nobody meant.
    if (repo?.fullName.toLowerCase() !== repoFullName.toLowerCase()) throw new AppError('not_found')
    const now = app.clock.now()
    await tx(db, async (db) => {
      await getOwnedBot(db, caller.userId, bot.id) // it may be gone since
      await saveLink(db, bot.id, { installationId, repoId, fullName: repo.fullName }, now)
    })
    return {
      botId: bot.id,
      installationId,
      repoId,
      repoFullName: repo.fullName,
      branch: bot.git_branch ?? repo.defaultBranch,
      connectedAt: now.toISOString(),
    }
  })

  api.handle('disconnectRepo', async ({ caller, params, db }) => {
    const { id: botId } = await getOwnedBot(db, caller.userId, params.id)
    await tx(db, (db) => deleteLink(db, botId, app.clock.now()))
    return { botId, disconnected: true as const }
  })
}

/**
 * Of one installation, asked with the person's own token: what they may not use is not in it, whichever number the
 * browser sent.
 */
async function findRepositories(
  app: App,
  client: CodehostClient,
  { userId, installationId }: { userId: string; installationId: number },
): Promise<Repository[] | 'not_connected'> {
  const signal = patience()
  const access = await findAccess(app, client, { userId, signal })
  if (!access) return 'not_connected'
  const found = await client.listRepositories(access.accessToken, installationId, signal)
  if (found === 'not_found') throw new AppError('not_found')
  if (found !== 'token_rejected') return found
  await rejected(app, access.connection)
  return 'not_connected'
}

function connectionRoutes(api: Api, app: App, credentials: Credentials): void {
  api.handle('getCodehostStatus', async ({ caller, db }) => {
    await checkConnection(app, caller.userId)
    const connection = await findConnection(db, caller.userId)
    return {
      connected: connection !== undefined,
      login: connection?.login ?? null,
      avatarUrl: connection?.avatar_url ?? null,
      connectedAt: connection?.connected_at.toISOString() ?? null,
    }
  })

  api.handle('connectCodehost', async ({ caller, query, request, reply }) => {
    const { client, browserUrl } = await platformFor(app, request)
    const { returnTo, login_hint: login, prompt } = query
    const { url, state } = await beginConnect(app, client, {
      userId: caller.userId,
      browserUrl,
      redirectUri: `${originOf(app, request)}/api/v1/auth/codehost/callback`,
      returnTo: safePath(returnTo),
      hints: { ...(login !== undefined && { login }), ...(prompt !== undefined && { prompt }) },
    })
    setLoginCookie(app, reply, state)
    return reply.redirect(url, 302)
  })

  api.handle('finishCodehostConnect', async ({ query, request, reply }) => {
    // The state has to come back in the browser that it was given to: else somebody could connect their account to
    // another person here, or the other way round, by sending them a link.
    const { state = '' } = query
    const own = readCookie(request, loginCookie(app, state))
    if (own === undefined || !sameText(state, own))
      throw new AppError('invalid_state', {
        detail: 'This connection was begun in another browser, or long ago. Start again.',
      })
    clearLoginCookie(app, reply, state)
    const visitor = await credentials.findByCookie(readCookie(request, sessionCookie(app)))
    const { client } = await platformFor(app, request)
    const { returnTo } = await finishConnect(app, client, {
      code: query.code,
      state,
      visitorId: visitor?.userId,
      ip: request.ip,
      signal: patience(),
    })
    return reply.redirect(returnTo, 302)
  })

  api.handle('disconnectCodehost', async ({ caller, db, request }) => {
    const client = await app.codehost()
    const connection = await findConnection(db, caller.userId)
    await tx(db, async (db) => {
      const now = app.clock.now()
      await deleteConnection(db, caller.userId, now)
      const details = { login: connection?.login ?? '' }
      const event = { userId: caller.userId, kind: 'codehost_disconnected' as const, details, ip: request.ip }
      if (connection) await insertAuditEvent(db, event, now)
    })
    // Here they are gone already. The platform is told as a courtesy; what it does not hear ends there in hours.
    const token = connection && openTokens(app, connection)?.accessToken
    if (client && token) await client.revoke(token, AbortSignal.timeout(checkMs)).catch(noteFailure(app))
    return { disconnected: true as const }
  })
}

/** Asks the platform now and then whether it still takes the token; while it is away, what is known counts. */
async function checkConnection(app: App, userId: string): Promise<void> {
  const client = await app.codehost()
  const connection = client && (await findConnection(app.pool.db, userId))
  if (!connection || app.clock.now().getTime() - connection.checked_at.getTime() < checkedMs) return
  const signal = AbortSignal.timeout(checkMs)
  try {
    const access = await findAccess(app, client, { userId, signal })
    if (!access) return
    if (await client.findUser(access.accessToken, signal))
      await noteChecked(app.pool.db, access.connection, app.clock.now())
    else await rejected(app, access.connection)
  } catch (error) {
    noteFailure(app)(error)
  }
}

/** For what is asked only as a courtesy. */
function noteFailure({ log }: App): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error }, 'the code host could not be asked')
  }
}

/** The one that is configured, or our own stand-in for requests from this very machine. */
async function platformFor(app: App, request: FastifyRequest): Promise<{ client: CodehostClient; browserUrl: string }> {
  const client = await app.codehost()
  const isReached = client && (!client.platform.isSandbox || isLocalRequest(app.config, request.raw))
  if (!isReached) throw new AppError('codehost_not_configured')
  const browserUrl = client.platform.isSandbox
    ? originOf(app, request) + new URL(client.webUrl).pathname
    : client.webUrl
  return { client, browserUrl }
}
