/**
 * Every error that either API answers with. The server, the documentation page and the clients read this one
 * list. A code is never renamed: programs compare it. `title` is the same for every occurrence; `text` is said
 * when nothing more exact is known.
 */
export const errors = {
  invalid_json: {
    status: 400,
    title: 'The body is not JSON',
    text: 'The body could not be read as JSON in UTF-8.',
    remedy: 'Send one JSON value in UTF-8, at most 32 levels deep.',
  },
  validation_failed: {
    status: 400,
    title: 'The request has wrong or missing fields',
    text: 'Some fields are wrong or missing; see `errors`.',
    remedy: 'Each entry of `errors` names a field by its JSON pointer and says what it takes.',
  },
  invalid_request: {
    status: 400,
    title: 'The request is not valid HTTP',
    text: 'The request could not be understood.',
    remedy: 'Check the request line, the header lines and the framing of the body.',
  },
  unauthenticated: {
    status: 401,
    title: 'A valid credential is needed',
    text: 'Send an API key in `x-api-key`, or a token in `Authorization: Bearer`. None was sent, or it is not valid.',
    remedy: 'Create a key in the dashboard under Settings, API keys, or sign in again.',
  },
  forbidden: {
    status: 403,
    title: 'Not allowed',
    text: 'This credential may not do that.',
    remedy: 'Ask the operator of this server.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    text: 'There is no such thing here, or it is not yours.',
    remedy: 'Check the path and the id.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    text: 'This path does not take that method; see the `Allow` header.',
    remedy: 'Use one of the methods in `Allow`.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    text: 'The request was not complete in time.',
    remedy: 'Send it again on a new connection.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    text: 'The body is larger than this endpoint takes.',
    remedy: 'JSON bodies may have up to 256 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not of a type that this endpoint takes',
    text: 'Send the body as `application/json`, without compression.',
    remedy: 'Set `Content-Type: application/json`.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    text: 'Too many requests; wait as long as `Retry-After` says.',
    remedy: 'Wait the seconds in `Retry-After`. The `RateLimit` fields tell what is left.',
  },
  header_too_large: {
    status: 431,
    title: 'The header is too large',
    text: 'The header lines are larger than this server takes.',
    remedy: 'Send at most 16 KiB of header lines.',
  },
  internal: {
    status: 500,
    title: 'Something broke on our side',
    text: 'Something broke on our side. It was logged under this request id.',
    remedy: 'Tell the operator the `requestId`.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    text: 'The server cannot reach its database at the moment. It keeps trying.',
    remedy: 'Wait the seconds in `Retry-After` and send the request again.',
  },
} as const satisfies Record<string, ErrorEntry>

export interface ErrorEntry {
  readonly status: number
  readonly title: string
  readonly text: string
  readonly remedy: string
}

export type ErrorCode = keyof typeof errors
