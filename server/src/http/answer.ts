import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../lib/log.ts'
import { pathOf } from './errors.ts'
import { routeOf } from './request.ts'

export interface Answered {
  readonly method: string
  /** The pattern of its path. */
  readonly route: string
  readonly status: number
  /** From the head of the request to the head of the answer. */
  readonly elapsedMs: number
}

/**
 * Node's answers with the fields that all of ours have, counted and logged as their head is written. The framework has
 * hooks for this, which cost a small request a tenth of its time.
 */
export function answerClass(log: Log, answered: (answer: Answered) => void) {
  return class<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    // Not initialized here: that alone would cost a small request a hundredth of its time.
    declare request?: FastifyRequest
    declare startedAt?: number

    override writeHead(status: number, ...rest: unknown[]): this {
      const { request, req, startedAt } = this
      const given = rest[0] as OutgoingHttpHeaders | undefined
      const id = request?.id ?? newRequestId()
      if (typeof given === 'object') {
        given['x-request-id'] = id
        given['x-content-type-options'] = 'nosniff'
        given['cache-control'] ??= 'no-store' // pages set a policy of their own, see `pageHeaders`
      } else {
        this.setHeader('x-request-id', id)
        this.setHeader('x-content-type-options', 'nosniff')
        if (!this.hasHeader('cache-control')) this.setHeader('cache-control', 'no-store')
      }
      const elapsedMs = startedAt === undefined ? 0 : performance.now() - startedAt
      answered({ method: req.method ?? '', route: request ? routeOf(request) : 'none', status, elapsedMs })
      if (request) logAnswer(log, request, { status, elapsedMs })
      return super.writeHead(status, ...(rest as [OutgoingHttpHeaders]))
    }
  }
}

/** From here on the answer knows what it answers. */
export function bindAnswer(request: FastifyRequest, { raw }: FastifyReply): void {
  const answer: typeof raw & { request?: FastifyRequest; startedAt?: number } = raw
  answer.request = request
  answer.startedAt = performance.now()
}

/** Reads that went well are many and say little: they are logged at `debug` only. */
function logAnswer(
  log: Log,
  request: FastifyRequest,
  { status, elapsedMs }: { status: number; elapsedMs: number },
): void {
  const isQuiet = status < 400 && (request.method === 'GET' || request.method === 'HEAD')
  const level = status >= 500 ? 'warn' : isQuiet ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  const fields = {
    requestId: request.id,
    method: request.method,
    path: pathOf(request.url),
    status,
    ms: Math.round(elapsedMs),
    ip: request.ip,
  }
  log[level](fields, 'request')
}

// Unique, not secret: a counter is ten times cheaper than a random id for each.
const processId = randomUUID().slice(0, 18)
let requests = 0

export function newRequestId(): string {
  requests++
  return `${processId}-${requests.toString(36)}`
}
