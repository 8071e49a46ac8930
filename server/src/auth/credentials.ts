import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from '../context.ts'
import type { Caller } from '../http/request.ts'
import { AppError } from '../lib/app-error.ts'
import { sha256 } from '../lib/secret.ts'
import { looksLikeKey, looksLikeListKey } from './keys.ts'
import { credentialsChannel } from './queries.ts'
import type { Tokens } from './tokens.ts'

interface Known extends Caller {
  readonly isSuspended: boolean
  /** Until when we believe it without asking. */
  readonly freshUntil: number
  lastUsedAt: number
}

// A backstop only: revocations are pushed.
const freshMs = 5_000
const knownMax = 10_000
const lastUsedEveryMs = 60_000
const listUsesMs = 1_000

/**
 * Finds out who sends a request. A credential costs one indexed look-up, then none for seconds; whatever ends one is
 * told to all servers at once through the database.
 */
export class Credentials {
  readonly #app: App
  readonly #tokens: Tokens
  readonly #known = new Map<string, Known>()
  /** Moves with each revocation: what was read before one is not remembered after it. */
  #generation = 0
  readonly #listeners = new Set<() => void>()
  readonly #listUses = new Set<string>()

  constructor(app: App, tokens: Tokens) {
    this.#app = app
    this.#tokens = tokens
  }

  /** Has to be called once, before requests come. */
  listen(): Promise<void> {
    return this.#app.pool.listen(credentialsChannel, () => this.forget())
  }

  /** At once, here; all servers are told by `announceChange` in the transaction. */
  forget(): void {
    this.#generation++
    this.#known.clear()
    for (const listener of this.#listeners) listener()
  }

  /** Calls it whenever some credential may have ended. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Who it is, if that is known already: nearly always, and without a promise. */
  peek({ headers, socket }: IncomingMessage): Caller | undefined {
    const key = headers['x-api-key']
    const isKey = typeof key === 'string' && key !== ''
    const secret = isKey ? key : bearerToken(headers.authorization)
    if (secret === undefined) return undefined
    const known = this.#remembered(connectionHash(socket, isKey ? 'key' : 'token', secret))
    return known && this.#admit(known)
  }

  /** By API key or JWT. One valid credential suffices; if both are valid, the key says who it is. */
  async find(headers: IncomingHttpHeaders): Promise<Caller | undefined> {
    const key = headers['x-api-key']
    const byKey =
      typeof key === 'string' && looksLikeKey(key)
        ? await this.#findCached(hashOf('key', key), () => this.#findByKey(key))
        : undefined
    if (byKey) return this.#admit(byKey)
    const token = bearerToken(headers.authorization)
    const byToken = token && (await this.#findCached(hashOf('token', token), () => this.#findByToken(token)))
    return byToken ? this.#admit(byToken) : undefined
  }

  /** The listed bot whose key is sent, if that is known already. */
  peekListing({ headers, socket }: IncomingMessage): Caller | undefined {
    const [key] = listKeysIn(headers)
    const known = key === undefined ? undefined : this.#remembered(connectionHash(socket, 'list', key))
    return known && this.#admit(known)
  }

  /** By the key of a listed bot, which opens the list API alone. */
  async findListing(headers: IncomingHttpHeaders): Promise<Caller | undefined> {
    for (const key of listKeysIn(headers)) {
      const known = await this.#findCached(hashOf('list', key), () => this.#findByListKey(key))
      if (known) return this.#admit(known)
    }
    return undefined
  }

  /** By the session's cookie. */
  async findByCookie(cookie: string | undefined): Promise<Caller | undefined> {
    const known = cookie && (await this.#findCached(hashOf('cookie', cookie), () => this.#findByCookie(cookie)))
    return known ? this.#admit(known) : undefined
  }

  #admit(known: Known): Caller {
    if (known.isSuspended) throw new AppError('account_suspended')
    if (known.sessionId === undefined) this.#noteUse(known)
    return known
  }

  async #findCached(hash: string, find: () => Promise<Known | undefined>): Promise<Known | undefined> {
    const remembered = this.#remembered(hash)
    if (remembered) return remembered
    const generation = this.#generation
    const found = await find()
    if (found && generation === this.#generation) {
      if (this.#known.size >= knownMax) this.#known.clear()
      this.#known.set(hash, found)
    }
    return found
  }

  #remembered(hash: string): Known | undefined {
    const known = this.#known.get(hash)
    const now = this.#app.clock.now().getTime()
    return known && known.freshUntil > now && known.expiresAt > now ? known : undefined
  }

  async #findByKey(key: string): Promise<Known | undefined> {
    const [row] = await this.#app.pool.query<UserOfCredential & { last_used_at: Date | null }>(
      `select k.id, k.last_used_at, k.user_id, u.role, u.suspended_at
       from api_keys k join users u on u.id = k.user_id where k.hash = $1`,
      [sha256(key)],
    )
    return row && { ...this.#describe(row), expiresAt: Infinity, lastUsedAt: row.last_used_at?.getTime() ?? 0 }
  }

  async #findByListKey(key: string): Promise<Known | undefined> {
    const [row] = await this.#app.pool.query<UserOfCredential & { last_used_at: Date | null }>(
      `select k.bot_id as id, k.last_used_at, l.user_id, u.role, u.suspended_at
       from list_keys k join listings l on l.bot_id = k.bot_id join users u on u.id = l.user_id where k.hash = $1`,
      [sha256(key)],
    )
    if (!row) return undefined
    const lastUsedAt = row.last_used_at?.getTime() ?? 0
    return { ...this.#describe(row), listedBotId: row.id, expiresAt: Infinity, lastUsedAt }
  }

  async #findByToken(token: string): Promise<Known | undefined> {
    const claims = await this.#tokens.read(token)
    if (!claims) return undefined
    const row = await this.#findSession('s.id = $1', claims.sessionId)
    if (!row || row.user_id !== claims.userId) return undefined
    return { ...this.#describe(row), sessionId: row.id, expiresAt: claims.expiresAt.getTime(), lastUsedAt: 0 }
  }

  async #findByCookie(cookie: string): Promise<Known | undefined> {
    const row = await this.#findSession('s.cookie_hash = $1', sha256(cookie))
    return row && { ...this.#describe(row), sessionId: row.id, expiresAt: row.expires_at.getTime(), lastUsedAt: 0 }
  }

  async #findSession(
    condition: string,
    value: unknown,
  ): Promise<(UserOfCredential & { expires_at: Date }) | undefined> {
    const [row] = await this.#app.pool.query<UserOfCredential & { expires_at: Date }>(
      `select s.id, s.user_id, s.expires_at, u.role, u.suspended_at
       from sessions s join users u on u.id = s.user_id where ${condition}`,
      [value],
    )
    return row && row.expires_at > this.#app.clock.now() ? row : undefined
  }

  #describe({ id, user_id, role, suspended_at }: UserOfCredential) {
    const freshUntil = this.#app.clock.now().getTime() + freshMs
    return { userId: user_id, role, credential: id, isSuspended: suspended_at !== null, freshUntil }
  }

  /** At most once a minute, and never in the way of the request. */
  #noteUse(known: Known): void {
    const now = this.#app.clock.now()
    if (now.getTime() - known.lastUsedAt < lastUsedEveryMs) return
    known.lastUsedAt = now.getTime()
    if (known.listedBotId !== undefined) {
      this.#noteListUse(known.listedBotId)
      return
    }
    const before = new Date(now.getTime() - lastUsedEveryMs)
    this.#write(
      'update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
      [known.credential, now, before],
    )
  }

  /** Bots come one by one, each with its key, every half an hour: those of a second are written down together. */
  #noteListUse(botId: string): void {
    if (this.#listUses.size === 0) setTimeout(() => this.#writeListUses(), listUsesMs).unref()
    this.#listUses.add(botId)
  }

  #writeListUses(): void {
    const botIds = [...this.#listUses].toSorted()
    this.#listUses.clear()
    this.#write('update list_keys set last_used_at = $2 where bot_id = any($1)', [botIds, this.#app.clock.now()])
  }

  #write(text: string, values: unknown[]): void {
    this.#app.pool
      .query(text, values)
      .catch((error: unknown) => this.#app.log.warn({ err: error }, 'the last use of a key could not be noted'))
  }
}

/**
 * Under which it is remembered: not the secret itself, which a dump of our memory would show, and by its kind, so that
 * a cookie is worth nothing where a key is asked for.
 */
function hashOf(kind: 'key' | 'token' | 'cookie' | 'list', secret: string): string {
  return kind + sha256(secret).toString('base64')
}

interface Sent {
  readonly kind: 'key' | 'token' | 'list'
  readonly secret: string
  readonly hash: string
}

const lastSent = new WeakMap<Socket, Sent>()

/** Clients send the same credential again and again on one connection: hashing it is most of what knowing it costs. */
function connectionHash(socket: Socket, kind: Sent['kind'], secret: string): string {
  const last = lastSent.get(socket)
  if (last?.kind === kind && last.secret === secret) return last.hash
  const hash = hashOf(kind, secret)
  lastSent.set(socket, { kind, secret, hash })
  return hash
}

interface UserOfCredential {
  readonly id: string
  readonly user_id: string
  readonly role: 'owner' | 'user'
  readonly suspended_at: Date | null
}

function bearerToken(header: string | undefined): string | undefined {
  const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(header?.trim() ?? '')?.[1]
  return token !== undefined && token.length <= 4096 ? token : undefined
}

/** In `X-API-Key`, and in `Authorization` as posters that were made for other lists send it: bare or as a bearer's. */
function listKeysIn({ 'x-api-key': key, authorization }: IncomingHttpHeaders): string[] {
  const sent = [key, authorization?.trim().replace(/^bearer +/i, '')]
  return sent.filter((text): text is string => typeof text === 'string' && looksLikeListKey(text))
}
