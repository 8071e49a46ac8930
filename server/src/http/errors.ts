import { type ErrorCode, errors } from '@botberth/contract/errors.ts'
import type { Problem } from '@botberth/contract/problem.ts'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { DatabaseAway } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'

/** Whatever was thrown as an error that a caller may see. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof DatabaseAway)
    return new AppError('unavailable', { cause: error, headers: { 'retry-after': '1' } })
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>
  const known = frameworkErrors[code]
  if (known) return new AppError(known, { cause: error })
  return new AppError(statusCode >= 400 && statusCode < 500 ? 'invalid_request' : 'internal', { cause: error })
}

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

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toAppError(thrown)
  if (error.code === 'internal') request.log.error({ err: thrown, requestId: request.id }, 'a request failed')
  const problem = problemOf(error, { path: pathOf(request.url), requestId: request.id })
  void reply
    .code(error.status)
    .headers(error.headers)
    .type('application/problem+json')
    // Serialised here, so that no answer's schema can leave members out.
    .serializer((value) => value as string)
    .send(JSON.stringify(problem))
}

/** Without the query, which may carry a code or a token. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}
