import { extname } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { encodingFor } from '../http/encoding.ts'
import { pathOf } from '../http/errors.ts'
import { isBelow } from '../http/paths.ts'
import { AppError } from '../lib/app-error.ts'
import type { Dashboard } from './dashboard.ts'

/** Where its pages begin; the dashboard itself says what is behind each. */
const pagePaths = ['login', 'signed-in', 'bots', 'activity', 'keys', 'webhooks', 'device', 'profile', 'operator']
const otherParts = ['/sandbox', '/auth', '/docs', '/assets', '/list', '/api']

// Its styles are set by its library as it runs; scripts are files of ours. Pictures of people come from their platform.
const pageHeaders = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // A window that it opens to sign in says that it is done through a channel, so nobody needs a way back.
  'cross-origin-opener-policy': 'same-origin',
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The dashboard: the same page at every path of it, and its files. */
export function dashboardPages(server: FastifyInstance, dashboard: Dashboard): void {
  for (const path of ['/', ...pagePaths.flatMap((name) => [`/${name}`, `/${name}/*`])])
    server.get(path, (_request, reply) => sendDashboard(reply, dashboard))

  server.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const { name } = request.params
    if (!dashboard.fileNames.has(name)) throw new AppError('not_found')
    const encoding = encodingFor(request)
    void reply.type(types[extname(name)] ?? 'application/octet-stream').headers({
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
      ...(encoding && { 'content-encoding': encoding }),
    })
    return dashboard.read(name, encoding)
  })
}

/** For people who follow a link to nowhere: the dashboard says so, with a way back. Undefined: it was elsewhere. */
export function sendMissingPage(
  dashboard: Dashboard,
  { code }: AppError,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply | undefined {
  const path = pathOf(request.url)
  if (code !== 'not_found' || request.method !== 'GET' || otherParts.some((part) => isBelow(path, part)))
    return undefined
  return sendDashboard(reply.code(404), dashboard)
}

function sendDashboard(reply: FastifyReply, { page }: Dashboard): FastifyReply {
  return reply.headers(pageHeaders).type('text/html; charset=utf-8').send(page)
}
