import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** How the code host misbehaves, for tests of what then happens to those who need it. */
export interface Fault {
  /** `down`: the connection is cut; `slow`: the answer comes late; `rate-limited`: 429; `html`: a page, and no JSON. */
  readonly kind: 'down' | 'slow' | 'rate-limited' | 'html'
  /** Only requests whose path holds this text. */
  readonly path?: string
  /** So many requests, then all is well again; left out: until it is taken away. */
  readonly times?: number
  /** Of `slow`. */
  readonly delayMs?: number
  /** Of `rate-limited`. */
  readonly retryAfterSeconds?: number
  /** Of `html`. */
  readonly status?: number
}

export const faultKinds: readonly string[] = ['down', 'slow', 'rate-limited', 'html']
const delayDefaultMs = 30_000

export class Faults {
  #fault: Fault | undefined
  #left = 0

  set(fault: Fault | undefined): void {
    this.#fault = fault
    this.#left = fault?.times ?? Number.POSITIVE_INFINITY
  }

  /** Resolves with true if it has answered the request itself. */
  async strike(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const fault = this.#fault
    if (!fault || this.#left <= 0 || !request.url.includes(fault.path ?? '')) return false
    this.#left--
    switch (fault.kind) {
      case 'down':
        reply.hijack()
        request.raw.socket.destroy()
        return true
      case 'slow':
        await sleep(fault.delayMs ?? delayDefaultMs, undefined, { ref: false })
        if (request.raw.socket.destroyed) reply.hijack() // whoever asked has given up
        return reply.sent
      case 'rate-limited':
        await reply
          .code(429)
          .header('retry-after', String(fault.retryAfterSeconds ?? 60))
          .send({
            message: 'You have exceeded a secondary rate limit.',
            documentation_url: 'https://docs.github.com/rest',
          })
        return true
      case 'html':
        await reply
          .code(fault.status ?? 502)
          .type('text/html; charset=utf-8')
          .send('<!doctype html><title>Unicorn!</title><p>This page is taking too long to load.</p>')
        return true
    }
  }
}
