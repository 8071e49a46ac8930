import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, readCaller } from './caller.ts'
import { apiBase, type Host, type Urls, urlsAt } from './host.ts'
import { linkHeader, type Page, readPage } from './paging.ts'
import { WireError } from './wire-error.ts'

/** One request to the REST API. */
export interface Call {
  readonly host: Host
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly caller: Caller
  readonly urls: Urls
  readonly params: Readonly<Record<string, string>>
}

type Method = 'GET' | 'POST' | 'DELETE'

/** A route whose handler gets to know who asks, and whose result is the answer. */
export function apiRoute(
  scope: FastifyInstance,
  host: Host,
  [method, path]: readonly [Method, string],
  handle: (call: Call) => Promise<unknown>,
): void {
  scope.route({
    method,
    url: apiBase + path,
    handler: async (request, reply) => {
      const caller = await readCaller(host, request.headers.authorization)
      const urls = urlsOf(host, request)
      return reply.send(
        await handle({ host, request, reply, caller, urls, params: request.params as Record<string, string> }),
      )
    },
  })
}

/** As this very request reached us. */
export function urlsOf(host: Host, request: FastifyRequest): Urls {
  return urlsAt(host, `http://${request.headers.host}`)
}

export function pageOf({ request }: Call): Page {
  return readPage(request.query as Record<string, unknown>)
}

export function addLinks({ request, reply }: Call, page: Page, total: number): void {
  const link = linkHeader(`http://${request.headers.host}${request.url}`, page, total)
  if (link !== undefined) reply.header('link', link)
}

/** A JSON object; no body is an empty one. */
export function readObject(request: FastifyRequest): Record<string, unknown> {
  const bytes = request.body as Buffer | undefined
  if (!bytes?.length) return {}
  const value = parse(bytes.toString('utf8'))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new WireError(400, 'Body should be a JSON object')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new WireError(400, 'Problems parsing JSON')
  }
}
