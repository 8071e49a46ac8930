import type { TObject, TSchema } from 'typebox'
import { type ErrorCode, errors } from './errors.ts'

/**
 * Who may call an endpoint.
 * `public`: anybody, within the public limit of 100 requests in 15 minutes for one address.
 * `open`: anybody; the way in for those who have no credential yet.
 * `caller`: an API key or a JWT.
 * `operator`: a caller whose role is `owner`.
 */
export type Access = 'public' | 'open' | 'caller' | 'operator'

export interface Endpoint {
  readonly api: 'hosting' | 'list'
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Relative to the API's base, parameters in braces: `/bots/{id}`. */
  readonly path: string
  readonly access: Access
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly params?: TObject
  readonly query?: TObject
  readonly body?: TObject
  /** A body may be left out altogether. */
  readonly bodyOptional?: boolean
  /** What a success looks like, by status. */
  readonly answers: { readonly [status: number]: TSchema }
  /** Codes beyond those that follow from the fields above; see `possibleErrors`. */
  readonly errors?: readonly ErrorCode[]
}

/** Keeps the literal types of one endpoint, so that routes and clients are typed by it. */
export function endpoint<const E extends Endpoint>(definition: E): E {
  return definition
}

/** Every error code that this endpoint may answer with, in the order of their status. */
export function possibleErrors(endpoint: Endpoint): ErrorCode[] {
  const codes = new Set<ErrorCode>(endpoint.errors ?? [])
  if (endpoint.body) {
    codes.add('validation_failed').add('invalid_json').add('payload_too_large').add('unsupported_media_type')
  }
  if (endpoint.query) codes.add('validation_failed')
  if (endpoint.params) codes.add('not_found')
  if (endpoint.access === 'caller') codes.add('unauthenticated')
  if (endpoint.access === 'operator') codes.add('unauthenticated').add('forbidden')
  // The public endpoints answer without the database too.
  if (endpoint.access !== 'public') codes.add('unavailable')
  return [...codes.add('rate_limited')].toSorted((a, b) => errors[a].status - errors[b].status)
}
