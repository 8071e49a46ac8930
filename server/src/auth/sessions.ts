import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../context.ts'
import { setCookie } from '../http/cookies.ts'
import { isLocalRequest } from '../http/local.ts'
import type { Caller } from '../http/request.ts'
import { sha256 } from '../lib/secret.ts'
import type { SessionRow } from './queries.ts'
import { sessionMs } from './tokens.ts'

/** The address under which this browser sees us. Only on this machine itself may it say so by its Host. */
export function originOf({ config, publicUrl }: App, request: FastifyRequest): string {
  return isLocalRequest(config, request.raw) ? `http://${request.headers.host}` : publicUrl()
}

const isSecure = ({ publicUrl }: App) => publicUrl().startsWith('https:')

/** Over TLS the name itself makes browsers refuse the cookie from any other host or path. */
export function sessionCookie(app: App): string {
  return isSecure(app) ? '__Host-botberth_session' : 'botberth_session'
}

/** One for each log-in under way: two tabs must not end each other's. */
export function loginCookie(app: App, state: string): string {
  const name = `botberth_login_${sha256(state).toString('hex').slice(0, 8)}`
  return isSecure(app) ? `__Host-${name}` : name
}

export function setSessionCookie(app: App, reply: FastifyReply, value: string): void {
  setCookie(reply, sessionCookie(app), value, { maxAgeMs: sessionMs, isSecure: isSecure(app) })
}

export function clearSessionCookie(app: App, reply: FastifyReply): void {
  setCookie(reply, sessionCookie(app), '', { maxAgeMs: 0, isSecure: isSecure(app) })
}

/** Ties a log-in to the browser that began it. */
export function setLoginCookie(app: App, reply: FastifyReply, state: string): void {
  setCookie(reply, loginCookie(app, state), state, { maxAgeMs: 10 * 60_000, isSecure: isSecure(app) })
}

export function clearLoginCookie(app: App, reply: FastifyReply, state: string): void {
  setCookie(reply, loginCookie(app, state), '', { maxAgeMs: 0, isSecure: isSecure(app) })
}

export function sessionJson(row: SessionRow, caller: Caller) {
  const { id, client, ip, created_at, last_used_at, expires_at } = row
  return {
    id,
    client,
    ip,
    createdAt: created_at.toISOString(),
    lastUsedAt: last_used_at?.toISOString() ?? null,
    expiresAt: expires_at.toISOString(),
    current: id === caller.sessionId,
  }
}
