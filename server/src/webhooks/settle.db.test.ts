// What is written down of attempts, by several who write at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestPool } from '../../test/db.ts'
import { newId } from '../lib/ids.ts'
import { claimDeliveries, releaseAbandoned } from './claims.ts'
import { countManual } from './queries.ts'
import { type Result, settle, settleSuccesses } from './settle.ts'

const pool = await createTestPool()
const now = new Date()
const nodeId = 'nod_1'
const leaseUntil = new Date(now.getTime() + 27_000)
let made = 0

/** A subscription with so many deliveries that are due. */
async function makeSubscription(deliveries: number): Promise<string> {
  const number = made++
  const [id, userId] = [`sub_${number}`, `usr_${number}`]
  await pool.query("insert into users (id, name, role, created_at, updated_at) values ($1, 'x', 'user', $2, $2)", [
    userId,
    now,
  ])
  await pool.query(
    `insert into webhook_subscriptions (id, user_id, url, events, secret, created_at, last_delivery_at)
     values ($1, $2, 'http://x.example', '{server.crashed}', '', $3, $3)`,
    [id, userId, now],
  )
  await pool.query(
    `insert into events (id, user_id, event, body, created_at) values ($1, $2, 'server.crashed', '{}', $3)`,
    [`evt_${number}`, userId, now],
  )
  await pool.query(
    `insert into webhook_deliveries (id, subscription_id, event_id, epoch, status, next_at, created_at)
     select 'dlv_' || $1::text || '_' || n, $1, $2, 0, 'pending', $3, $3 from generate_series(1, $4::integer) n`,
    [id, `evt_${number}`, now, deliveries],
  )
  return id
}

async function claim(subscriptionId: string, claimId = newId('clm', now)): Promise<(error: Failure) => Result[]> {
  const { claimed } = await claimDeliveries(pool, {
    subscriptionIds: [subscriptionId],
    most: 10,
    claimId,
    nodeId,
    now,
    leaseUntil,
  })
  return (error) => claimed.map(({ delivery_id: id }) => resultOf({ id, claimId, subscriptionId }, error))
}

type Failure = 'connection' | null

function resultOf(of: Pick<Result, 'id' | 'claimId' | 'subscriptionId'>, error: Failure, durationMs = 5): Result {
  const attempt = {
    number: 1,
    trigger: 'schedule' as const,
    at: now.toISOString(),
    durationMs,
    statusCode: error ? null : 200,
    error,
    answer: null,
    outcome: error ? ('failed' as const) : ('succeeded' as const),
  }
  return { ...of, attempt, isManual: false, endedAt: now }
}

const stateOf = async (subscriptionId: string) => {
  const [row] = await pool.query(
    'select consecutive_failures as failures, is_slow as slow, status from webhook_subscriptions where id = $1',
    [subscriptionId],
  )
  return row
}

test('a success beside a failure of the same receiver is not written down before it', async () => {
  const id = await makeSubscription(2)
  await pool.query('update webhook_deliveries set tries = 3 where subscription_id = $1', [id])
  const results = (await claim(id))(null)
  const [first, second] = results as [Result, Result]
  const batch = [first, resultOf(second, 'connection')]
  assert.equal((await settleSuccesses(pool, batch)).size, 0)
  await settle(pool.db, batch)
  assert.deepEqual(await stateOf(id), { failures: 1, slow: false, status: 'active' })
})

test('a success that came late marks the receiver as slow, and one in time as no longer', async () => {
  const id = await makeSubscription(2)
  const [first, second] = (await claim(id))(null) as [Result, Result]
  const late = [resultOf(first, null, 9_000)]
  assert.equal((await settleSuccesses(pool, late)).size, 0)
  assert.equal((await settle(pool.db, late)).get(first.id)?.isSlow, true)
  assert.equal((await stateOf(id))?.['slow'], true)
  assert.equal((await settleSuccesses(pool, [second])).size, 0)
  await settle(pool.db, [second])
  assert.equal((await stateOf(id))?.['slow'], false)
})

test('what was claimed after the list of the living was made is left alone', async () => {
  const id = await makeSubscription(1)
  const before = newId('clm', now)
  const results = (await claim(id, newId('clm', new Date(now.getTime() + 1))))(null)
  assert.equal(await releaseAbandoned(pool, { nodeId, live: [], now, before }), 0)
  assert.equal((await settleSuccesses(pool, results)).size, 1)
})

test('a sweep gives back what nobody works on, and nothing of those that live', async () => {
  const [dead, live] = [await makeSubscription(1), await makeSubscription(1)]
  const [deadClaim, liveClaim] = [newId('clm', now), newId('clm', now)]
  await claim(dead, deadClaim)
  const results = (await claim(live, liveClaim))(null)
  const before = newId('clm', new Date(now.getTime() + 5))
  assert.equal(await releaseAbandoned(pool, { nodeId, live: [liveClaim], now, before }), 1)
  assert.equal((await settleSuccesses(pool, results)).size, 1)
})

test('whoever deletes subscriptions and whoever settles theirs never wait for each other', async () => {
  for (let round = 0; round < 20; round++) {
    const ids = await Promise.all(Array.from({ length: 6 }, () => makeSubscription(4)))
    const results = (await Promise.all(ids.map(async (id) => (await claim(id))('connection')))).flat()
    await Promise.all([
      settle(pool.db, results),
      settle(pool.db, results.toReversed()),
      ...ids.toReversed().map((id) => pool.query('delete from webhook_subscriptions where id = $1', [id])),
    ])
  }
})

test('tests and repeats are counted while they wait and while they are under way', async () => {
  const id = await makeSubscription(3)
  await pool.query('update webhook_deliveries set is_manual = true where subscription_id = $1', [id])
  assert.equal(await countManual(pool.db, id), 3)
  const results = (await claim(id))('connection')
  assert.equal(await countManual(pool.db, id), 3)
  await settle(
    pool.db,
    results.map((result) => ({ ...result, isManual: true })),
  )
  assert.equal(await countManual(pool.db, id), 0)
})
