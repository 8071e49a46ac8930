import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import fastJson from 'fast-json-stringify'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { App } from '../context.ts'
import { AppError } from '../lib/app-error.ts'
import { type Answered, answerClass, bindAnswer, newRequestId } from './answer.ts'
import { jsonBytesMax, readBody } from './body.ts'
import { isFromDoor } from './door.ts'
import { type ErrorPage, pathOf, problemOf, sendError } from './errors.ts'
import { closeIdle } from './idle.ts'
import { corsHeaders, isApi, isDecodable } from './paths.ts'

const headerTimeoutMs = 15_000
// The longest that a request may take to arrive: an upload of 100 MiB at 3 Mbit/s.
const requestTimeoutMs = 300_000

declare module 'fastify' {
  interface FastifyInstance {
    /** For other listeners that lead to this server. */
    answerClass: ReturnType<typeof answerClass>
  }
}

/** What the rest of the server adds at each request. Here and not in hooks of their own, each of which costs. */
interface Hooks {
  /** No route takes the request: answers or rejects, before any body is read. */
  unrouted(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** The answer is made and about to be written. */
  answered(answer: Answered): void
  readonly errorPage?: ErrorPage
}

/** A server with everything that holds for all paths: ids, headers, limits, errors. Routes come on top. */
export function makeServer({ config, log }: Pick<App, 'config' | 'log'>, hooks: Hooks): FastifyInstance {
  const ServerResponse = answerClass(log, hooks.answered)
  const server: FastifyInstance = fastify({
    logger: false, // a child logger for each request costs more than many requests do; see `logAnswer`
    genReqId: (request) => saneId(request.headers['x-request-id']) ?? newRequestId(),
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    bodyLimit: jsonBytesMax,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // what has arrived is answered, and its connection closed
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    http: {
      headersTimeout: headerTimeoutMs,
      connectionsCheckingInterval: 5_000,
      requireHostHeader: false, // see below
      ServerResponse,
    },
    frameworkErrors: (error, request, reply) => sendError(log, error, { request, reply, page: hooks.errorPage }),
    rewriteUrl: (request) => normalUrl(request.url ?? '/'),
    clientErrorHandler: answerBrokenRequest,
  })
  closeIdle(server.server)
  server.decorate('answerClass', ServerResponse)
  server.setErrorHandler((error, request, reply) => sendError(log, error, { request, reply, page: hooks.errorPage }))
  server.setSerializerCompiler(({ schema }) => serializer(schema))
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', readBody)
  // An expectation that we do not know is no reason to refuse a request.
  server.server.on('checkExpectation', (request, response) => server.routing(request, response))
  server.addHook('onRequest', (request, reply, done) => {
    bindAnswer(request, reply)
    if (request.headers.origin !== undefined && isApi(pathOf(request.url))) reply.headers(corsHeaders)
    // Node's own check of this answers without a body.
    const hosts = countHosts(request.raw.rawHeaders)
    const isWrong = hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')
    const isOutside = isFromDoor(request.raw.socket) && !isApi(pathOf(request.url))
    if (isOutside) done(new AppError('not_found'))
    else if (isWrong) done(new AppError('invalid_request', { detail: 'The request needs one Host header.' }))
    else if (request.is404) hooks.unrouted(request, reply).catch(done)
    else done()
  })
  return server
}

/** Made when it is first needed: all of them together are a good part of a start. */
function serializer(schema: unknown): (value: unknown) => string {
  let write: ((value: unknown) => string) | undefined
  return (value) => {
    write ??= fastJson(schema as Parameters<typeof fastJson>[0])
    return write(value)
  }
}

/** Two of them are two opinions on which site is meant, and checks that rely on the name could be led astray. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

function saneId(given: string | string[] | undefined): string | undefined {
  return typeof given === 'string' && /^[\w.:/+=-]{1,128}$/.test(given) ? given : undefined
}

/**
 * One spelling for each path, so that the router and everything that looks at the path agree: no scheme and host, no
 * fragment, nothing percent-encoded that need not be. A path that cannot be decoded, or holds a NUL, is the path of
 * nothing: it goes the way of every unknown one.
 */
function normalUrl(url: string): string {
  if (url.startsWith('/') && !/[%#]/.test(url)) return url // nearly all of them
  const relative = url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/#.*$/s, '') || '/'
  const path = pathOf(relative)
  if (!isDecodable(path)) return relative.replaceAll('%', '%25')
  const plain = path.replace(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16))
    return /[A-Za-z0-9._~-]/.test(character) ? character : code
  })
  return plain + relative.slice(path.length)
}

/** What the HTTP parser refuses never becomes a request; it gets the same kind of body all the same. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  // The answer to a request before this one may still be under way: it must not be cut short by ours.
  const { _httpMessage: pending } = socket as Socket & { _httpMessage?: ServerResponse }
  // Unless it waits for a body that will never be whole: then it would come when the time for requests is over.
  if (pending && (pending.headersSent || pending.req.complete)) {
    pending.once('finish', () => socket.destroySoon())
    return
  }
  const problem = new AppError(parserErrors[error.code ?? ''] ?? 'invalid_request')
  const requestId = newRequestId()
  const body = JSON.stringify(problemOf(problem, { path: '', requestId }))
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

const parserErrors: Readonly<Record<string, 'header_too_large' | 'request_timeout'>> = {
  HPE_HEADER_OVERFLOW: 'header_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}
