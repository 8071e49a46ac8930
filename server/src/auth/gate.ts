import type { Endpoint } from '@botberth/contract/endpoint.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../context.ts'
import { readCookie } from '../http/cookies.ts'
import { isFromDoor } from '../http/door.ts'
import { isLocalRequest } from '../http/local.ts'
import { RateLimit } from '../http/rate-limit.ts'
import type { Caller } from '../http/request.ts'
import { clientNet } from '../lib/address.ts'
import { AppError } from '../lib/app-error.ts'
import { readSignature } from '../lib/signature.ts'
import type { Credentials } from './credentials.ts'
import { originOf, sessionCookie } from './sessions.ts'

const minuteMs = 60_000
const publicWindowMs = 15 * minuteMs
// Nobody signs in more often by hand; what this bounds is rows that anybody can make.
const openLimit = 60
const apiLimitDefault = 6000
// People who look around, and pages of theirs that show a widget; of one address that many of them may share.
const visitorLimitDefault = 600

type Admitted = Caller | undefined

/** Decides who gets in, and how often. */
export class Gatekeeper {
  readonly #app: App
  readonly #credentials: Credentials
  readonly #public: RateLimit
  readonly #open: RateLimit
  readonly #api: RateLimit
  readonly #visitor: RateLimit

  constructor(app: App, credentials: Credentials, server: FastifyInstance) {
    const { config, pool, clock, log } = app
    this.#app = app
    this.#credentials = credentials
    const parts = { windowMs: minuteMs, pool, clock, log }
    const { publicRateLimit, apiRateLimit } = config
    this.#public = new RateLimit({ ...parts, name: 'public', limit: publicRateLimit, windowMs: publicWindowMs })
    this.#open = new RateLimit({ ...parts, name: 'login', limit: openLimit })
    this.#api = new RateLimit({ ...parts, name: 'api', limit: apiRateLimit ?? apiLimitDefault })
    this.#visitor = new RateLimit({ ...parts, name: 'visitor', limit: apiRateLimit ?? visitorLimitDefault })
    server.addHook('onClose', () => {
      for (const limit of [this.#public, this.#open, this.#api, this.#visitor]) limit.close()
    })
  }

  /** Who it is, or undefined: in, without a question. Throws or rejects for whoever stays out. */
  admit(
    { access }: Pick<Endpoint, 'access'>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Admitted | Promise<Admitted> {
    switch (access) {
      case 'public':
        return this.#public.isOff ? undefined : this.#spend(this.#public, request, reply)
      case 'open':
        return isLocalRequest(this.#app.config, request.raw) ? undefined : this.#spend(this.#open, request, reply)
      case 'visitor':
        return this.#isUnlimited(request) ? undefined : this.#spend(this.#visitor, request, reply)
      case 'guest':
        return this.#guest(request, reply)
      case 'listing':
        return this.#listing(request, reply)
      case 'cookie':
        return this.#byCookie(request).then((caller) => this.#limited(caller, request, reply))
      case 'session':
        return this.findSession(request).then((caller) => this.#limited(caller, request, reply))
      case 'caller':
        return this.#caller(request, reply)
      case 'navigation':
        return this.#navigator(request, reply)
      case 'signed':
        // The route checks it on the body, and limits those that are bad. Without one nobody reads a byte of that.
        return readSignature(request.headers['x-hub-signature-256'])
          ? undefined
          : this.limitOpen(request, reply).then(() => Promise.reject(new AppError('signature_invalid')))
      case 'operator':
        return Promise.resolve(this.#caller(request, reply)).then((caller) => {
          if (caller.role !== 'owner') throw new AppError('forbidden')
          return caller
        })
    }
  }

  async #spend(limit: RateLimit, request: FastifyRequest, reply: FastifyReply): Promise<undefined> {
    await limit.spend(() => senderOf(request), reply)
  }

  #caller(request: FastifyRequest, reply: FastifyReply): Caller | Promise<Caller> {
    const known = this.#credentials.peek(request.raw)
    if (known) return this.#limited(known, request, reply)
    return this.#credentials.find(request.headers).then((caller) => this.#limited(caller, request, reply))
  }

  #listing(request: FastifyRequest, reply: FastifyReply): Caller | Promise<Caller> {
    const known = this.#credentials.peekListing(request.raw)
    if (known) return this.#limited(known, request, reply)
    return this.#credentials.findListing(request.headers).then((caller) => this.#limited(caller, request, reply))
  }

  /** A form of another site would be sent by our visitor's browser even without a cookie, from their address. */
  async #guest(request: FastifyRequest, reply: FastifyReply): Promise<Admitted> {
    const caller = await this.findSession(request)
    if (caller) return this.#limited(caller, request, reply)
    this.#checkOrigin(request)
    return this.admit({ access: 'visitor' }, request, reply)
  }

  /** One request more of a caller, if there is one. */
  limit(caller: Caller, request: FastifyRequest, reply: FastifyReply): Caller | Promise<Caller> {
    return this.#limited(caller, request, reply)
  }

  #limited(caller: Caller | undefined, request: FastifyRequest, reply: FastifyReply): Caller | Promise<Caller> {
    if (!caller) throw new AppError('unauthenticated', { headers: { 'www-authenticate': 'Bearer realm="botberth"' } })
    if (this.#isUnlimited(request)) return caller
    return this.#api.spend(() => caller.credential, reply).then(() => caller)
  }

  /** By a credential in the header, which says who it is even if there is a cookie too. */
  async #navigator(request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
    const caller = (await this.#credentials.find(request.headers)) ?? (await this.#byCookie(request))
    return this.#limited(caller, request, reply)
  }

  /** One request more of somebody who has no credential. */
  async limitOpen(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.admit({ access: 'open' }, request, reply)
  }

  /** Whether somebody who has no credential is past the limit of those; counts nothing. */
  isSpent(request: FastifyRequest): boolean {
    return !isLocalRequest(this.#app.config, request.raw) && this.#open.isSpent(senderOf(request))
  }

  #isUnlimited({ raw }: FastifyRequest): boolean {
    const { config } = this.#app
    return config.apiRateLimit === 0 || (config.apiRateLimit === undefined && isLocalRequest(config, raw))
  }

  /** Somebody who signed in, by cookie or by the session's JWT; undefined: nobody did. */
  async findSession(request: FastifyRequest): Promise<Caller | undefined> {
    const byCookie = await this.#byCookie(request)
    if (byCookie) return byCookie
    const caller = await this.#credentials.find({ ...request.headers, 'x-api-key': undefined })
    return caller?.sessionId === undefined ? undefined : caller
  }

  /** For pages of our own origin only. */
  async #byCookie(request: FastifyRequest): Promise<Caller | undefined> {
    const caller = await this.#credentials.findByCookie(readCookie(request, sessionCookie(this.#app)))
    if (caller) this.#checkOrigin(request)
    return caller
  }

  /** Browsers say where a request comes from; another site must not act with our visitor's cookie. */
  #checkOrigin(request: FastifyRequest): void {
    const { origin, 'sec-fetch-site': site } = request.headers
    const isForeign = origin !== undefined && origin !== originOf(this.#app, request)
    if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none')) throw new AppError('forbidden')
  }
}

/** Bots can have the address of this machine: what they use up is not taken from its own callers. */
function senderOf(request: FastifyRequest): string {
  return (isFromDoor(request.raw.socket) ? 'door ' : '') + clientNet(request.ip)
}
