import { BotberthError, ConnectionError } from '@botberth/sdk'
import type { TextName } from './texts/en.ts'

/** A text in the language of whoever reads it. */
export type Say = (name: TextName, values?: Readonly<Record<string, string | number>>) => string

/** What scripts go by. Never renumbered. */
export const exit = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  loginNeeded: 4,
  rejected: 5,
  rateLimited: 6,
  deployFailed: 7,
  unreachable: 8,
  interrupted: 130,
} as const

/** An end with words for the person at the terminal. */
export class CliError extends Error {
  readonly code: string
  readonly exitCode: number
  readonly hint: string | undefined

  constructor(code: string, message: string, { exitCode, hint }: { exitCode: number; hint?: string | undefined }) {
    super(message)
    this.code = code
    this.exitCode = exitCode
    this.hint = hint
  }
}

/** A file that cannot be understood. What stands in it is not told: it may be a key. */
export class BrokenFileError extends Error {
  readonly path: string

  constructor(path: string) {
    super(`${path} cannot be understood.`)
    this.path = path
  }
}

interface Report {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly requestId?: string
  readonly exitCode: number
}

export function reportOf(error: unknown, say: Say): Report {
  if (error instanceof CliError) {
    const { code, message, exitCode, hint } = error
    return { code, message, exitCode, ...(hint !== undefined && { hint }) }
  }
  if (error instanceof ConnectionError)
    return { code: 'unreachable', message: describe(error, say), exitCode: exit.unreachable }
  if (error instanceof BotberthError) {
    const { code, requestId, errors } = error
    // A single one is what the message says already.
    const fields = (errors.length < 2 ? [] : errors)
      .map(({ pointer, detail }) => `\n  ${pointer || '/'}: ${detail}`)
      .join('')
    const exitCode = exitCodeOf(error.status)
    const hint = hints[code] ?? (exitCode === exit.loginNeeded ? 'loginHint' : undefined)
    return {
      code,
      message: error.message + fields,
      exitCode,
      ...(hint !== undefined && { hint: say(hint) }),
      ...(requestId !== undefined && { requestId }),
    }
  }
  if (error instanceof Error && error.name === 'AbortError')
    return { code: 'interrupted', message: say('interrupted'), exitCode: exit.interrupted }
  if (error instanceof BrokenFileError)
    return { code: 'bad_file', message: say('fileBroken', { file: error.path }), exitCode: exit.usage }
  if (!(error instanceof Error)) return { code: 'failed', message: String(error), exitCode: exit.failed }
  const { code, path, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && path !== undefined)
    return { code: 'no_file', message: say('noFile', { file: path }), exitCode: exit.usage }
  return { code: 'failed', message, exitCode: exit.failed }
}

function describe({ message, cause, origin: url, timeoutMs }: ConnectionError, say: Say): string {
  if (url === undefined) return message
  if (timeoutMs !== undefined) return say('tooSlow', { url, seconds: timeoutMs / 1_000 })
  const { cause: inner } = (cause ?? {}) as { cause?: { code?: string } }
  return say('unreachable', { url }) + (inner?.code ? ` (${inner.code})` : '')
}

/** What one can do about it. */
const hints: Readonly<Record<string, TextName>> = {
  unauthenticated: 'loginHint',
  not_found: 'hintNotFound',
  bot_expired: 'hintExpired',
  limit_reached: 'hintLimit',
  codehost_not_connected: 'hintCodehost',
  payload_too_large: 'hintTooLarge',
  rate_limited: 'hintWait',
  unavailable: 'hintWait',
  internal: 'hintRequest',
}

/** Of an answer that is no success. */
export function exitCodeOf(status: number): number {
  if (status === 401) return exit.loginNeeded
  if (status === 404) return exit.notFound
  if (status === 429) return exit.rateLimited
  if (status >= 400 && status < 500) return exit.rejected
  return status === 503 || status === 502 || status === 504 ? exit.unreachable : exit.failed
}
