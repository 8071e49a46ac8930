import { type ErrorCode, errors } from '@botberth/contract/errors.ts'
import type { Problem } from '@botberth/contract/problem.ts'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { DatabaseAway } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'
import type { Log } from '../lib/log.ts'
import { type Html, html } from './html.ts'
import { sendPage } from './page.ts'

/** Whatever was thrown as an error that a caller may see. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof DatabaseAway)
    return new AppError('unavailable', { cause: error, headers: { 'retry-after': '1' } })
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>
  if (code === untranslatable) return new AppError('invalid_request', { cause: error })
  const known = frameworkErrors[code]
  if (known) return new AppError(known, { cause: error })
  return new AppError(statusCode >= 400 && statusCode < 500 ? 'invalid_request' : 'internal', { cause: error })
}

// PostgreSQL's word for text that it cannot keep, such as a NUL that came in a query string.
const untranslatable = '22021'

const frameworkErrors: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
}

/** The problem body of RFC 9457, and the same text as `message` for simple clients. */
export function problemOf(error: AppError, { path, requestId }: { path: string; requestId: string }): Problem {
  const { status, title } = errors[error.code]
  return {
    type: `/docs/errors#${error.code}`,
    title,
    status,
    detail: error.message,
    instance: path,
    code: error.code,
    message: error.message,
    requestId,
    ...error.members,
  }
}

/** Makes the page of an error in a part of the server that has its own looks; undefined: it is not in that part. */
export type ErrorPage = (
  error: AppError,
  exchange: { request: FastifyRequest; reply: FastifyReply },
) => FastifyReply | undefined

export function sendError(
  log: Log,
  thrown: unknown,
  { request, reply, page }: { request: FastifyRequest; reply: FastifyReply; page?: ErrorPage | undefined },
): void {
  const error = toAppError(thrown)
  if (error.code === 'internal') log.error({ err: thrown, requestId: request.id }, 'a request failed')
  if (wantsPage(request)) {
    if (page?.(error, { request, reply })) return
    void sendPage(
      reply.code(error.status).headers(error.headers),
      errors[error.code].title,
      errorPage(error, request.id),
    )
    return
  }
  const problem = problemOf(error, { path: pathOf(request.url), requestId: request.id })
  void reply
    .code(error.status)
    .headers(error.headers)
    .type('application/problem+json')
    // Serialised here, so that no answer's schema can leave members out.
    .serializer((value) => value as string)
    .send(JSON.stringify(problem))
}

/** Browsers that follow a link get a page, except from the APIs; those that sign in are below one all the same. */
function wantsPage({ method, url, headers }: FastifyRequest): boolean {
  if (!['GET', 'POST'].includes(method) || !headers.accept?.includes('text/html')) return false
  return (
    !/^\/(api\/v1|list\/api)(\/|$)/.test(url) ||
    /^\/api\/v1\/auth\/(chat|codehost)\/(login|connect|callback)\b/.test(url)
  )
}

function errorPage(error: AppError, requestId: string): Html {
  return html`<h1>${errors[error.code].title}</h1>
<p>${error.message}</p>
<p class="soft">${errors[error.code].remedy}</p>
<p class="soft">${error.status} <code>${error.code}</code>, request <code>${requestId}</code></p>
<p><a href="/">Back to Botberth</a></p>`
}

/** Without the query, which may carry a code or a token. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}
