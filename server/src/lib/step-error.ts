/** Why a step of a deployment failed, in words for the bot's author. `code` is stable and in snake_case. */
export class StepError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
