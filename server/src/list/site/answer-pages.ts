import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Credentials } from '../../auth/credentials.ts'
import type { Gatekeeper } from '../../auth/gate.ts'
import { findUser } from '../../auth/queries.ts'
import { originOf, sessionCookie } from '../../auth/sessions.ts'
import type { App } from '../../context.ts'
import { readCookie, setCookie } from '../../http/cookies.ts'
import { encodingFor } from '../../http/encoding.ts'
import { pathOf } from '../../http/errors.ts'
import { AppError } from '../../lib/app-error.ts'
import { layout } from './layout.ts'
import { chooseLanguage, readLanguage, texts } from './texts.ts'
import type { Page, View, Visitor } from './view.ts'

const compressors = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  gzip: promisify(gzip),
}
const languageCookie = 'botberth_language'
const yearMs = 365 * 86_400_000

// Pictures of bots come from the platform's own host, and nothing else comes from anywhere else.
const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' https://cdn.discordapp.com; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
}

export interface Parts {
  readonly app: App
  readonly credentials: Credentials
  readonly gatekeeper: Gatekeeper
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** What a page for this request is made for, within the limit of those who look around. */
export async function readView({ app, credentials, gatekeeper }: Parts, { request, reply }: Exchange): Promise<View> {
  await gatekeeper.admit({ access: 'visitor' }, request, reply)
  rememberLanguage(app, { request, reply })
  return { ...viewOf(app, request), visitor: await findVisitor(app, credentials, request) }
}

/** The same for somebody who posts a form of ours: they are signed in, and no other site sent them. */
export async function readPost(
  { app, gatekeeper }: Parts,
  { request, reply }: Exchange,
): Promise<View & { visitor: Visitor }> {
  const caller = await gatekeeper.admit({ access: 'session' }, request, reply)
  const visitor = caller && (await visitorOf(app, caller.userId))
  if (!visitor) throw new AppError('unauthenticated')
  return { ...viewOf(app, request), visitor }
}

/** The same for a form that anybody may post. */
export async function readGuestPost({ app, gatekeeper }: Parts, { request, reply }: Exchange): Promise<View> {
  const caller = await gatekeeper.admit({ access: 'guest' }, request, reply)
  return { ...viewOf(app, request), visitor: caller && (await visitorOf(app, caller.userId)) }
}

/** Without a question to the database. */
export function viewOf(app: App, request: FastifyRequest): View {
  const lang = chooseLanguage({
    asked: (request.query as { lang?: unknown } | undefined)?.lang,
    remembered: readCookie(request, languageCookie),
    accepted: request.headers['accept-language'],
  })
  const origin = originOf(app, request)
  const path = pathOf(request.url)
  return { t: texts[lang], lang, now: app.clock.now(), origin, path, here: hereOf(path, request), visitor: undefined }
}

/** A form that was sent cannot be come back to by its address, but what it was sent to can be looked at. */
function hereOf(path: string, { url, method }: FastifyRequest): string {
  const query = new URLSearchParams(method === 'GET' ? url.slice(path.length) : '')
  query.delete('lang')
  return query.size > 0 ? `${path}?${query.toString()}` : path
}

function rememberLanguage(app: App, { request, reply }: Exchange): void {
  const asked = readLanguage((request.query as { lang?: unknown }).lang)
  if (asked === undefined || asked === readCookie(request, languageCookie)) return
  setCookie(reply, languageCookie, asked, { maxAgeMs: yearMs, isSecure: app.publicUrl().startsWith('https:') })
}

/**
 * By the cookie alone, wherever the link stood that was followed: nothing is done here, only shown. Somebody who is
 * suspended is nobody.
 */
async function findVisitor(app: App, credentials: Credentials, request: FastifyRequest): Promise<Visitor | undefined> {
  const cookie = readCookie(request, sessionCookie(app))
  if (cookie === undefined) return undefined
  const caller = await credentials.findByCookie(cookie).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'account_suspended') return undefined
    throw error
  })
  return caller && visitorOf(app, caller.userId)
}

async function visitorOf({ pool }: App, userId: string): Promise<Visitor | undefined> {
  const user = await findUser(pool.db, userId)
  return user && { userId, name: user.name, chatUserId: user.chat_user_id }
}

/** A page for everybody. Asked for again it costs little, and it is never older than the moment. */
export async function sendPublic({ request, reply }: Exchange, view: View, page: Page): Promise<FastifyReply> {
  const body = Buffer.from(layout(view, page).text)
  const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  void reply.headers({
    ...headers,
    etag,
    'cache-control': 'private, no-cache',
    vary: 'accept-encoding, accept-language, cookie',
  })
  if (reply.statusCode === 200 && request.headers['if-none-match']?.split(/,\s*/).includes(etag))
    return reply.code(304).send()
  return sendCompressed({ request, reply }, body, 'text/html; charset=utf-8')
}

/** A page for one person: kept nowhere, and not compressed, because its size must tell nothing of a secret in it. */
export function sendPrivate(reply: FastifyReply, view: View, page: Page): FastifyReply {
  return reply
    .headers({ ...headers, 'cache-control': 'no-store' })
    .type('text/html; charset=utf-8')
    .send(layout(view, page).text)
}

export async function sendCompressed({ request, reply }: Exchange, body: Buffer, type: string): Promise<FastifyReply> {
  const encoding = encodingFor(request)
  void reply.type(type)
  if (encoding === undefined) return reply.send(body)
  return reply.header('content-encoding', encoding).send(await compressors[encoding](body))
}

/** The fields of a form that was posted. Lines end as they do everywhere else. */
export function readForm(request: FastifyRequest): Record<string, string> {
  const fields = new URLSearchParams((request.body as Buffer | undefined)?.toString('utf8') ?? '')
  return Object.fromEntries([...fields].map(([name, value]) => [name, value.replaceAll('\r\n', '\n')]))
}

/** One value of a query; repeated ones are the first. */
export function readText(query: unknown, name: string): string | undefined {
  const value = (query as Record<string, unknown>)[name]
  const first: unknown = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' && first.isWellFormed() && !first.includes('\0') ? first : undefined
}
