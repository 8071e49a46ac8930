import type { FastifyRequest } from 'fastify'

/** Who sends a request, and with what. */
export interface Caller {
  readonly userId: string
  readonly role: 'owner' | 'user'
  /** Names the credential: `key_…` or `ses_…`. Limits and idempotency keys belong to it. */
  readonly credential: string
  /** When the credential itself ends, in milliseconds since 1970. */
  readonly expiresAt: number
  /** Set when the credential is a session's. */
  readonly sessionId?: string
  /** Set when the credential is a listed bot's: it opens the list API alone, for this bot. */
  readonly listedBotId?: string
}

const key = Symbol('caller')
type WithCaller = FastifyRequest & { [key]?: Caller }

export function setCaller(request: FastifyRequest, caller: Caller): void {
  const holder: WithCaller = request
  holder[key] = caller
}

export function findCaller(request: WithCaller): Caller | undefined {
  return request[key]
}

const routeKey = Symbol('route')
type WithRoute = FastifyRequest & { [routeKey]?: string }

/** The framework makes a new object each time it is asked for a request's route; this is asked at each request. */
export function setRoute(request: FastifyRequest, url: string): void {
  const holder: WithRoute = request
  holder[routeKey] = url
}

export function routeOf(request: WithRoute): string {
  return request[routeKey] ?? request.routeOptions.url ?? 'none'
}
