/** An answer that is no success, in the platform's own words. */
export class WireError extends Error {
  readonly status: number
  readonly members: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    message: string,
    { members = {}, headers = {} }: { members?: Record<string, unknown>; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.status = status
    this.members = members
    this.headers = headers
  }

  get body(): Record<string, unknown> {
    return {
      message: this.message,
      ...this.members,
      documentation_url: 'https://docs.github.com/rest',
      status: String(this.status),
    }
  }
}

export const notFound = () => new WireError(404, 'Not Found')
export const badCredentials = () => new WireError(401, 'Bad credentials')
export const needsCredentials = () => new WireError(401, 'Requires authentication')
export const notAccessible = () => new WireError(403, 'Resource not accessible by integration')
export const suspended = () => new WireError(403, 'This installation has been suspended')

/** One field of a body is wrong. `code`: `missing_field`, `invalid`, `custom`. */
export function invalidField(resource: string, field: string, message: string): WireError {
  return new WireError(422, 'Validation Failed', {
    members: { errors: [{ resource, field, code: 'custom', message }] },
  })
}
