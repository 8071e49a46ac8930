import type { ErrorCode, Problem } from './generated.ts'

/** The server refused or failed. Compare `code`: it is never renamed. */
export class BotberthError extends Error {
  override readonly name = 'BotberthError'
  readonly status: number
  /** `unknown`: the answer did not come from Botberth, but from something in between. */
  readonly code: ErrorCode | 'unknown'
  /** Tell it to whoever runs the server: it stands in their log. */
  readonly requestId: string | undefined
  /** Which fields of the request are wrong. */
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[]
  /** When to ask again, if the server says so. */
  readonly retryAfterMs: number | undefined
  /** The whole answer: some codes come with fields of their own. */
  readonly problem: Readonly<Record<string, unknown>>

  constructor(status: number, problem: Partial<Problem>, { retryAfterMs }: { retryAfterMs?: number | undefined } = {}) {
    super(problem.detail ?? problem.title ?? `The server answered with ${status}.`)
    this.status = status
    this.code = problem.code ?? 'unknown'
    this.requestId = problem.requestId
    this.errors = problem.errors ?? []
    this.retryAfterMs = retryAfterMs
    this.problem = problem
  }
}

/** There was no answer: the server cannot be reached, or did not answer in time. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  /** Of the server. */
  readonly origin: string | undefined
  /** How long it was waited for; undefined: it could not be reached, or hung up. */
  readonly timeoutMs: number | undefined

  constructor(message: string, { cause, origin, timeoutMs }: { cause: unknown; origin?: string; timeoutMs?: number }) {
    super(message, { cause })
    this.origin = origin
    this.timeoutMs = timeoutMs
  }
}
