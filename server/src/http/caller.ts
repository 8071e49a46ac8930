import type { FastifyRequest } from 'fastify'

/** Who sends a request, and with what. */
export interface Caller {
  readonly userId: string
  readonly role: 'owner' | 'user'
  /** Names the credential: `key_…` or `ses_…`. Limits and idempotency keys belong to it. */
  readonly credential: string
  /** Set when the credential is a session's. */
  readonly sessionId?: string
}

const callers = new WeakMap<FastifyRequest, Caller>()

export function setCaller(request: FastifyRequest, caller: Caller): void {
  callers.set(request, caller)
}

export function findCaller(request: FastifyRequest): Caller | undefined {
  return callers.get(request)
}
