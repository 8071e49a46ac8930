import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ChatPlatform } from '../chat/client.ts'
import type { Config } from '../config.ts'
import type { App } from '../context.ts'
import { isFromDoor } from '../http/door.ts'
import type { Api } from '../http/endpoint.ts'
import { isLocalRequest } from '../http/local.ts'
import { readPage } from '../http/paging.ts'
import { RateLimit } from '../http/rate-limit.ts'
import type { Caller } from '../http/request.ts'
import { clientNet, isInside } from '../lib/address.ts'
import { AppError } from '../lib/app-error.ts'
import { nextVoteAt } from './heat.ts'
import { listingJson } from './json.ts'
import { findRank, getListing, readListings } from './listings.ts'
import type { Profiles } from './profiles.ts'
import { insertReport } from './reports.ts'
import type { Search } from './search.ts'
import { allowanceHeaders, listDays, tellStats } from './stats.ts'
import { findVote, type Votes } from './votes.ts'

const hourMs = 60 * 60_000
// Whoever has more to say can write to the operator.
const reportsMax = 10

interface Parts {
  readonly app: App
  readonly server: FastifyInstance
  readonly search: Search
  readonly votes: Votes
  readonly profiles: Profiles
  /** Undefined: there is nobody to ask. */
  readonly platformFor: (request: FastifyRequest) => ChatPlatform | undefined
}

/** What bots ask with their keys, and what everybody sees of them. */
export function listRoutes(api: Api, parts: Parts): void {
  statsRoutes(api, parts)
  publicRoutes(api, parts)
  visitorRoutes(api, parts)
}

function statsRoutes(api: Api, { app, profiles, platformFor }: Parts): void {
  const { pool, clock, config } = app

  const tell = async (botId: string, serverCount: number, request: FastifyRequest, reply: FastifyReply) => {
    const now = clock.now()
    const isHosted = isFromHosting(config, request)
    const { isCertified, isFirst, allowance } = await tellStats(pool, { botId, serverCount, isHosted }, now)
    if (isFirst) profiles.note(botId, platformFor(request))
    void reply.headers(allowanceHeaders(allowance, now))
    return { message: 'Statistics updated', isCertified }
  }

  api.handle('postStats', ({ caller, body, request, reply }) =>
    tell(listedBot(caller), body.server_count, request, reply),
  )

  api.handle('postStatsOf', ({ caller, params, body, request, reply }) =>
    tell(namedBot(caller, params), body.server_count, request, reply),
  )

  api.handle('checkVote', async ({ caller, query }) => {
    const votedAt = await findVote(pool, { botId: listedBot(caller), chatUserId: query.user_id }, clock.now())
    return { voted: votedAt !== undefined, votedAt: votedAt?.toISOString() ?? null }
  })

  const isVoted = async (botId: string, chatUserId: string) => ({
    voted: (await findVote(pool, { botId, chatUserId }, clock.now())) ? 1 : 0,
  })

  api.handle('checkVoteNumber', ({ caller, query }) => isVoted(listedBot(caller), query.userId))

  api.handle('checkVoteNumberOf', ({ caller, params, query }) => isVoted(namedBot(caller, params), query.userId))
}

/** Nothing is told or taken of any other bot than the key's. */
function namedBot(caller: Caller, { botId }: { botId: string }): string {
  if (botId !== listedBot(caller)) throw new AppError('not_found')
  return botId
}

/** Whether statistics that come with this request certify a bot. Nothing that the sender writes can make it so. */
function isFromHosting(config: Config, { raw, ip }: FastifyRequest): boolean {
  if (isFromDoor(raw.socket)) return true
  return config.hostingIps ? isInside(ip, config.hostingIps) : isLocalRequest(config, raw)
}

function listedBot({ listedBotId }: Caller): string {
  if (listedBotId === undefined) throw new Error('the gate let somebody in who is no listed bot')
  return listedBotId
}

function publicRoutes(api: Api, { app, search, profiles, platformFor }: Parts): void {
  const { pool, clock } = app

  api.handle('listListings', ({ query }) =>
    readPage(query, async (range) => {
      const { botIds, total } = await search.find(query, range)
      return { rows: (await readListings(pool, botIds, clock.now())).map(listingJson), total }
    }),
  )

  api.handle('getListing', async ({ params, request }) => {
    const [row, rank] = await Promise.all([getListing(pool, params.botId, clock.now()), findRank(pool, params.botId)])
    profiles.note(row.bot_id, platformFor(request), row.profile_at)
    return { ...listingJson(row), rank: rank ?? null }
  })

  api.handle('listListingDays', async ({ params, query }) => {
    await getListing(pool, params.botId, clock.now())
    return { data: await listDays(pool, { botId: params.botId, days: query.days ?? 90 }, clock.now()) }
  })
}

/** One for all ways to report. */
export function reportLimit({ pool, clock, log }: App, server: FastifyInstance): RateLimit {
  const reports = new RateLimit({ name: 'reports', limit: reportsMax, windowMs: hourMs, pool, clock, log })
  server.addHook('onClose', () => reports.close())
  return reports
}

function visitorRoutes(api: Api, { app, server, votes }: Parts): void {
  const { clock } = app
  const reports = reportLimit(app, server)

  api.handle('voteForListing', async ({ caller, params }) => {
    const votedAt = await votes.voteAs(caller.userId, params.botId)
    return { voted: true as const, votedAt: votedAt.toISOString(), nextVoteAt: nextVoteAt(votedAt).toISOString() }
  })

  api.handle(
    'reportListing',
    async ({ caller, params: { botId }, body, db }) => {
      const now = clock.now()
      const report = { botId, userId: caller?.userId, reason: body.reason.trim() }
      return { id: await insertReport(db, report, now), botId, createdAt: now.toISOString() }
    },
    (request, reply) => reports.spend(() => clientNet(request.ip), reply),
  )
}
