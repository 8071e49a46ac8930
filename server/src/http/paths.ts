import type { Endpoint } from '@botberth/contract/endpoint.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../lib/app-error.ts'
import { pathOf } from './errors.ts'

export const apiBases = { hosting: '/api/v1', list: '/list/api' } as const

/** An endpoint's URL as the router writes it. */
export function routeUrl({ api, path, hasRestParam }: Pick<Endpoint, 'api' | 'path' | 'hasRestParam'>): string {
  const url = apiBases[api] + path.replace(/\{(\w+)\}/g, ':$1')
  return hasRestParam ? url.replace(/:\w+$/, '*') : url
}

export function isApi(path: string): boolean {
  return isBelow(path, apiBases.hosting) || isBelow(path, apiBases.list)
}

/** Whether a path is valid percent-encoded UTF-8 without a NUL. */
export function isDecodable(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0')
  } catch {
    return false
  }
}

export function isBelow(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`)
}

interface KnownPath {
  readonly pattern: RegExp
  readonly methods: Set<string>
}

/** Which methods each path takes: for 405, for OPTIONS and for CORS. Has to be made before the first route. */
export class Paths {
  readonly #paths = new Map<string, KnownPath>()

  constructor(server: FastifyInstance) {
    server.addHook('onRoute', ({ url, method }) => {
      const known = this.#paths.get(url) ?? { pattern: toPattern(url), methods: new Set(['OPTIONS']) }
      for (const name of [method].flat()) known.methods.add(name)
      this.#paths.set(url, known)
    })
  }

  /** The methods of a path, sorted; none if there is no such path. */
  methodsOf(url: string): string[] {
    const path = pathOf(url)
    const methods = new Set<string>()
    for (const known of this.#paths.values()) {
      if (known.pattern.test(path)) for (const method of known.methods) methods.add(method)
    }
    return [...methods].toSorted()
  }
}

/** A route's URL as a pattern for whole paths. */
export function toPattern(url: string): RegExp {
  const escaped = url.replace(/\/$/, '').replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:[A-Za-z]+/g, '[^/]+').replace(/\*/g, '.*')}/?$`)
}

/** What no route took: another method on a known path, OPTIONS, or a path that does not exist. */
export function answerUnrouted(paths: Paths, request: FastifyRequest, reply: FastifyReply): void {
  const methods = paths.methodsOf(request.url)
  if (methods.length === 0) throw new AppError('not_found')
  const allow = methods.join(', ')
  if (request.method !== 'OPTIONS') throw new AppError('method_not_allowed', { headers: { allow } })
  void reply
    .code(204)
    .headers({ allow, ...(request.headers.origin && preflight(allow)) })
    .send()
}

/** Open to every origin, because nothing here is allowed by a cookie: see `corsHeaders`. */
function preflight(allow: string): Record<string, string> {
  return {
    'access-control-allow-methods': allow,
    'access-control-allow-headers':
      'authorization, content-type, idempotency-key, last-event-id, x-api-key, x-request-id',
    'access-control-max-age': '86400',
  }
}

/** For both APIs. Without `allow-credentials` a browser hands the answer to no page that sent cookies along. */
export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'idempotency-replayed, location, ratelimit, ratelimit-policy, retry-after, x-ignored-fields, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id',
}
