import type { AnswerOf } from '@botberth/contract/endpoints.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Credentials } from '../auth/credentials.ts'
import type { ChatPlatform } from '../chat/client.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import type { Api } from '../http/endpoint.ts'
import { readPage } from '../http/paging.ts'
import { RateLimit } from '../http/rate-limit.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import { AppError } from '../lib/app-error.ts'
import {
  type DeliveryRow,
  deleteVoteSubscription,
  getVoteSubscription,
  listDeliveries,
  lockVoteSubscription,
  type SubscriptionRow,
} from '../webhooks/queries.ts'
import { deliveryJson, subscriptionJson, testOnce } from '../webhooks/receiver.ts'
import { listingJson, ownListingJson, registrationJson } from './json.ts'
import { getWhole, isOwn, listOwn, type Mine } from './listings.ts'
import { editListing, reissueKey, removeListing, transferListing } from './owner.ts'
import { createRegistration, getRegistration, listRegistrations, verifyRegistration } from './registrations.ts'
import { putVoteWebhook } from './vote-webhook.ts'

const minuteMs = 60_000
// Each of them asks the chat platform, which limits us in turn.
const verificationsMax = 30

interface Parts {
  readonly app: App
  readonly server: FastifyInstance
  readonly credentials: Credentials
  readonly guard: AddressGuard
  /** Undefined: there is nobody to ask. */
  readonly platformFor: (request: FastifyRequest) => ChatPlatform | undefined
}

/** Registration, and what owners do with their listings. */
export function ownerRoutes(api: Api, parts: Parts): void {
  registrationRoutes(api, parts)
  listingRoutes(api, parts)
  voteWebhookRoutes(api, parts)
}

/** One for all ways to ask the platform. */
export function verificationLimit({ pool, clock, log }: App, server: FastifyInstance): RateLimit {
  const verifications = new RateLimit({ name: 'verify', limit: verificationsMax, windowMs: minuteMs, pool, clock, log })
  server.addHook('onClose', () => verifications.close())
  return verifications
}

function registrationRoutes(api: Api, { app, server, platformFor }: Parts): void {
  const { pool, clock } = app
  const verifications = verificationLimit(app, server)

  api.handle('createRegistration', async ({ caller, body, db }) => {
    const { botId, applicationId = botId } = body
    return registrationJson(await createRegistration(db, { userId: caller.userId, botId, applicationId }, clock.now()))
  })

  api.handle('listRegistrations', async ({ caller, db }) => ({
    data: (await listRegistrations(db, caller.userId, clock.now())).map(registrationJson),
  }))

  api.handle('getRegistration', async ({ caller, params, db }) =>
    registrationJson(await getRegistration(db, { userId: caller.userId, id: params.id })),
  )

  api.handle('verifyRegistration', async ({ caller, params, request, reply }) => {
    await getRegistration(pool.db, { userId: caller.userId, id: params.id })
    await verifications.spend(() => caller.userId, reply)
    const platform = platformFor(request)
    if (!platform) throw new AppError('login_not_configured')
    const asked = { platform, userId: caller.userId, id: params.id, ip: request.ip }
    const { botId, key } = await verifyRegistration(app, asked)
    return { ...listingJson(await getWhole(pool, botId, clock.now())), key }
  })
}

function listingRoutes(api: Api, { app, credentials }: Parts): void {
  const { pool, clock } = app

  api.handle('listMyListings', async ({ caller }) => ({
    data: (await listOwn(pool, caller.userId, clock.now())).map(ownListingJson),
  }))

  api.handle('updateMyListing', async ({ caller, params, body }) => {
    await editListing(app, { userId: caller.userId, botId: params.botId }, body)
    return ownListingJson(await getWhole(pool, params.botId, clock.now()))
  })

  api.handle('deleteMyListing', async ({ caller, params, request }) => {
    await removeListing({ app, credentials }, { userId: caller.userId, botId: params.botId, ip: request.ip })
    return { id: params.botId, deleted: true as const }
  })

  api.handle('reissueListKey', async ({ caller, params, request }) => {
    const own = { userId: caller.userId, botId: params.botId, ip: request.ip }
    return { botId: params.botId, ...(await reissueKey({ app, credentials }, own)) }
  })

  api.handle('transferListing', async ({ caller, params, body, request }) => {
    const own = { userId: caller.userId, botId: params.botId, ip: request.ip }
    return { botId: params.botId, owner: await transferListing({ app, credentials }, own, body.chatUserId) }
  })
}

function voteWebhookRoutes(api: Api, { app, guard }: Parts): void {
  const { pool, clock } = app

  const own = async (mine: Mine): Promise<string> => {
    if (!(await isOwn(pool.db, mine))) throw new AppError('not_found')
    return mine.botId
  }

  api.handle('putVoteWebhook', async ({ caller, params, body }) => {
    const mine = { userId: caller.userId, botId: params.botId }
    const { subscription, secret } = await putVoteWebhook(app, mine, { wanted: body, guard })
    return { ...voteWebhookJson(subscription), secret }
  })

  api.handle('getVoteWebhook', async ({ caller, params, db }) =>
    voteWebhookJson(await getVoteSubscription(db, await own({ userId: caller.userId, botId: params.botId }))),
  )

  api.handle('deleteVoteWebhook', async ({ caller, params, db }) => {
    const id = await deleteVoteSubscription(db, await own({ userId: caller.userId, botId: params.botId }))
    if (id === undefined) throw new AppError('not_found')
    return { id, deleted: true as const }
  })

  api.handle('testVoteWebhook', async ({ caller, params, db }) => {
    const botId = await own({ userId: caller.userId, botId: params.botId })
    return tx(db, async (db) => {
      const subscription = await lockVoteSubscription(db, botId)
      if (!subscription) throw new AppError('not_found')
      return voteDeliveryJson(await testOnce(db, { userId: caller.userId, subscription }, clock.now()))
    })
  })

  api.handle('listVoteDeliveries', async ({ caller, params, query, db }) => {
    const { id } = await getVoteSubscription(db, await own({ userId: caller.userId, botId: params.botId }))
    return readPage(query, async (range) => {
      const { rows, total } = await listDeliveries(db, id, range)
      return { rows: rows.map(voteDeliveryJson), total }
    })
  })
}

function voteWebhookJson(row: SubscriptionRow): AnswerOf<'getVoteWebhook'> {
  return { ...subscriptionJson(row), events: ['vote'] }
}

function voteDeliveryJson(row: DeliveryRow): AnswerOf<'testVoteWebhook'> {
  return { ...deliveryJson(row), event: row.event === 'ping' ? 'ping' : 'vote' }
}
