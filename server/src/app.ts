import { type AddressInfo, isIPv6 } from 'node:net'
import { endpointList } from '@botberth/contract/endpoints.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { meRoutes, operatorRoutes } from './auth/account-routes.ts'
import { Credentials } from './auth/credentials.ts'
import { deviceRoutes } from './auth/device-routes.ts'
import { Gatekeeper } from './auth/gate.ts'
import { authPages } from './auth/pages.ts'
import { authRoutes } from './auth/routes.ts'
import { originOf } from './auth/sessions.ts'
import { Tokens } from './auth/tokens.ts'
import { backupRoutes } from './backups/routes.ts'
import { botRoutes } from './bots/routes.ts'
import type { ChatPlatform } from './chat/client.ts'
import type { CodehostClient } from './codehost/client.ts'
import { eventRoutes } from './codehost/event-routes.ts'
import { endPushes } from './codehost/queries.ts'
import { codehostRoutes } from './codehost/routes.ts'
import { findStoredApp } from './codehost/stored-app.ts'
import type { App } from './context.ts'
import { fileRoutes } from './deployments/file-routes.ts'
import { insertDeployment } from './deployments/queries.ts'
import { deploymentRoutes } from './deployments/routes.ts'
import { Api } from './http/endpoint.ts'
import { pathOf } from './http/errors.ts'
import { isLocalRequest } from './http/local.ts'
import { answerUnrouted, apiBases, isBelow, Paths, routeUrl, toPattern } from './http/paths.ts'
import { makeServer } from './http/server.ts'
import type { Dashboard } from './info/dashboard.ts'
import { dashboardPages, sendMissingPage } from './info/dashboard-pages.ts'
import { homePageRoute, pageRoutes } from './info/pages.ts'
import { probeRoutes } from './info/probes.ts'
import { RequestTimes } from './info/request-times.ts'
import { infoRoutes } from './info/routes.ts'
import { AddressGuard } from './lib/address-guard.ts'
import { listOperatorRoutes } from './list/operator-routes.ts'
import { ownerRoutes } from './list/owner-routes.ts'
import { Profiles } from './list/profiles.ts'
import { listRoutes } from './list/routes.ts'
import { Search } from './list/search.ts'
import { sendListError } from './list/site/error-pages.ts'
import { listPages } from './list/site/pages.ts'
import { Votes } from './list/votes.ts'
import { base as sandboxChat, sandboxChatRoutes } from './sandbox/chat/routes.ts'
import { apiBase as sandboxApi, sandboxFolder } from './sandbox/codehost/host.ts'
import { readSandboxApp } from './sandbox/codehost/identity.ts'
import { sandboxCodehost } from './sandbox/codehost/routes.ts'
import { resumeRenewed } from './servers/expiry.ts'
import { serverRoutes } from './servers/routes.ts'
import { streamRoutes } from './stream/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import type { Work } from './work.ts'

// A bot is gone in milliseconds; a disk that is slow to delete its files is no reason to keep its owner waiting.
const removalPatienceMs = 5_000

interface Options {
  /** What is behind it stands too. */
  readonly isStarted?: () => boolean
  /** Undefined: it has not been built, and a few plain pages stand in for it. */
  readonly dashboard?: Dashboard | undefined
}

/** The whole HTTP side: what is served where, and who is let in. */
export async function buildServer(
  app: App,
  work: Work,
  { isStarted = () => true, dashboard }: Options = {},
): Promise<FastifyInstance> {
  const times = new RequestTimes()
  const server = makeServer(app, {
    unrouted: (request, reply) => answerUnroutedRequest({ paths, gatekeeper }, request, reply),
    answered: (answer) => times.observe(answer),
    errorPage: (error, exchange) =>
      sendListError(app, error, exchange) ?? (dashboard && sendMissingPage(dashboard, error, exchange)),
  })
  const paths = new Paths(server)
  const tokens = new Tokens(app.secrets.keyFor('jwt'), app.clock)
  const credentials = new Credentials(app, tokens)
  await credentials.listen()
  const gatekeeper = new Gatekeeper(app, credentials, server)
  const api = new Api(server, app, (endpoint, request, reply) => gatekeeper.admit(endpoint, request, reply))
  const sandboxClient = { id: '100000000000000001', secret: app.secrets.keyFor('sandbox-client').toString('hex') }

  const walls = () => work.runtime.walls
  probeRoutes(server, app, { times, walls, isStarted, more: work.metrics })
  const accountPages = authPages(server, { app, credentials, gatekeeper })
  pageRoutes(server, app)
  if (dashboard) dashboardPages(server, dashboard)
  else {
    accountPages.addDevicePage()
    homePageRoute(server, app, accountPages.nameOf)
  }
  infoRoutes(api, app)
  const chatPlatformFor = (request: FastifyRequest) => platformFor(app, sandboxClient, request)
  authRoutes(api, server, { app, credentials, gatekeeper, tokens, platformFor: chatPlatformFor })
  deviceRoutes(api, app)
  botRoutes(api, app, {
    renewed: (db, botId) => resumeRenewed(db, botId, app.clock.now()),
    pushesEnded: endPushes,
    deleted: (botId) => work.whenRemoved(botId, removalPatienceMs),
  })
  deploymentRoutes(api, app, work)
  fileRoutes(api, app, work)
  serverRoutes(api, app, {
    ...work,
    deploy: async (db, botId) => {
      await insertDeployment(db, { botId, source: 'power', nodeId: work.nodeId, now: app.clock.now() })
    },
  })
  codehostRoutes(api, app, { credentials })
  eventRoutes(api, app, gatekeeper)
  webhookRoutes(api, app, work.guard)
  backupRoutes(api, app, work)
  streamRoutes(api, app, { ...work, credentials, server })
  meRoutes(api, app, credentials)
  operatorRoutes(api, app, { credentials, walls })
  const parts = { search: new Search(app), votes: new Votes(app), profiles: new Profiles(app, server) }
  const list = { app, server, credentials, gatekeeper, guard: work.guard, platformFor: chatPlatformFor, ...parts }
  listRoutes(api, list)
  ownerRoutes(api, list)
  listOperatorRoutes(api, app)
  listPages(api, server, list)
  if (app.config.isLocal && !app.config.chat) sandboxChatRoutes(server, app, sandboxClient)
  const ownUrl = () => ownUrlOf(server)
  const eventsUrl = () => `${ownUrl()}${apiBases.hosting}/codehost/events`
  if (app.config.isLocal && !app.config.codehost) sandboxCodehost(server, app, { ownUrl, eventsUrl })

  return server
}

/** Before any body is read: whatever no route takes is decided by who asks, then by path and method. */
async function answerUnroutedRequest(
  { paths, gatekeeper }: { paths: Paths; gatekeeper: Gatekeeper },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const isKnownOptions = request.method === 'OPTIONS' && paths.methodsOf(request.url).length > 0
  if (needsCredential(pathOf(request.url)) && !isKnownOptions)
    await gatekeeper.admit({ access: 'caller' }, request, reply)
  answerUnrouted(paths, request, reply)
}

const openPaths = endpointList
  .filter(([, { access }]) => access === 'public' || access === 'open')
  .map(([, endpoint]) => toPattern(routeUrl(endpoint)))

/** Below the hosting API everything but the public and the log-in paths is nobody's business without a credential. */
function needsCredential(path: string): boolean {
  return (
    isBelow(path, apiBases.hosting) &&
    path !== `${apiBases.hosting}/openapi.json` &&
    !openPaths.some((pattern) => pattern.test(path))
  )
}

/** Where programs on this very machine reach it: PUBLIC_URL may be the near end of a tunnel. */
function ownUrlOf(server: FastifyInstance): string {
  const { address, port } = server.server.address() as AddressInfo
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}

/** The platform that is configured, or our own stand-in for requests from this very machine. */
function platformFor(
  app: App,
  client: { id: string; secret: string },
  request: FastifyRequest,
): ChatPlatform | undefined {
  const { config } = app
  if (config.chat) return { ...config.chat, browserUrl: config.chat.apiUrl }
  if (!isLocalRequest(config, request.raw)) return undefined
  const { localAddress = '127.0.0.1', localPort } = request.raw.socket
  return {
    // The very address that this request came in on: PUBLIC_URL may be the near end of a tunnel.
    apiUrl: `http://${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}${sandboxChat}`,
    browserUrl: originOf(app, request) + sandboxChat,
    clientId: client.id,
    clientSecret: client.secret,
  }
}

/**
 * The code host that is configured, or the one that the set-up stored, or our own stand-in on a server that only this
 * machine reaches. Made when it is first asked for. `ownUrl`: where this server reaches itself.
 */
export function makeCodehost(app: Omit<App, 'codehost'>, ownUrl: () => string): App['codehost'] {
  const { config, pool, secrets } = app
  let made: Promise<CodehostClient | undefined> | undefined
  const make = async () => {
    const settings = config.codehost ?? (await findStoredApp(pool.db, secrets))
    if (!settings && !config.isLocal) return undefined
    // Not before somebody needs it: the platform's own library is a tenth of a second of every start.
    const { CodehostClient } = await import('./codehost/client.ts')
    if (settings)
      return new CodehostClient(
        { ...settings, isSandbox: false, guard: new AddressGuard(config.allowedPrivateNets) },
        app,
      )
    const sandbox = { apiUrl: ownUrl() + sandboxApi, isSandbox: true, guard: new AddressGuard(loopbackNets) }
    return new CodehostClient({ ...(await readSandboxApp(sandboxFolder(config), app.clock.now())), ...sandbox }, app)
  }
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined // the database was away, say
      throw error
    })
    return made
  }
}

const loopbackNets = ['127.0.0.0/8', '::1/128']
