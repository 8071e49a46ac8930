import { type ErrorCode, errors } from '@botberth/contract/errors.ts'

export interface FieldError {
  readonly pointer: string
  readonly detail: string
}

interface Options {
  /** What to tell the caller, where the catalogue's text is not exact enough. Never SQL, a path or a secret. */
  readonly detail?: string
  /** Further members of the problem body, such as `errors` or `nextVoteAt`. */
  readonly members?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** For the operator's log only. */
  readonly cause?: unknown
}

/** A failure that the caller is told about by its code. Anything else that is thrown becomes `internal`. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly members: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, options: Options = {}) {
    super(options.detail ?? errors[code].text, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.members = options.members ?? {}
    this.headers = options.headers ?? {}
  }

  get status(): number {
    return errors[this.code].status
  }
}

/** Wrong input, one entry a field; more than twenty help nobody. */
export function validationError(fields: readonly FieldError[]): AppError {
  const [first] = fields
  const detail = first ? `${first.pointer || 'The request'}: ${first.detail}` : undefined
  return new AppError('validation_failed', {
    ...(detail && { detail }),
    members: { errors: fields.slice(0, 20) },
  })
}
