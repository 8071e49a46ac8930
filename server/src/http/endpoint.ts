import type { Readable } from 'node:stream'
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
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { clientNet } from '../lib/address.ts'
import { AppError, validationError } from '../lib/app-error.ts'
import { keepKnownFields, parseBody, rawBody } from './body.ts'
import { pathOf } from './errors.ts'
import { claimKey, idempotentRequest, keepAnswer } from './idempotency.ts'
import { apiBases, isDecodable, routeUrl } from './paths.ts'
import { type Caller, findCaller, setCaller, setRoute } from './request.ts'
import { checker, readQuery } from './validate.ts'

type CallerOf<N extends EndpointName> = (typeof endpoints)[N]['access'] extends 'public' | 'open' | 'visitor'
  ? undefined
  : (typeof endpoints)[N]['access'] extends 'guest'
    ? Caller | undefined
    : Caller

interface ApiRequest<N extends EndpointName> {
  readonly body: BodyOf<N>
  readonly query: QueryOf<N>
  readonly params: ParamsOf<N>
  readonly caller: CallerOf<N>
  /** A transaction if the endpoint creates a record: all of its work has to go through it. */
  readonly db: Db
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** A redirect and a stream of bytes answer by themselves; everything else is returned, events as the stream that they are written to. */
type Result<N extends EndpointName> =
  | ((typeof endpoints)[N] extends { streams: true } ? Readable : AnswerOf<N>)
  | (302 extends keyof (typeof endpoints)[N]['answers'] ? FastifyReply : never)
  | ((typeof endpoints)[N] extends { readonly rawAnswer: true | string } ? FastifyReply : never)

export type Handler<N extends EndpointName> = (request: ApiRequest<N>) => Result<N> | Promise<Result<N>>

type First = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** Lets a request in, or throws or rejects; runs before its body is read. Undefined: in, without a question. */
export type Gate = (
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
) => Caller | undefined | Promise<Caller | undefined>

/** Registers entries of the contract as routes: the gate, then validation, then the handler. */
export class Api {
  readonly #server: FastifyInstance
  readonly #gate: Gate
  readonly #app: App

  constructor(server: FastifyInstance, app: App, gate: Gate) {
    this.#server = server
    this.#gate = gate
    this.#app = app
  }

  /** `first`: what an endpoint that creates a record has to ask before its transaction begins. */
  handle<N extends EndpointName>(name: N, handler: Handler<N>, first?: First): void {
    const endpoint: Endpoint = endpoints[name]
    const readInput = inputReader(endpoint)
    const status = Number(Object.keys(endpoint.answers)[0])
    const { db } = this.#app.pool
    const url = routeUrl(endpoint)
    const takesRaw = endpoint.rawBody !== undefined
    // Without a schema for it a body is ignored, or stored as it is, whatever its type claims to be.
    const ignoresType = !endpoint.body && !endpoint.rawBody?.types
    this.#server.route({
      method: endpoint.method,
      url,
      schema: { response: endpoint.answers },
      config: { ignoresBody: !endpoint.body && !takesRaw, takesRaw },
      // Neither this nor the handler is async: a promise for each costs a small request a tenth of its time.
      onRequest: (request, reply, done) => {
        if (ignoresType && request.raw.headers['content-type'] !== undefined) delete request.raw.headers['content-type']
        setRoute(request, url)
        const enter = (caller: Caller | undefined) => {
          if (caller) setCaller(request, caller)
          done()
        }
        const admitted = this.#gate(endpoint, request, reply)
        if (admitted instanceof Promise) admitted.then(enter, done)
        else enter(admitted)
      },
      handler: (request, reply) => {
        const input = readInput(request, reply)
        const caller = findCaller(request)
        if (status !== 200) reply.code(status)
        if (!endpoint.creates) return handler({ ...input, caller, request, reply, db } as ApiRequest<N>)
        const creation = { ...input, caller, request, reply }
        const create = () => this.#create(endpoint, creation, (db) => handler({ ...creation, db } as ApiRequest<N>))
        return first ? first(request, reply).then(create) : create()
      },
    })
  }

  /** The record, its Idempotency-Key and the stored answer are one transaction. */
  async #create(endpoint: Endpoint, input: CreateInput, make: (db: Db) => unknown): Promise<unknown> {
    const { caller, request, reply, body, params } = input
    const repeatable = idempotentRequest(
      request.headers['idempotency-key'],
      caller?.credential ?? `address ${clientNet(request.ip)}`,
      [endpoint.path, params, body],
    )
    return tx(this.#app.pool.db, async (db) => {
      const stored = repeatable && (await claimKey(db, repeatable, this.#app.clock.now()))
      if (stored) {
        reply.code(stored.status).header('idempotency-replayed', 'true')
        if (stored.location) reply.header('location', stored.location)
        return stored.answer
      }
      const answer = (await make(db)) as { id: string }
      const location = `${apiBases[endpoint.api]}${filled(endpoint.path, params)}/${answer.id}`
      reply.header('location', location)
      const recordId = endpoint.creates === 'withSecret' ? answer.id : null
      if (repeatable) await keepAnswer(db, repeatable, { status: reply.statusCode, answer, location, recordId })
      return answer
    })
  }
}

function filled(path: string, params: unknown): string {
  const values = (params ?? {}) as Record<string, string>
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
}

interface Input {
  readonly body: unknown
  readonly query: unknown
  readonly params: unknown
}

interface CreateInput extends Input {
  readonly caller: Caller | undefined
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

function inputReader({
  params,
  query,
  body,
  bodyOptional,
  rawBody: raw,
  hasRestParam,
}: Endpoint): (request: FastifyRequest, reply: FastifyReply) => Input {
  const checkParams = params && checker(params)
  const checkQuery = query && checker(query)
  const checkBody = body && checker(body)

  return (request, reply) => {
    const paramValues = hasRestParam ? withRest(request) : request.params
    if (checkParams) checkOrNotFound(checkParams, paramValues)
    const queryValues = query && readQuery(query, request.query as Record<string, unknown>)
    checkQuery?.(queryValues)
    const input = { query: queryValues, params: paramValues }
    if (!raw && !body) return { ...input, body: undefined }
    if (request.headers['content-encoding'] && request.headers['content-encoding'] !== 'identity')
      throw new AppError('unsupported_media_type')
    if (raw) return { ...input, body: rawBody(request, raw) }
    if (!body || !checkBody) return { ...input, body: undefined }
    const given = parseBody((request.body as Buffer | undefined) ?? Buffer.alloc(0), request.headers['content-type'])
    const ignored: string[] = []
    const value = keepKnownFields(body, given ?? (bodyOptional ? {} : undefined), ignored)
    checkBody(value)
    if (ignored.length > 0) reply.header('x-ignored-fields', namesForHeader(ignored))
    return { ...input, body: value }
  }
}

/** The router calls the rest of a path `*`; in the contract it is `path`. */
function withRest({ params, originalUrl }: FastifyRequest): unknown {
  // What cannot be decoded was routed under another spelling, which must not become the name of a file.
  if (!isDecodable(pathOf(originalUrl)))
    throw validationError([{ pointer: '/path', detail: 'has a wrong percent-encoding or a NUL character in it' }])
  const { '*': path, ...rest } = params as Record<string, string>
  return { ...rest, path }
}

/** A malformed id is simply not the id of anything. */
function checkOrNotFound(check: (value: unknown) => void, value: unknown): void {
  try {
    check(value)
  } catch (error) {
    throw error instanceof AppError ? new AppError('not_found', { cause: error }) : error
  }
}

/** Field names are the caller's own text: escaped, and bounded. */
function namesForHeader(names: readonly string[]): string {
  const shown = names
    .slice(0, 20)
    .map((name) => encodeURIComponent(name.slice(0, 100).toWellFormed()).replaceAll('%2F', '/'))
  return [...shown, ...(names.length > shown.length ? ['...'] : [])].join(', ')
}
