import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../context.ts'
import { DatabaseAway } from '../../db/pool.ts'
import { sendError } from '../../http/errors.ts'
import { AppError } from '../../lib/app-error.ts'
import { guardSandbox } from '../gate.ts'
import { appRoutes } from './app-routes.ts'
import { Deliveries } from './deliveries.ts'
import { Faults } from './faults.ts'
import { gitRoutes, sendText } from './git-routes.ts'
import { hookRoutes } from './hook-routes.ts'
import { apiBase, type Host, sandboxFolder } from './host.ts'
import { readSandboxApp, type SandboxApp } from './identity.ts'
import { manageRoutes } from './manage-routes.ts'
import { oauthRoutes } from './oauth-routes.ts'
import { codehostPages } from './pages.ts'
import { announceLeft } from './push.ts'
import { rateLimitHeaders } from './rate-limit.ts'
import { repositoryRoutes } from './repository-routes.ts'
import { notFound, WireError } from './wire-error.ts'

/** What the rest of the server gets to know of the sandbox. */
export interface SandboxCodehost {
  /** The app's own identity there, as a real code host would have given it out. */
  identity(): Promise<SandboxApp>
  readonly faults: Faults
}

/** `ownUrl` is where programs on this machine reach the server, `eventsUrl` where it takes the events of the code host. */
export interface Addresses {
  readonly ownUrl: () => string
  readonly eventsUrl: () => string
}

/**
 * A stand-in for the code host, with its wire format: good enough to connect, to install the app, to push and to see the
 * statuses of commits, on a machine that reaches no code host. Answers only requests from this machine.
 */
export function sandboxCodehost(server: FastifyInstance, app: App, { ownUrl, eventsUrl }: Addresses): SandboxCodehost {
  const folder = sandboxFolder(app.config)
  const identity = () => readSandboxApp(folder, app.clock.now())
  const deliveries = new Deliveries({ ...app, identity }, eventsUrl)
  const host: Host = { ...app, folder, identity, deliveries, ownUrl }
  const faults = new Faults()

  server.addHook('onListen', (done) => {
    // What an earlier start has left; where there is no app yet, nothing was ever sent.
    if (existsSync(join(folder, 'app.json'))) {
      deliveries.wake()
      announceLeft(host).catch((error: unknown) => app.log.error({ err: error }, 'sandbox: a push was not told of'))
    }
    done()
  })
  server.addHook('preClose', () => deliveries.close())

  server.register(async (scope) => {
    guardSandbox(scope, app)
    manageRoutes(scope, host, faults)
    codehostPages(scope, host)
  })

  server.register(async (scope) => {
    guardSandbox(scope, app)
    scope.addHook('onRequest', async (request, reply) => {
      if (await faults.strike(request, reply)) return reply
    })
    scope.setErrorHandler((error, request, reply) => {
      answerError(app, error, { request, reply })
    })
    scope.register(async (api) => {
      api.addHook('onRequest', (_request, reply, done) => {
        reply.headers(rateLimitHeaders(app.clock.now()))
        done()
      })
      appRoutes(api, host)
      hookRoutes(api, host)
      repositoryRoutes(api, host)
      api.all(`${apiBase}/*`, () => {
        throw notFound()
      })
    })
    oauthRoutes(scope, host)
    gitRoutes(scope, host)
  })
  return { identity, faults }
}

/** In the platform's words: JSON from its API, plain text for git. */
function answerError(
  app: App,
  error: unknown,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): void {
  const told = error instanceof DatabaseAway ? new WireError(503, 'Service unavailable') : error
  const isApi = request.url.startsWith(apiBase)
  if (told instanceof WireError && isApi) void reply.code(told.status).headers(told.headers).send(told.body)
  else if (told instanceof WireError) void sendText(reply.headers(told.headers), told.status, told.message)
  else if (isApi && told instanceof AppError && told.status < 500)
    void reply.code(told.status).send(new WireError(told.status, told.message).body)
  else sendError(app.log, told, { request, reply })
}
