import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ChatPlatform } from '../chat/client.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import { readCookie } from '../http/cookies.ts'
import type { Api } from '../http/endpoint.ts'
import { policyFor } from '../http/local.ts'
import { AppError } from '../lib/app-error.ts'
import { sameText } from '../lib/secret.ts'
import { clientName } from './client-name.ts'
import type { Credentials } from './credentials.ts'
import type { Gatekeeper } from './gate.ts'
import { apiKeyJson, createApiKey } from './keys.ts'
import { beginLogin, finishLogin, openSession } from './login.ts'
import { useOwnerLink } from './owner.ts'
import {
  announceChange,
  deleteApiKey,
  extendSession,
  insertAuditEvent,
  listApiKeys,
  listSessions,
  lockUser,
  type Seen,
} from './queries.ts'
import {
  clearLoginCookie,
  clearSessionCookie,
  loginCookie,
  originOf,
  sessionCookie,
  sessionJson,
  setLoginCookie,
  setSessionCookie,
} from './sessions.ts'
import { signOut } from './sign-out.ts'
import { sessionMs, type Tokens } from './tokens.ts'

interface Parts {
  readonly app: App
  readonly credentials: Credentials
  readonly tokens: Tokens
  readonly gatekeeper: Gatekeeper
  /** Undefined: there is nobody to sign in with. */
  readonly platformFor: (request: FastifyRequest) => ChatPlatform | undefined
}

/** API keys and signing in. */
export function authRoutes(api: Api, server: FastifyInstance, parts: Parts): void {
  keyRoutes(api, parts)
  loginRoutes(api, parts)
  sessionRoutes(api, parts)
  sessionListRoutes(api, parts)
  ownerLinkRoute(server, parts)
}

function keyRoutes(api: Api, { app, credentials }: Parts): void {
  api.handle('createApiKey', async ({ body, caller, db, request }) => {
    const wanted = { userId: caller.userId, name: body.name.trim(), prefix: app.config.keyPrefix, ip: request.ip }
    const { row, key } = await createApiKey(db, wanted, app.clock.now())
    return { ...apiKeyJson(row), key }
  })

  api.handle('listApiKeys', async ({ caller, db }) => ({
    data: (await listApiKeys(db, caller.userId)).map(apiKeyJson),
  }))

  api.handle('revokeApiKey', async ({ caller, params, db, request }) => {
    await tx(db, async (db) => {
      await lockUser(db, caller.userId)
      await announceChange(db)
      const gone = await deleteApiKey(db, caller.userId, params.id)
      if (!gone) throw new AppError('not_found')
      const details = { keyId: params.id, name: gone.name }
      await insertAuditEvent(
        db,
        { userId: caller.userId, kind: 'key_revoked', details, ip: request.ip },
        app.clock.now(),
      )
    })
    credentials.forget()
    return { id: params.id, deleted: true as const }
  })
}

function loginRoutes(api: Api, { app, platformFor }: Parts): void {
  api.handle('loginWithChat', async ({ query, request, reply }) => {
    const { returnTo, invite, login_hint: hint, prompt } = query
    const hints = { ...(hint !== undefined && { login_hint: hint }), ...(prompt !== undefined && { prompt }) }
    return redirectToPlatform(
      { app, platformFor, request, reply },
      { returnTo: safePath(returnTo), hints, ...(invite && { invite }) },
    )
  })

  api.handle('finishChatLogin', async ({ query, request, reply }) => {
    const platform = platformFor(request)
    if (!platform) throw new AppError('login_not_configured')
    // The state has to come back in the browser that it was given to: anybody can send somebody else a link.
    const { state = '' } = query
    const own = readCookie(request, loginCookie(app, state))
    if (own === undefined || !sameText(state, own)) {
      throw new AppError('invalid_state', {
        detail: 'This log-in was begun in another browser, or long ago. Start again.',
      })
    }
    clearLoginCookie(app, reply, state)
    const { signups } = policyFor(app.config, request.raw)
    const { cookie, returnTo } = await finishLogin(app, {
      platform,
      code: query.code,
      state,
      seen: seenIn(request),
      signups,
    })
    setSessionCookie(app, reply, cookie)
    return reply.redirect(returnTo, 302)
  })
}

interface Redirect {
  readonly app: App
  readonly platformFor: Parts['platformFor']
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

async function redirectToPlatform(
  { app, platformFor, request, reply }: Redirect,
  options: { returnTo: string; hints: Record<string, string>; invite?: string; asOwner?: boolean },
): Promise<FastifyReply> {
  const platform = platformFor(request)
  if (!platform) throw new AppError('login_not_configured')
  const redirectUri = `${originOf(app, request)}/api/v1/auth/chat/callback`
  const { url, state } = await beginLogin(app, { platform, redirectUri, ...options })
  setLoginCookie(app, reply, state)
  return reply.redirect(url, 302)
}

function sessionRoutes(api: Api, { app, credentials, tokens }: Parts): void {
  api.handle('createAccessToken', async ({ caller, db, request, reply }) => {
    const { userId, sessionId = '' } = caller
    // Whole seconds, as the token has them: the session must not end before it.
    const expiresAt = new Date(Math.floor((app.clock.now().getTime() + sessionMs) / 1000) * 1000)
    await extendSession(db, { id: sessionId, expiresAt, seen: seenIn(request) }, app.clock.now())
    setSessionCookie(app, reply, readCookie(request, sessionCookie(app)) ?? '')
    return { accessToken: await tokens.sign({ userId, sessionId, expiresAt }), expiresAt: expiresAt.toISOString() }
  })

  api.handle('logout', async ({ body, caller, request, reply }) => {
    const { userId, sessionId = '' } = caller
    const signedOut = await signOut(app, credentials, {
      userId,
      ip: request.ip,
      ...(!body.everywhere && { sessionId }),
    })
    clearSessionCookie(app, reply)
    return { signedOut }
  })
}

function sessionListRoutes(api: Api, { app, credentials }: Parts): void {
  api.handle('listSessions', async ({ caller, db }) => ({
    data: (await listSessions(db, caller.userId, app.clock.now())).map((row) => sessionJson(row, caller)),
  }))

  api.handle('endSession', async ({ caller, params, request, reply }) => {
    const ended = await signOut(app, credentials, { userId: caller.userId, sessionId: params.id, ip: request.ip })
    if (ended === 0) throw new AppError('not_found')
    if (params.id === caller.sessionId) clearSessionCookie(app, reply)
    return { id: params.id, deleted: true as const }
  })
}

function seenIn({ headers, ip }: FastifyRequest): Seen {
  return { client: clientName(headers['user-agent']), ip }
}

/** The link that the first start prints. Not for HEAD: looking at a link must not use it up. */
function ownerLinkRoute(server: FastifyInstance, { app, platformFor, gatekeeper }: Parts): void {
  server.get<{ Querystring: { code?: unknown } }>('/auth/owner', { exposeHeadRoute: false }, async (request, reply) => {
    await gatekeeper.admit({ access: 'open' }, request, reply)
    const { code } = request.query
    const owner = typeof code === 'string' ? await useOwnerLink(app.pool.db, code, app.clock.now()) : undefined
    if (!owner)
      throw new AppError('invalid_state', {
        detail:
          'This link was used before, or is older than ten minutes. `npm run --silent owner-link` makes a new one.',
      })
    if (app.config.chat && owner.chat_user_id === null) {
      return redirectToPlatform({ app, platformFor, request, reply }, { returnTo: '/', hints: {}, asOwner: true })
    }
    const cookie = await tx(app.pool.db, (db) =>
      openSession(db, { user: owner, via: 'link', seen: seenIn(request) }, app.clock.now()),
    )
    setSessionCookie(app, reply, cookie)
    return reply.redirect('/', 302)
  })
}

/** A path of this server, whatever somebody wrote into a link: never another site. */
export function safePath(path: string | undefined): string {
  if (path === undefined || !/^\/(?![/\\])[!-~]*$/.test(path) || path.includes('\\')) return '/'
  const url = new URL(path, 'http://here.invalid')
  // What the parser made of it counts: it takes dot segments out, and `//host` would be another site.
  const isOurs = url.origin === 'http://here.invalid' && !url.pathname.startsWith('//')
  return isOurs ? url.pathname + url.search + url.hash : '/'
}
