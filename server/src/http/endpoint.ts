import type { Endpoint } from '@botberth/contract/endpoint.ts'
import {
  type AnswerOf,
  type BodyOf,
  type EndpointName,
  endpoints,
  type ParamsOf,
  type QueryOf,
} from '@botberth/contract/endpoints.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../lib/app-error.ts'
import { keepKnownFields, parseBody } from './body.ts'
import { checker, readQuery } from './validate.ts'

interface ApiRequest<N extends EndpointName> {
  readonly body: BodyOf<N>
  readonly query: QueryOf<N>
  readonly params: ParamsOf<N>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export type Handler<N extends EndpointName> = (request: ApiRequest<N>) => AnswerOf<N> | Promise<AnswerOf<N>>

/** Lets a request in or throws; runs before its body is read. */
export type Gate = (endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply) => Promise<void>

export const apiBases = { hosting: '/api/v1', list: '/list/api' } as const

/** Registers entries of the contract as routes: the gate, then validation, then the handler. */
export class Api {
  readonly #server: FastifyInstance
  readonly #gate: Gate

  constructor(server: FastifyInstance, gate: Gate) {
    this.#server = server
    this.#gate = gate
  }

  handle<N extends EndpointName>(name: N, handler: Handler<N>): void {
    const endpoint: Endpoint = endpoints[name]
    const readInput = inputReader(endpoint)
    const status = Number(Object.keys(endpoint.answers)[0])
    this.#server.route({
      method: endpoint.method,
      url: apiBases[endpoint.api] + endpoint.path.replace(/\{(\w+)\}/g, ':$1'),
      schema: { response: endpoint.answers },
      onRequest: async (request, reply) => {
        await this.#gate(endpoint, request, reply)
        // Without a schema for it a body is ignored, whatever its type claims to be.
        if (!endpoint.body) delete request.raw.headers['content-type']
      },
      handler: async (request, reply) => {
        const input = readInput(request, reply)
        reply.code(status)
        return handler({ ...input, request, reply } as ApiRequest<N>)
      },
    })
  }
}

interface Input {
  readonly body: unknown
  readonly query: unknown
  readonly params: unknown
}

function inputReader({
  params,
  query,
  body,
  bodyOptional,
}: Endpoint): (request: FastifyRequest, reply: FastifyReply) => Input {
  const checkParams = params && checker(params)
  const checkQuery = query && checker(query)
  const checkBody = body && checker(body)

  return (request, reply) => {
    if (checkParams) checkOrNotFound(checkParams, request.params)
    const queryValues = query && readQuery(query, request.query as Record<string, unknown>)
    checkQuery?.(queryValues)
    if (!body || !checkBody) return { body: undefined, query: queryValues, params: request.params }
    if (request.headers['content-encoding'] && request.headers['content-encoding'] !== 'identity')
      throw new AppError('unsupported_media_type')
    const given = parseBody((request.body as Buffer | undefined) ?? Buffer.alloc(0), request.headers['content-type'])
    const ignored: string[] = []
    const value = keepKnownFields(body, given ?? (bodyOptional ? {} : undefined), ignored)
    checkBody(value)
    if (ignored.length > 0) reply.header('x-ignored-fields', namesForHeader(ignored))
    return { body: value, query: queryValues, params: request.params }
  }
}

/** A malformed id is simply not the id of anything. */
function checkOrNotFound(check: (value: unknown) => void, value: unknown): void {
  try {
    check(value)
  } catch (error) {
    throw new AppError('not_found', { cause: error })
  }
}

/** Field names are the caller's own text: escaped, and bounded. */
function namesForHeader(names: readonly string[]): string {
  const shown = names.slice(0, 20).map((name) => encodeURIComponent(name.slice(0, 100)).replaceAll('%2F', '/'))
  return names.length > shown.length ? `${shown.join(', ')}, …`.replace('…', '...') : shown.join(', ')
}
