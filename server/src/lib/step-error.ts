/** Why a step of a deployment failed, in words for the bot's author. `code` is stable and in snake_case. */
export class StepError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** What a step needs is away, for a while it seems: it is tried again later, and fails with this if that does not help. */
export class AwayError extends StepError {
  /** What the other side asked for; 0: nothing. */
  readonly retryMs: number

  constructor(code: string, message: string, { retryMs = 0, ...options }: ErrorOptions & { retryMs?: number } = {}) {
    super(code, message, options)
    this.retryMs = retryMs
  }
}
