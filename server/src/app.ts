import type { FastifyInstance } from 'fastify'
import type { App } from './context.ts'
import { Api, apiBases, type Gate } from './http/endpoint.ts'
import { pathOf } from './http/errors.ts'
import { answerUnrouted, corsHeaders, Paths } from './http/paths.ts'
import { RateLimit } from './http/rate-limit.ts'
import { makeServer } from './http/server.ts'
import { pageRoutes } from './info/pages.ts'
import { probeRoutes } from './info/probes.ts'
import { infoRoutes } from './info/routes.ts'
import { AppError } from './lib/app-error.ts'

/** The whole HTTP side: what is served where, and who is let in. */
export function buildServer(app: App): FastifyInstance {
  const server = makeServer(app)
  const paths = new Paths(server)
  server.addHook('onRequest', (request, reply, done) => {
    if (request.headers.origin !== undefined && isApi(request.url)) reply.headers(corsHeaders)
    done()
  })

  const publicLimit = new RateLimit({
    name: 'public',
    limit: app.config.publicRateLimit,
    windowMs: 15 * 60_000,
    pool: app.pool,
    clock: app.clock,
  })
  server.addHook('onClose', () => publicLimit.close())

  const gate: Gate = async (endpoint, request, reply) => {
    if (endpoint.access === 'public') await publicLimit.spend(request.ip, reply)
    else throw new AppError('unauthenticated', { headers: { 'www-authenticate': 'Bearer' } })
  }

  const api = new Api(server, gate)
  probeRoutes(server, app)
  pageRoutes(server, app)
  infoRoutes(api, app)

  server.setNotFoundHandler((request, reply) => {
    const isHosting = pathOf(request.url).startsWith(`${apiBases.hosting}/`)
    const isPublic = paths.methodsOf(request.url).length > 0
    if (isHosting && !isPublic) throw new AppError('unauthenticated', { headers: { 'www-authenticate': 'Bearer' } })
    answerUnrouted(paths, request, reply)
  })
  return server
}

function isApi(url: string): boolean {
  return Object.values(apiBases).some((base) => url.startsWith(`${base}/`))
}
