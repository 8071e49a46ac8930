// A stand-in for the server, over real HTTP. What it is asked and what it answers is checked against the contract, so that
// no test passes with a server that does not exist.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Endpoint, possibleErrors } from '@botberth/contract/endpoint.ts'
import type { AnswerOf, BodyOf, EndpointName, ParamsOf, QueryOf } from '@botberth/contract/endpoints.ts'
import { endpointList } from '@botberth/contract/endpoints.ts'
import { type ErrorCode, errors } from '@botberth/contract/errors.ts'
import { Problem } from '@botberth/contract/problem.ts'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { standardAnswers } from './answers.ts'

export interface Call<N extends EndpointName = EndpointName> {
  readonly name: N
  readonly params: NonNullable<ParamsOf<N>>
  readonly query: NonNullable<QueryOf<N>>
  /** What came as JSON. */
  readonly body: NonNullable<BodyOf<N>>
  /** What came as bytes. */
  readonly bytes: Buffer
  readonly headers: IncomingMessage['headers']
}

class Refusal {
  readonly code: ErrorCode
  readonly fields: { readonly detail?: string; readonly errors?: readonly { pointer: string; detail: string }[] }

  constructor(code: ErrorCode, fields: Refusal['fields']) {
    this.code = code
    this.fields = fields
  }
}

export function refuse(code: ErrorCode, fields: Refusal['fields'] = {}): Refusal {
  return new Refusal(code, fields)
}

type Answer<N extends EndpointName> = AnswerOf<N> | Uint8Array | Refusal
export type Handler<N extends EndpointName> = (call: Call<N>) => Answer<N> | Promise<Answer<N>>

interface Stream {
  readonly topics: readonly string[]
  readonly response: ServerResponse
}

const routes = endpointList
  .filter(([, { api }]) => api === 'hosting')
  .map(([name, endpoint]) => ({ name, endpoint, pattern: patternOf(endpoint) }))
  // `/bots/{id}/files` before what stands for the rest of a path.
  .toSorted((a, b) => b.endpoint.path.split('{')[0]?.localeCompare(a.endpoint.path.split('{')[0] ?? '') ?? 0)

function patternOf({ path, hasRestParam }: Endpoint): RegExp {
  const rest = hasRestParam ? path.lastIndexOf('{') : -1
  const source = path.replace(
    /\{(\w+)\}/g,
    (_, name: string, at: number) => `(?<${name}>${at === rest ? '.+' : '[^/]+'})`,
  )
  return new RegExp(`^/api/v1${source}$`)
}

class StandIn {
  readonly calls: Call[] = []
  /** What the contract does not allow, of either side. */
  mistakes: string[] = []
  readonly streams: Stream[] = []
  readonly #handlers = new Map<EndpointName, Handler<EndpointName>>()
  readonly #gates = new Map<EndpointName, { readonly opened: Promise<void>; waiting: number }>()
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((request, response) => void this.#take(request, response))
  /** Proxies may let a stream begin and then hold everything back. */
  areStreamsHeldBack = false
  #isAway = false
  url = ''

  async listen(): Promise<this> {
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      if (this.#isAway) socket.destroy()
    })
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  answer<N extends EndpointName>(name: N, handler: Handler<N>): void {
    this.#handlers.set(name, handler as unknown as Handler<EndpointName>)
  }

  /** Answers of this one wait until the returned function is called. */
  hold(name: EndpointName): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gates.set(name, { opened: promise, waiting: 0 })
    return () => {
      this.#gates.delete(name)
      resolve()
    }
  }

  /** How many of those answers wait. */
  get waiting(): number {
    return [...this.#gates.values()].reduce((sum, { waiting }) => sum + waiting, 0)
  }

  /** Nobody is there any more: what is open is cut, and what comes is not taken. */
  goAway(): void {
    this.#isAway = true
    for (const socket of this.#sockets) socket.destroy()
  }

  comeBack(): void {
    this.#isAway = false
  }

  cutStreams(): void {
    for (const { response } of this.streams) response.destroy()
  }

  /** To every stream that has the topic. */
  tell(topic: string, event: string, data: object): void {
    for (const { topics, response } of this.streams)
      if (topics.includes(topic)) response.write(`event: ${event}\ndata: ${JSON.stringify({ topic, ...data })}\n\n`)
  }

  isListenedTo(topic: string): boolean {
    return this.streams.some(({ topics }) => topics.includes(topic))
  }

  callsOf<N extends EndpointName>(name: N): Call<N>[] {
    return this.calls.filter((call) => call.name === name) as unknown as Call<N>[]
  }

  /** As at the beginning; streams stay. */
  reset(): void {
    this.calls.length = 0
    this.mistakes = []
    this.#handlers.clear()
    this.#gates.clear()
    this.areStreamsHeldBack = false
    this.#isAway = false
    for (const [name, handler] of Object.entries(standardAnswers()))
      this.#handlers.set(name as EndpointName, handler as unknown as Handler<EndpointName>)
  }

  close(): void {
    this.goAway()
    this.#server.close()
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.url)
    const route = routes.find(({ endpoint, pattern }) => endpoint.method === request.method && pattern.test(pathname))
    if (!route) {
      this.mistakes.push(`${request.method} ${pathname} is not in the contract`)
      return void response.writeHead(404).end()
    }
    const { name, endpoint, pattern } = route
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    const call = {
      name,
      params: decode(pattern.exec(pathname)?.groups ?? {}),
      query: numbersOf(endpoint.query, Object.fromEntries(searchParams)),
      body: endpoint.body && bytes.length > 0 ? (JSON.parse(bytes.toString()) as Call['body']) : {},
      bytes,
      headers: request.headers,
    } as unknown as Call
    this.calls.push(call)
    this.#check(endpoint.query, call.query, `the query of ${name}`)
    // What a server refuses with `validation_failed` may be sent; a test says so by refusing it.
    if (endpoint.streams) return this.#stream(String((call.query as { topics?: string }).topics), response)
    await this.#answer(route, call, response)
  }

  async #answer({ name, endpoint }: { name: EndpointName; endpoint: Endpoint }, call: Call, response: ServerResponse) {
    const gate = this.#gates.get(name)
    if (gate) {
      gate.waiting++
      await gate.opened
    }
    const handler = this.#handlers.get(name)
    if (!handler) this.mistakes.push(`nobody said what ${name} answers`)
    const answer = handler ? await handler(call) : refuse('internal')
    if (answer instanceof Refusal) return this.#refuse(answer, { name, endpoint }, response)
    if (endpoint.body) this.#check(endpoint.body, call.body, `the body of ${name}`)
    if (answer instanceof Uint8Array) {
      if (!endpoint.rawAnswer) this.mistakes.push(`${name} never answers with bytes`)
      return void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(answer)
    }
    const [[status, schema] = ['200', undefined]] = Object.entries(endpoint.answers)
    this.#check(schema, answer, `the answer of ${name}`)
    response.writeHead(Number(status), { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  #refuse(
    { code, fields }: Refusal,
    { name, endpoint }: { name: EndpointName; endpoint: Endpoint },
    response: ServerResponse,
  ) {
    const { status, title } = errors[code]
    const problem = {
      type: `/docs/errors#${code}`,
      title,
      status,
      detail: fields.detail ?? title,
      instance: endpoint.path,
      code,
      message: fields.detail ?? title,
      requestId: 'req_1',
      ...(fields.errors && { errors: fields.errors }),
    }
    this.#check(Problem, problem, `the problem of ${name}`)
    if (code !== 'internal' && !possibleErrors(endpoint).includes(code))
      this.mistakes.push(`${name} never answers with ${code}`)
    response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
  }

  #stream(topics: string, response: ServerResponse): void {
    const stream = { topics: topics.split(','), response }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    response.on('close', () => this.streams.splice(this.streams.indexOf(stream), 1))
    this.streams.push(stream)
    if (!this.areStreamsHeldBack) response.write('retry: 1000\nid: start\n\n')
  }

  #check(schema: TSchema | undefined, value: unknown, what: string): void {
    if (!schema || validatorOf(schema).Check(value)) return
    const [, found] = validatorOf(schema).Errors(value)
    this.mistakes.push(`${what}: ${found.map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ')}`)
  }
}

const validators = new Map<TSchema, ReturnType<typeof Compile>>()

function validatorOf(schema: TSchema): ReturnType<typeof Compile> {
  const known = validators.get(schema) ?? Compile(schema)
  validators.set(schema, known)
  return known
}

function decode(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decodeURIComponent(value)]))
}

/** Queries arrive as text. */
function numbersOf(schema: TSchema | undefined, query: Readonly<Record<string, string>>): Record<string, unknown> {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: string }> }
  const isNumber = (name: string) => ['integer', 'number'].includes(properties[name]?.type ?? '')
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, isNumber(name) ? Number(value) : value]),
  )
}

export const server = await new StandIn().listen()
server.reset()
