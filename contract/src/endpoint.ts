import type { TObject, TSchema } from 'typebox'
import { type ErrorCode, errors } from './errors.ts'

/**
 * Who may call an endpoint.
 * `public`: anybody, within the public limit of 100 requests in 15 minutes for one address.
 * `open`: anybody; the way in for those who have no credential yet.
 * `caller`: an API key or a JWT.
 * `cookie`: the session's cookie, sent by a page of our own.
 * `session`: somebody who signed in, by the session's cookie or its JWT; an API key is no session.
 * `navigation`: a caller, or a browser that follows a link of ours with its session's cookie.
 * `operator`: a caller whose role is `owner`.
 * `signed`: whoever signs the body with the secret that we share with the platform; bad signatures are limited.
 * `visitor`: anybody who looks at the bot list, within a limit for one address.
 * `guest`: the same for what is written down: whoever signed in is known, and no page of another site sends it.
 * `listing`: a listed bot, by its key.
 */
export type Access =
  | 'public'
  | 'open'
  | 'caller'
  | 'cookie'
  | 'session'
  | 'navigation'
  | 'operator'
  | 'signed'
  | 'visitor'
  | 'guest'
  | 'listing'

export interface Endpoint {
  readonly api: 'hosting' | 'list'
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Relative to the API's base, parameters in braces: `/bots/{id}`. */
  readonly path: string
  /** The parameter at the end stands for the whole rest of the path, slashes included. */
  readonly hasRestParam?: boolean
  readonly access: Access
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly params?: TObject
  readonly query?: TObject
  readonly body?: TObject
  /** A body may be left out altogether. */
  readonly bodyOptional?: boolean
  /** Instead of JSON the bytes of the body as they come. Without `types` they may be called anything. */
  readonly rawBody?: { readonly bytesMax: number; readonly types?: readonly string[] }
  /** A success may also be the bytes of a file, instead of what `answers` says; or always, if it has a type. */
  readonly rawAnswer?: true | 'image/svg+xml'
  /** An id that stands for nothing is answered like any other. */
  readonly takesAnyId?: boolean
  /**
   * Makes a record: answered with 201 and `Location`, carried out in one transaction, and once for each
   * Idempotency-Key. `withSecret`: its answer is never stored.
   */
  readonly creates?: 'record' | 'withSecret'
  /** Answers with server-sent events instead of JSON, for as long as the client stays. */
  readonly streams?: boolean
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
  if (endpoint.rawBody) codes.add('payload_too_large').add('unsupported_media_type')
  if (endpoint.query) codes.add('validation_failed')
  if (endpoint.params && !endpoint.takesAnyId) codes.add('not_found')
  if (['caller', 'cookie', 'session', 'navigation', 'listing'].includes(endpoint.access))
    codes.add('unauthenticated').add('account_suspended')
  if (endpoint.access === 'guest') codes.add('account_suspended').add('forbidden')
  if (endpoint.access === 'operator') codes.add('unauthenticated').add('account_suspended').add('forbidden')
  if (endpoint.creates) codes.add('validation_failed').add('idempotency_key_reused')
  if (endpoint.creates === 'withSecret') codes.add('secret_not_repeatable')
  // The public endpoints answer without the database too.
  if (endpoint.access !== 'public') codes.add('unavailable')
  return [...codes.add('rate_limited')].toSorted((a, b) => errors[a].status - errors[b].status)
}
