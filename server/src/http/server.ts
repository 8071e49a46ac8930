import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import type { App } from '../context.ts'
import { AppError } from '../lib/app-error.ts'
import type { Log } from '../lib/log.ts'
import { jsonBytesMax, readBody } from './body.ts'
import { pathOf, problemOf, sendError } from './errors.ts'

const headerTimeoutMs = 15_000
// The longest that a request may take to arrive: an upload of 100 MiB at 3 Mbit/s.
const requestTimeoutMs = 300_000

/** A server with everything that holds for all paths: ids, headers, limits, errors. Routes come on top. */
export function makeServer({ config, log }: Pick<App, 'config' | 'log'>): FastifyInstance {
  const server: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // One logger for all: a child for each request costs more than most requests do. Lines name the request's id.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }), // see `logAnswer`
    genReqId: (request) => saneId(request.headers['x-request-id']) ?? randomUUID(),
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    bodyLimit: jsonBytesMax,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // what has arrived is answered, and its connection closed
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    http: { headersTimeout: headerTimeoutMs, connectionsCheckingInterval: 5_000, requireHostHeader: false }, // see below
    frameworkErrors: sendError,
    rewriteUrl: (request) => decodableUrl(request.url ?? '/'),
    clientErrorHandler: answerBrokenRequest,
  })
  server.setErrorHandler(sendError)
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', readBody)
  // An expectation that we do not know is no reason to refuse a request.
  server.server.on('checkExpectation', (request, response) => server.routing(request, response))
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).headers(securityHeaders)
    // Node's own check of this answers without a body.
    const lacksHost = request.headers.host === undefined && request.raw.httpVersion === '1.1'
    done(lacksHost ? new AppError('invalid_request', { detail: 'The request has no Host header.' }) : undefined)
  })
  server.addHook('onResponse', (request, reply, done) => {
    logAnswer(log, request, reply)
    done()
  })
  return server
}

/** For everything that is no page; pages set a policy of their own, see `pageHeaders`. */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
}

/** Reads that went well are many and say little: they are logged at `debug` only. */
function logAnswer(log: Log, request: FastifyRequest, { statusCode: status, elapsedTime }: FastifyReply): void {
  const isQuiet = status < 400 && (request.method === 'GET' || request.method === 'HEAD')
  const level = status >= 500 ? 'warn' : isQuiet ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  const fields = {
    requestId: request.id,
    method: request.method,
    path: pathOf(request.url),
    status,
    ms: Math.round(elapsedTime),
    ip: request.ip,
  }
  log[level](fields, 'request')
}

function saneId(given: string | string[] | undefined): string | undefined {
  return typeof given === 'string' && /^[\w.:/+=-]{1,128}$/.test(given) ? given : undefined
}

/** A path that cannot be decoded, or holds a NUL, is the path of nothing: it goes the way of every unknown one. */
function decodableUrl(url: string): string {
  try {
    if (!decodeURIComponent(pathOf(url)).includes('\0')) return url
  } catch {
    // falls through: the same as a NUL
  }
  return url.replaceAll('%', '%25')
}

/** What the HTTP parser refuses never becomes a request; it gets the same kind of body all the same. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const problem = new AppError(parserErrors[error.code ?? ''] ?? 'invalid_request')
  const body = JSON.stringify(problemOf(problem, { path: '', requestId: randomUUID() }))
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

const parserErrors: Readonly<Record<string, 'header_too_large' | 'request_timeout'>> = {
  HPE_HEADER_OVERFLOW: 'header_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}
