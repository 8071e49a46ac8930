// Deliveries to real receivers, with the waits between attempts jumped over.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { verify } from '@octokit/webhooks-methods'
import { startTestServer } from '../../test/api.ts'
import { call } from '../../test/call.ts'
import { signIn } from '../../test/people.ts'
import { isSignedWith, startReceiver } from '../../test/receiver.ts'
import { until } from '../../test/until.ts'
import { crash, subscribe, untilAllEnded } from '../../test/webhooks.ts'
import type { Attempt } from '../db/tables.ts'

const server = await startTestServer({
  isWorking: true,
  sandbox: 'shim',
  env: { ALLOWED_PRIVATE_NETS: '127.0.0.0/8' },
})
const receiver = await startReceiver()
let people = 0
/** Events go to all subscriptions of a person: each test has one of its own. */
const somebody = () => signIn(server, `person${people++}`)
const pathOf = (person: { name: string }) => `/${person.name}`

async function setUp(answers: readonly number[] = [200], fields: { events?: string[]; secret?: string } = {}) {
  const person = await somebody()
  const path = pathOf(person)
  const left = [...answers]
  scripts.set(path, () => (left.length > 1 ? (left.shift() ?? 200) : (left[0] ?? 200)))
  const subscription = await subscribe(server, person, { url: receiver.url(path), ...fields })
  return { person, subscription, path, hits: () => receiver.at(path) }
}

const scripts = new Map<string, () => number>()
receiver.answer = ({ path }) => scripts.get(path)?.() ?? 200

/** Makes an attempt and keeps its receiver from answering, until what is returned says with what. */
async function holdAttempt(person: { id: string }, path: string): Promise<(status: number) => void> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const { answer: usual } = receiver
  receiver.answer = (hit, response) => (hit.path === path ? promise : usual(hit, response))
  await crash(server, person)
  await until('the attempt', async () => receiver.at(path).length === 1)
  receiver.answer = usual
  return resolve
}

const attemptsOf = (delivery: Record<string, unknown> | undefined) => (delivery?.['attempts'] ?? []) as Attempt[]

const statuses = async (subscription: { deliveries(): Promise<Record<string, unknown>[]> }) =>
  (await subscription.deliveries()).map(({ status }) => status)

describe('a delivery', () => {
  test('is signed, told apart and byte for byte the same on every attempt', async () => {
    const { person, subscription, hits } = await setUp([500, 500, 500, 200], { secret: 'Schlüssel \u{1F511}' })
    await crash(server, person, 'Ende — \u{1F480} \ud800 <b>\u0000"')
    await untilAllEnded(server)
    assert.deepEqual(
      hits().map(({ attempt }) => attempt),
      [1, 2, 3, 4],
    )
    assert.equal(new Set(hits().map(({ body }) => body)).size, 1)
    assert.equal(new Set(hits().map(({ delivery }) => delivery)).size, 1)
    for (const hit of hits()) {
      assert(isSignedWith(subscription.secret, hit))
      // Somebody else's idea of the same signature.
      assert(await verify(subscription.secret, hit.body, String(hit.headers['x-service-signature'])))
      assert.match(String(hit.headers['user-agent']), /^Botberth\/\d+\.\d+\.\d+$/)
      assert.match(String(hit.headers['content-type']), /^application\/json/)
      assert.match(String(hit.headers['x-service-timestamp']), /^\d{10}$/)
      assert.equal(hit.headers['transfer-encoding'], undefined)
      assert.equal(hit.event, 'server.crashed')
    }
    const { id, event, botId, botName, lastLog, timestamp, ...rest } = JSON.parse(hits()[0]?.body ?? '') as Record<
      string,
      unknown
    >
    assert.deepEqual([event, botId, botName], ['server.crashed', 'bot_x', 'x'])
    assert.equal(lastLog, 'Ende — \u{1F480} \ud800 <b>\u0000"')
    assert.match(String(id), /^evt_/)
    assert.match(String(timestamp), /^\d{4}-.*Z$/)
    assert.deepEqual(rest, {})
    const [delivery] = await subscription.deliveries()
    assert.equal(delivery?.['status'], 'delivered')
    assert.deepEqual(
      attemptsOf(delivery).map(({ number, outcome, statusCode, error }) => [number, outcome, statusCode, error]),
      [
        [1, 'failed', 500, 'http_status'],
        [2, 'failed', 500, 'http_status'],
        [3, 'failed', 500, 'http_status'],
        [4, 'succeeded', 200, null],
      ],
    )
    assert.equal((await subscription.get())['consecutiveFailures'], 0)
  })

  test('succeeds with every 2xx and with nothing else', async () => {
    const person = await somebody()
    const accepted = [200, 201, 202, 204, 226, 299]
    const refused = [300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503]
    const all = await Promise.all(
      [...accepted, ...refused].map(async (status) => {
        scripts.set(`/status/${status}`, () => status)
        return { status, subscription: await subscribe(server, person, { url: receiver.url(`/status/${status}`) }) }
      }),
    )
    await crash(server, person)
    await untilAllEnded(server)
    for (const { status, subscription } of all) {
      assert.deepEqual(await statuses(subscription), [accepted.includes(status) ? 'delivered' : 'failed'], `${status}`)
      assert.equal(receiver.at(`/status/${status}`).length, accepted.includes(status) ? 1 : 4)
    }
  })

  test('does not follow redirects', async () => {
    const person = await somebody()
    const elsewhere = await startReceiver()
    receiver.answer = ({ path }, response) => {
      if (path !== '/redirect') return scripts.get(path)?.() ?? 200
      response.writeHead(302, { location: elsewhere.url() }).end()
      return undefined
    }
    const subscription = await subscribe(server, person, { url: receiver.url('/redirect') })
    await crash(server, person)
    await untilAllEnded(server)
    receiver.answer = ({ path }) => scripts.get(path)?.() ?? 200
    assert.deepEqual(await statuses(subscription), ['failed'])
    assert.equal(elsewhere.hits.length, 0)
  })

  test('is never early: 1, 5 and 25 seconds from the end of the attempt before', async () => {
    const { person, subscription } = await setUp([500])
    await crash(server, person)
    await untilAllEnded(server)
    const [delivery] = await subscription.deliveries()
    const attempts = attemptsOf(delivery)
    const gaps = attempts.slice(1).map(({ at }, index) => {
      const before = attempts[index]
      return Date.parse(at) - Date.parse(before?.at ?? '') - (before?.durationMs ?? 0)
    })
    for (const [index, wanted] of [1_000, 5_000, 25_000].entries()) {
      const gap = gaps[index] ?? 0
      // The duration is rounded and ends with the header of the answer. How late it may be is measured end to end, where
      // no other tests run meanwhile.
      assert(gap >= wanted - 1, `${gap} after attempt ${index + 1}`)
    }
  })

  test('goes to those who asked for its event, with one id of the event for all of them', async () => {
    const { person, path } = await setUp()
    const other = await subscribe(server, person, { url: receiver.url(`${path}/2`), events: ['server.crashed'] })
    await subscribe(server, person, { url: receiver.url(`${path}/3`), events: ['deploy.completed'] })
    const stranger = await setUp()
    await crash(server, person)
    await untilAllEnded(server)
    const [first, second] = [receiver.at(path), receiver.at(`${path}/2`)]
    assert.deepEqual([first.length, second.length, receiver.at(`${path}/3`).length], [1, 1, 0])
    assert.equal(stranger.hits().length, 0)
    assert.equal(first[0]?.body, second[0]?.body)
    assert.notEqual(first[0]?.delivery, second[0]?.delivery)
    assert.deepEqual(await statuses(other), ['delivered'])
  })
})

describe('ten failures', () => {
  test('in a row disable; nine do not, and a success in between begins the count anew', async () => {
    const { person, subscription } = await setUp([])
    let status = 500
    scripts.set(pathOf(person), () => status)
    const fail = async (times: number) => {
      for (let time = 0; time < times; time++) await crash(server, person)
      await untilAllEnded(server)
    }
    await fail(9)
    assert.deepEqual(
      [(await subscription.get())['status'], (await subscription.get())['consecutiveFailures']],
      ['active', 9],
    )
    status = 200
    await fail(1) // a success, this time
    assert.equal((await subscription.get())['consecutiveFailures'], 0)
    status = 500
    await fail(9)
    assert.equal((await subscription.get())['status'], 'active')
    await fail(1)
    const disabled = await subscription.get()
    assert.equal(disabled['status'], 'disabled')
    assert.equal(disabled['consecutiveFailures'], 10)
    assert.equal(disabled['disabledReason'], 'consecutive_failures')
    assert.match(String(disabled['disabledAt']), /Z$/)
    const before = (await subscription.deliveries()).length
    await crash(server, person)
    assert.equal((await subscription.deliveries()).length, before)
  })

  test('at once are one transition, and cancel what waits', async () => {
    const { person, subscription } = await setUp([500])
    for (let time = 0; time < 14; time++) await crash(server, person)
    await until('three tries of each', async () => {
      const [row] = await server.pool.query<{ open: number }>(
        'select count(*)::integer as open from webhook_deliveries where subscription_id = $1 and tries < 3',
        [subscription.id],
      )
      server.clock.advance(1_000)
      return row?.open === 0
    })
    await untilAllEnded(server)
    const ends = await statuses(subscription)
    assert.equal(ends.filter((status) => status === 'failed').length >= 10, true)
    assert.equal(ends.length, 14)
    assert(ends.every((status) => status === 'failed' || status === 'canceled'))
    assert.equal((await subscription.get())['consecutiveFailures'], 10)
    await crash(server, person)
    assert.equal((await statuses(subscription)).length, 14)
  })

  test('from before it was enabled again do not count', async () => {
    const { person, subscription, hits } = await setUp([500])
    for (let time = 0; time < 10; time++) await crash(server, person)
    await untilAllEnded(server)
    assert.equal((await subscription.get())['status'], 'disabled')
    const enabled = await subscription.patch({ status: 'active' })
    assert.deepEqual([enabled['status'], enabled['consecutiveFailures'], enabled['disabledAt']], ['active', 0, null])
    assert.deepEqual(await subscription.patch({ status: 'active' }), enabled)
    const count = hits().length
    await crash(server, person)
    await untilAllEnded(server)
    assert.equal(hits().length, count + 4)
    assert.equal((await subscription.get())['consecutiveFailures'], 1)
  })

  test('a late success after the end is a delivery, and enables nothing', async () => {
    const { person, subscription, path } = await setUp()
    const answer = await holdAttempt(person, path)
    await subscription.patch({ status: 'disabled' })
    answer(200)
    await untilAllEnded(server)
    assert.deepEqual(await statuses(subscription), ['delivered'])
    const { status, disabledReason } = await subscription.get()
    assert.deepEqual([status, disabledReason], ['disabled', 'owner'])
  })

  test('an attempt on its way when it is disabled is not tried again', async () => {
    const { person, subscription, path } = await setUp()
    const answer = await holdAttempt(person, path)
    await subscription.patch({ status: 'disabled' })
    await subscription.patch({ status: 'active' })
    answer(500)
    await untilAllEnded(server)
    const [delivery] = await subscription.deliveries()
    assert.deepEqual([delivery?.['status'], delivery?.['reason']], ['canceled', 'subscription_disabled'])
    assert.equal((await subscription.get())['consecutiveFailures'], 0)
  })
})

describe('by hand', () => {
  test('a test is one attempt that does not count, also while disabled', async () => {
    const { person, subscription, path, hits } = await setUp([500])
    await subscription.patch({ status: 'disabled' })
    const made = await call(server, `POST /webhooks/subscriptions/${subscription.id}/test`, { as: person })
    assert.equal(made.status, 202)
    await untilAllEnded(server)
    assert.equal(hits().length, 1)
    assert.equal(hits()[0]?.event, 'ping')
    assert(isSignedWith(subscription.secret, hits()[0] ?? assert.fail()))
    assert.equal((await subscription.get())['consecutiveFailures'], 0)
    const { body } = await call(
      server,
      `GET /webhooks/subscriptions/${subscription.id}/deliveries/${String(made.body['id'])}`,
      {
        as: person,
      },
    )
    assert.equal(body['status'], 'failed')
    assert.equal(body['body'], hits()[0]?.body)
    assert.equal(attemptsOf(body)[0]?.trigger, 'test')
    scripts.set(path, () => 200)
    await call(server, `POST /webhooks/subscriptions/${subscription.id}/test`, { as: person })
    await untilAllEnded(server)
    assert.equal((await subscription.deliveries())[0]?.['status'], 'delivered')
    assert.equal((await subscription.get())['status'], 'disabled')
  })

  test('a redelivery keeps its id and body, and a success sets the count to 0', async () => {
    const { person, subscription, path, hits } = await setUp([500])
    await crash(server, person)
    await untilAllEnded(server)
    assert.equal((await subscription.get())['consecutiveFailures'], 1)
    const [delivery] = await subscription.deliveries()
    const again = () =>
      call(server, `POST /webhooks/subscriptions/${subscription.id}/deliveries/${String(delivery?.['id'])}/redeliver`, {
        as: person,
      })
    assert.equal((await again()).status, 202)
    await untilAllEnded(server)
    assert.equal(hits().length, 5)
    assert.equal((await subscription.get())['consecutiveFailures'], 1)
    scripts.set(path, () => 200)
    assert.equal((await again()).status, 202)
    await untilAllEnded(server)
    assert.equal(new Set(hits().map((hit) => hit.delivery + hit.body)).size, 1)
    assert.equal((await subscription.get())['consecutiveFailures'], 0)
    assert.deepEqual(await statuses(subscription), ['delivered'])
    scripts.set(path, () => 500)
    await again()
    await untilAllEnded(server)
    assert.deepEqual(await statuses(subscription), ['delivered']) // once and for all
  })

  test('what has not ended cannot be sent again', async () => {
    const { person, subscription } = await setUp([500])
    await crash(server, person)
    const [delivery] = await subscription.deliveries()
    const { status, body } = await call(
      server,
      `POST /webhooks/subscriptions/${subscription.id}/deliveries/${String(delivery?.['id'])}/redeliver`,
      { as: person },
    )
    assert.deepEqual([status, body['code']], [409, 'invalid_state'])
    await untilAllEnded(server)
  })
})

describe('a subscription', () => {
  test('has four attempts under way at most', async () => {
    const { person, path } = await setUp()
    const { answer: usual } = receiver
    receiver.answer = async (hit, response) => {
      if (hit.path !== path) return usual(hit, response)
      await until('four at once', () => receiver.at(path).length >= 4)
      await sleep(30) // in which a fifth would come
      return 200
    }
    await Promise.all(Array.from({ length: 30 }, () => crash(server, person)))
    await untilAllEnded(server)
    receiver.answer = usual
    assert.equal(receiver.at(path).length, 30)
    assert.equal(receiver.most(path), 4)
  })

  test('that is deleted gets nothing more', async () => {
    const { person, subscription, hits } = await setUp([500])
    await crash(server, person)
    await until('the first attempt', async () => hits().length === 1)
    const { status } = await call(server, `DELETE /webhooks/subscriptions/${subscription.id}`, { as: person })
    assert.equal(status, 200)
    const [row] = await server.pool.query('select from webhook_deliveries where subscription_id = $1', [
      subscription.id,
    ])
    assert.equal(row, undefined)
    server.clock.advance(60_000)
    await crash(server, person)
    await untilAllEnded(server)
    assert.equal(hits().length, 1)
  })

  test('with a backlog that is full drops what comes, and says so', async () => {
    const { person, subscription } = await setUp()
    await server.pool.query(
      `insert into webhook_deliveries (id, subscription_id, event_id, epoch, status, next_at, created_at)
       select 'dlv_00' || n, $1, (select id from events limit 1), 0, 'pending', $2, $3 from generate_series(1, 10000) n`,
      [subscription.id, new Date(server.clock.now().getTime() + 20_000), server.clock.now()],
    )
    await crash(server, person)
    const [delivery] = await subscription.deliveries()
    assert.deepEqual([delivery?.['status'], delivery?.['reason']], ['dropped', 'backlog_full'])
    await call(server, `DELETE /webhooks/subscriptions/${subscription.id}`, { as: person })
  })
})

test('an answer is kept up to 4 KiB, as text', async () => {
  const { person, subscription, path } = await setUp()
  const { answer: usual } = receiver
  receiver.answer = (hit, response) => {
    if (hit.path !== path) return usual(hit, response)
    response.writeHead(500).end(Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.alloc(100_000, 'x')]))
    return undefined
  }
  await crash(server, person)
  await untilAllEnded(server)
  receiver.answer = usual
  const [delivery] = await subscription.deliveries()
  const { answer } = attemptsOf(delivery)[0] ?? assert.fail()
  assert.equal(answer?.length, 4096)
  assert(answer.startsWith('\ufffd\ufffdxxx'))
})
