// What becomes of a delivery whose server stops in the middle of it, and of two servers that share a database.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { signIn } from '../../test/people.ts'
import { startReceiver } from '../../test/receiver.ts'
import { until } from '../../test/until.ts'
import { crash, subscribe, untilAllEnded } from '../../test/webhooks.ts'
import type { Attempt } from '../db/tables.ts'

const options = { isWorking: true, sandbox: 'shim', env: { ALLOWED_PRIVATE_NETS: '127.0.0.0/8' } } as const
const one = await startTestServer(options)
const receiver = await startReceiver()
let people = 0

async function setUp(server: TestServer = one) {
  const person = await signIn(server, `person${people++}`)
  const path = `/${person.name}`
  return { person, path, subscription: await subscribe(server, person, { url: receiver.url(path) }) }
}

/** As if a server had claimed it and died. */
async function abandon(
  { id }: { id: string },
  { nodeId, leaseMs, interruptions = 0 }: { nodeId: string; leaseMs: number; interruptions?: number },
): Promise<void> {
  await one.pool.query(
    `insert into events (id, user_id, event, body, created_at)
     select 'evt_' || $1, user_id, 'server.crashed', '{}', $2 from webhook_subscriptions where id = $1`,
    [id, one.clock.now()],
  )
  await one.pool.query(
    `insert into webhook_deliveries (id, subscription_id, event_id, epoch, status, next_at, created_at, tries,
       interruptions, claim_id, node_id, lease_until)
     values ('dlv_' || $1::text, $1, 'evt_' || $1::text, 0, 'pending', $2, $2, 1, $5, 'clm_0', $3, $4)`,
    [id, one.clock.now(), nodeId, new Date(one.clock.now().getTime() + leaseMs), interruptions],
  )
}

const attemptsOf = async (subscription: { deliveries(): Promise<Record<string, unknown>[]> }) => {
  const [delivery] = await subscription.deliveries()
  return ((delivery?.['attempts'] ?? []) as Attempt[]).map(({ number, outcome }) => [number, outcome])
}

test('what this node had in hand is made again at once, under the same number', async () => {
  const { path, subscription } = await setUp()
  await abandon(subscription, { nodeId: one.work.nodeId, leaseMs: 27_000 })
  await untilAllEnded(one)
  assert.deepEqual(
    receiver.at(path).map(({ attempt }) => attempt),
    [2],
  )
  assert.deepEqual(await attemptsOf(subscription), [
    [2, 'interrupted'],
    [2, 'succeeded'],
  ])
})

test('what another node has in hand is left alone until its lease is over', async () => {
  const { path, subscription } = await setUp()
  await abandon(subscription, { nodeId: 'nod_other', leaseMs: 27_000 })
  await sleep(1_000) // longer than from one sweep to the next
  assert.equal(receiver.at(path).length, 0)
  one.clock.advance(27_000)
  await untilAllEnded(one)
  assert.equal(receiver.at(path).length, 1)
})

test('what is interrupted time and again fails, and does not count', async () => {
  const { path, subscription } = await setUp()
  await abandon(subscription, { nodeId: one.work.nodeId, leaseMs: 27_000, interruptions: 4 })
  await untilAllEnded(one)
  const [delivery] = await subscription.deliveries()
  assert.deepEqual([delivery?.['status'], delivery?.['reason']], ['failed', 'interrupted_repeatedly'])
  assert.equal(receiver.at(path).length, 0)
  assert.equal((await subscription.get())['consecutiveFailures'], 0)
})

test('what comes of an attempt that somebody else has taken over is not written down', async () => {
  const { person, path, subscription } = await setUp()
  let answer = (_status: number): void => {}
  const answered = new Promise<number>((resolve) => (answer = resolve))
  receiver.answer = (hit) => (hit.path === path ? answered : 200)
  await crash(one, person)
  await until('the attempt', async () => receiver.at(path).length === 1)
  await one.pool.query(
    "update webhook_deliveries set claim_id = 'clm_other', node_id = 'nod_other' where subscription_id = $1",
    [subscription.id],
  )
  answer(200)
  await sleep(300)
  receiver.answer = () => 200
  const [delivery] = await subscription.deliveries()
  assert.deepEqual([delivery?.['status'], delivery?.['attempts']], ['pending', []])
  one.clock.advance(30_000) // past the lease of the other
  await untilAllEnded(one)
  assert.deepEqual(
    (await subscription.deliveries()).map(({ status }) => status),
    ['delivered'],
  )
})

test('a clock that was set back leaves nothing waiting', async () => {
  const { path, subscription } = await setUp()
  await abandon(subscription, { nodeId: 'nod_other', leaseMs: 27_000 })
  await one.pool.query(
    'update webhook_deliveries set claim_id = null, lease_until = null, next_at = $2 where subscription_id = $1',
    [subscription.id, new Date(one.clock.now().getTime() + 3_600_000)],
  )
  await until('the attempt', async () => receiver.at(path).length === 1)
})

test('a clock that was set forward has nothing sent twice', async () => {
  const { person, path, subscription } = await setUp()
  const { promise: answered, resolve: answer } = Promise.withResolvers<number>()
  receiver.answer = (hit) => (hit.path === path ? answered : 200)
  await crash(one, person)
  await until('the attempt', async () => receiver.at(path).length === 1)
  one.clock.advance(3_600_000) // far past its own lease
  await sleep(1_000) // longer than from one sweep to the next
  answer(200)
  receiver.answer = () => 200
  await untilAllEnded(one)
  assert.equal(receiver.at(path).length, 1)
  const [delivery] = await subscription.deliveries()
  assert.equal(delivery?.['status'], 'delivered')
})

test('two servers send everything once, and four at a time to each receiver', async () => {
  const two = await startTestServer({ ...options, pool: one.pool, clock: one.clock })
  const all = await Promise.all(Array.from({ length: 4 }, () => setUp()))
  receiver.answer = async () => {
    await sleep(10)
    return 200
  }
  const events = 40
  await Promise.all(
    all.flatMap(({ person }, index) => Array.from({ length: events }, () => crash(index % 2 ? one : two, person))),
  )
  await untilAllEnded(one)
  for (const { path } of all) {
    const hits = receiver.at(path)
    assert.equal(hits.length, events)
    assert.equal(new Set(hits.map(({ delivery }) => delivery)).size, events)
    assert(receiver.most(path) <= 4, `${receiver.most(path)} at once`)
  }
  // Under way when it closes: waited for, and none of them twice.
  const before = receiver.hits.length
  receiver.answer = async () => {
    await sleep(200)
    return 200
  }
  await Promise.all(all.flatMap(({ person }) => Array.from({ length: 5 }, () => crash(one, person))))
  await until('some of them', async () => receiver.hits.length > before)
  await two.close()
  const [{ left } = { left: -1 }] = await one.pool.query<{ left: number }>(
    'select count(*)::integer as left from webhook_deliveries where node_id = $1',
    [two.work.nodeId],
  )
  assert.equal(left, 0)
  await untilAllEnded(one)
  assert.equal(receiver.hits.length, before + 20)
})
