import { lockUser } from '../auth/queries.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import type { Api } from '../http/endpoint.ts'
import { readPage } from '../http/paging.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import { AppError } from '../lib/app-error.ts'
import { newId } from '../lib/ids.ts'
import {
  cancelWaiting,
  countSubscriptions,
  deleteSubscription,
  getDelivery,
  getSubscription,
  insertSubscription,
  listDeliveries,
  listSubscriptions,
  lockSubscription,
  requestAgain,
  updateSubscription,
} from './queries.ts'
import {
  checkSecret,
  checkUrl,
  deliveryJson,
  makeSecret,
  statusChange,
  subscriptionJson,
  testOnce,
} from './receiver.ts'

const subscriptionsMax = 100

export function webhookRoutes(api: Api, app: App, guard: AddressGuard): void {
  const { clock, secrets } = app

  api.handle('createSubscription', async ({ caller, body, db }) => {
    const url = checkUrl(body.url, guard)
    const secret = checkSecret(body.secret) ?? makeSecret()
    await lockUser(db, caller.userId)
    if ((await countSubscriptions(db, caller.userId)) >= subscriptionsMax)
      throw new AppError('limit_reached', {
        detail: `You may have ${subscriptionsMax} subscriptions, and have them. Delete one that is no longer used.`,
      })
    const now = clock.now()
    const subscription = await insertSubscription(db, {
      id: newId('whs', now),
      user_id: caller.userId,
      url,
      events: [...new Set(body.events)],
      secret: secrets.seal(secret, 'webhook'),
      created_at: now,
    })
    return { ...subscriptionJson(subscription), secret }
  })

  api.handle('listSubscriptions', async ({ caller, db }) => ({
    data: (await listSubscriptions(db, caller.userId)).map(subscriptionJson),
  }))

  api.handle('getSubscription', async ({ caller, params, db }) =>
    subscriptionJson(await getSubscription(db, { userId: caller.userId, id: params.id })),
  )

  api.handle('updateSubscription', async ({ caller, params, body, db }) => {
    const key = { userId: caller.userId, id: params.id }
    await getSubscription(db, key) // not found comes before what is wrong with the values
    const secret = checkSecret(body.secret)
    const given = {
      ...(body.url !== undefined && { url: checkUrl(body.url, guard) }),
      ...(body.events && { events: [...new Set(body.events)] }),
      ...(secret !== undefined && { secret: secrets.seal(secret, 'webhook') }),
    }
    return tx(db, async (db) => {
      const before = await lockSubscription(db, key)
      const now = clock.now()
      if (before.status === 'active' && body.status === 'disabled') await cancelWaiting(db, params.id, now)
      const changes = { ...given, ...statusChange(before, body.status, now) }
      const isSame = Object.keys(changes).length === 0
      return subscriptionJson(isSame ? before : await updateSubscription(db, params.id, changes))
    })
  })

  api.handle('deleteSubscription', async ({ caller, params, db }) => {
    await deleteSubscription(db, { userId: caller.userId, id: params.id })
    return { id: params.id, deleted: true as const }
  })

  api.handle('testSubscription', ({ caller, params, db }) =>
    tx(db, async (db) => {
      const subscription = await lockSubscription(db, { userId: caller.userId, id: params.id })
      return deliveryJson(await testOnce(db, { userId: caller.userId, subscription }, clock.now()))
    }),
  )

  api.handle('listDeliveries', async ({ caller, params, query, db }) => {
    await getSubscription(db, { userId: caller.userId, id: params.id })
    return readPage(query, async (range) => {
      const { rows, total } = await listDeliveries(db, params.id, range)
      return { rows: rows.map(deliveryJson), total }
    })
  })

  api.handle('getDelivery', async ({ caller, params, db }) => {
    await getSubscription(db, { userId: caller.userId, id: params.id })
    const { body, ...row } = await getDelivery(db, params.id, params.deliveryId)
    return { ...deliveryJson(row), body }
  })

  api.handle('redeliver', ({ caller, params, db }) =>
    tx(db, async (db) => {
      const { id: subscriptionId } = await getSubscription(db, { userId: caller.userId, id: params.id })
      const { id } = await getDelivery(db, subscriptionId, params.deliveryId)
      if (!(await requestAgain(db, { id, subscriptionId }, clock.now())))
        throw new AppError('invalid_state', { detail: 'This delivery has not ended yet: it is still being tried.' })
      return deliveryJson(await getDelivery(db, subscriptionId, id))
    }),
  )
}
