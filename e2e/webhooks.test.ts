// Deliveries by whole servers: real waits, and servers that are killed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { EventSource } from '../server/test/event-source.ts'
import { type Hit, isSignedWith, type Receiver, startReceiver } from '../server/test/receiver.ts'
import { until } from '../server/test/until.ts'
import { type Failpoint, Failpoints } from './failpoints.ts'
import { Host } from './host.ts'
import { makeRandom } from './random.ts'
import { beforeEnd, count, isReady, makeScratch, postmasterPid, stopServer } from './server.ts'

type Json = Record<string, unknown>

interface Attempt {
  readonly number: number
  readonly outcome: string
  readonly at: string
}

interface Watched {
  readonly host: Host
  readonly source: EventSource
}

async function startHost(env: Record<string, string> = {}, options: { dataDisk?: string } = {}): Promise<Watched> {
  const host = new Host(env, options)
  await host.start()
  const source = new EventSource(join(host.dataDir, 'postgres-18'))
  beforeEnd(async () => {
    await source.close()
    await host.close()
  })
  return { host, source }
}

async function subscribe(host: Host, url: string, event = 'server.crashed'): Promise<{ id: string; secret: string }> {
  const { status, body } = await host.ask('POST /webhooks/subscriptions', { url, events: [event] })
  assert.equal(status, 201, JSON.stringify(body))
  return body as { id: string; secret: string }
}

const deliveriesOf = async (host: Host, id: string) =>
  (await host.ask(`GET /webhooks/subscriptions/${id}/deliveries`)).body['data'] as Json[]

const { host, source } = await startHost()
const me = async (of: Host) => String((await of.ask('GET /me')).body['id'])

const scratch = makeScratch('webhooks')
// They mostly wait: for time to pass, and for servers to start.
describe('webhooks', { concurrency: 4 }, () => {
  // -- Real time --

  test('retries come 1, 5 and 25 seconds after the attempt before, and at most half a second later', async () => {
    const answeredAt: number[] = []
    const receiver = await startReceiver(async () => {
      await sleep(100)
      answeredAt.push(performance.now())
      return 500
    })
    const { id, secret } = await subscribe(host, receiver.url('/real'))
    await source.crash(await me(host))
    const hits = () => receiver.at('/real')
    for (const [index, waitMs] of [1_000, 5_000, 25_000].entries()) {
      const endedAt = await until('an attempt to be answered', () => answeredAt[index])
      const next = await until(`attempt ${index + 2}`, () => hits()[index + 1], 500, waitMs)
      assert(next.at - endedAt >= waitMs, `${next.at - endedAt} ms instead of ${waitMs}`)
    }
    await until('the end', async () => (await deliveriesOf(host, id))[0]?.['status'] === 'failed')
    assert.deepEqual(
      hits().map(({ attempt }) => attempt),
      [1, 2, 3, 4],
    )
    assert(hits().every((hit) => isSignedWith(secret, hit)))
    await host.ask(`DELETE /webhooks/subscriptions/${id}`)
  })

  // -- Killed at each point of an attempt --

  /** In this order; between them the server starts again. */
  const killPoints: readonly { point?: Failpoint; isDone?: boolean }[] = [
    { point: 'claiming', isDone: false }, // the event is written down, and no more
    { point: 'claiming', isDone: true }, // claimed, and not sent
    {}, // sent, and not answered
    { point: 'recovering', isDone: false }, // while the start looks after what the last one left
    { point: 'settling', isDone: false }, // answered, and that is lost
    { point: 'settled', isDone: true }, // answered and written down, and the server does not know
  ]

  test('a server that is killed at each point of an attempt loses nothing, and repeats only what it must', async () => {
    const receiver = await startReceiver()
    const clock = join(scratch, 'points-clock')
    writeFileSync(clock, '0')
    const { host: victim, source: events } = await startHost({ BOTBERTH_TEST_CLOCK: clock })
    const failpoints = await Failpoints.open(join(victim.dataDir, 'postgres-18'))
    const { id, secret } = await subscribe(victim, receiver.url('/points'))
    // So that the last attempt is the one that disables it.
    await events.query('update webhook_subscriptions set consecutive_failures = 9')
    const killedAttempts = process.env['SOAK'] ? [1, 2, 3, 4] : [1, 4]
    let isRunning = true
    const run = async () => {
      if (!isRunning) await victim.start()
      isRunning = true
    }
    const kill = async () => {
      await victim.kill()
      isRunning = false
    }
    const hits = () => receiver.at('/points')
    const expected: number[] = []
    const userId = await me(victim)
    const killAt = async (point: Failpoint, isDone: boolean) => {
      const session = await failpoints.untilReached(point)
      await kill()
      await failpoints.release(point, session, { isDone })
    }
    const attemptOnce = async (attempt: number) => {
      writeFileSync(clock, String(attempt * 30_000)) // due
      await run()
      expected.push(attempt)
      await until('the attempt', () => hits().length === expected.length)
    }
    const attemptKilled = async (attempt: number) => {
      for (const { point, isDone = false } of killPoints) {
        if (point) await failpoints.hold(point)
        receiver.answer = () => (point ? 500 : undefined)
        writeFileSync(clock, String(attempt * 30_000))
        if (expected.length === 0 && point === 'claiming' && !isDone) await events.crash(userId)
        await run()
        if (!point || point.startsWith('settl')) expected.push(attempt)
        if (point) await killAt(point, isDone)
        else {
          await until('the request', () => hits().length === expected.length)
          await kill()
        }
        const seen = hits().map(({ attempt }) => attempt)
        assert.deepEqual(seen, expected, point)
      }
    }
    for (const attempt of [1, 2, 3, 4]) {
      if (killedAttempts.includes(attempt)) await attemptKilled(attempt)
      else await attemptOnce(attempt)
      await untilTried(events, attempt)
    }
    await failpoints.close()
    await run()
    assert.equal((await victim.ask(`GET /webhooks/subscriptions/${id}`)).body['status'], 'disabled')
    const [delivery, ...others] = await deliveriesOf(victim, id)
    assert.deepEqual([delivery?.['status'], others], ['failed', []])
    const attempts = (delivery?.['attempts'] ?? []) as Attempt[]
    const interrupted = attempts.filter(({ outcome }) => outcome === 'interrupted')
    assert.equal(interrupted.length, 3 * killedAttempts.length)
    assert.equal(new Set(hits().map(({ delivery, body }) => delivery + body)).size, 1)
    assert(hits().every((hit) => isSignedWith(secret, hit)))
    receiver.answer = () => 200
    await subscribe(victim, receiver.url('/another'))
    await events.crash(userId)
    await until('it to be sent to another', () => receiver.at('/another').length === 1)
    assert.equal((await deliveriesOf(victim, id)).length, 1)
  })

  /** Waits until the outcome of an attempt is written down, and checks when the next one is due. */
  async function untilTried(events: EventSource, attempt: number): Promise<void> {
    const text = `select extract(epoch from next_at - (attempts->-1->>'at')::timestamptz)::float8 * 1000 as gap
    from webhook_deliveries where tries = $1`
    let gap: number | null | undefined
    await until('what came of it', async () => {
      const [row] = await events.query<{ gap: number | null }>(text, [attempt])
      gap = row?.gap
      return row !== undefined
    })
    const waitMs = [1_000, 5_000, 25_000][attempt - 1]
    if (waitMs === undefined) assert.equal(gap, null)
    else assert(typeof gap === 'number' && gap >= waitMs && gap < waitMs + 1_000, `${gap} ms instead of ${waitMs}`)
  }

  // -- Killed at any moment --

  test('servers that are killed at any moment lose nothing', { timeout: 3_000_000 }, async (t) => {
    const random = makeRandom(t)
    const receiver = await startReceiver()
    const kills = count({ short: 10, full: 100 })
    const wanted = count({ short: 1_000, full: 10_000 })
    const clock = join(scratch, 'clock')
    writeFileSync(clock, '0')
    const { host: victim, source: events } = await startHost({ BOTBERTH_TEST_CLOCK: clock })
    const users: { id: string; subscriptions: { id: string; secret: string }[] }[] = []
    for (let index = 0; index < 20; index++) {
      const key = await victim.signUp(`user${index}`)
      const urls = ['a', 'b'].map((name) => receiver.url(`/u${index}/${name}`))
      users.push(
        await victim.as(key, async () => ({
          id: await me(victim),
          subscriptions: [await subscribe(victim, urls[0] ?? ''), await subscribe(victim, urls[1] ?? '')],
        })),
      )
    }
    receiver.answer = (_hit, response) => {
      const chance = random()
      if (chance < 0.6) return 200
      if (chance < 0.9) return 500
      if (chance < 0.95) return undefined // hangs
      response.destroy()
      return undefined
    }
    let [isOver, made, round] = [false, 0, 0]
    const emit = async () => {
      while (!isOver) {
        const user = users[round++ % users.length]
        // Not written down at all while the database is away for a moment: nothing to lose.
        await events.crash(user?.id ?? '').then(
          () => made++,
          () => {},
        )
        await sleep(15)
      }
    }
    const emitting = emit()
    let underWayAtKills = 0
    for (let kill = 0; kill < kills || made * 2 < wanted; kill++) {
      await sleep(50 + random() * 2_950)
      await victim.kill()
      const [row] = await events.query<{ under_way: number }>(
        'select count(*)::integer as under_way from webhook_deliveries where claim_id is not null',
      )
      underWayAtKills += row?.under_way ?? 0
      await victim.start()
    }
    isOver = true
    await emitting
    receiver.answer = () => 200 // what hangs is over in ten seconds, what waits in a moment
    await until(
      'all to end',
      async () => {
        writeFileSync(clock, String(Number(readFileSync(clock, 'utf8')) + 5_000))
        const [row] = await events.query<{ open: number }>(
          "select count(*)::integer as open from webhook_deliveries where status = 'pending'",
        )
        return row?.open === 0
      },
      120_000,
    )
    const [{ lost } = { lost: -1 }] = await events.query<{ lost: number }>(
      `select count(*)::integer as lost from events e join webhook_subscriptions s on s.user_id = e.user_id
     where s.status = 'active' and not exists (
       select from webhook_deliveries d where d.event_id = e.id and d.subscription_id = s.id)`,
    )
    assert.equal(lost, 0)
    const rows = await events.query<{ id: string; subscription_id: string; status: string; interruptions: number }>(
      `select id, subscription_id, status,
       jsonb_array_length(jsonb_path_query_array(attempts, '$[*] ? (@.outcome == "interrupted")')) as interruptions
     from webhook_deliveries`,
    )
    const secrets = new Map(users.flatMap(({ subscriptions }) => subscriptions.map(({ id, secret }) => [id, secret])))
    const twice = checkLedger(receiver.hits, rows, secrets)
    console.log(
      `${kills} kills, ${made} events, ${rows.length} deliveries, ${receiver.hits.length} attempts, ${underWayAtKills} under way when killed, ${twice} accepted twice`,
    )
    assert(rows.length >= wanted && rows.length >= made * 2)
    assert(twice <= underWayAtKills, `${twice} accepted twice, ${underWayAtKills} under way`)

    // Asked to stop instead, again and again under load: nothing is sent twice.
    const stops = count({ short: 2, full: 20 })
    receiver.hits.length = 0
    for (let stop = 0; stop < stops; stop++) {
      await Promise.all(users.map(({ id }) => events.crash(id)))
      await stopServer(victim.running)
      await victim.start()
    }
    await until('all to end', async () => {
      const [row] = await events.query<{ open: number }>(
        "select count(*)::integer as open from webhook_deliveries where status = 'pending'",
      )
      return row?.open === 0
    })
    const sent = receiver.hits.map(({ delivery }) => delivery)
    assert.equal(new Set(sent).size, sent.length)
  })

  // -- Everything around it breaks --

  /** A server with so many receivers of one person, and what to expect of them once all is over. */
  async function startBusy(receiver: Receiver, receivers: number, options: { dataDisk?: string } = {}) {
    const { host, source } = await startHost({}, options)
    const userId = await me(host)
    for (let index = 0; index < receivers; index++) await subscribe(host, receiver.url(`/busy/${index}`))
    /** Returns how many were sent more than once. */
    const untilAllDelivered = async () => {
      const states = () =>
        source.query<{ status: string; count: number }>(
          'select status, count(*)::integer as count from webhook_deliveries group by status',
        )
      const countEvents = () => source.query<{ events: number }>('select count(*)::integer as events from events')
      let events = 0
      let ended: object[] = []
      // Our own connections, too, may not be back yet.
      const isOver = async () => {
        const [found, [counted]] = await Promise.all([states(), countEvents()])
        events = counted?.events ?? 0
        ended = found
        return found.every(({ status }) => status !== 'pending')
      }
      await until('all to end', () => isOver().catch(() => false), 120_000)
      assert(events > 0)
      assert.deepEqual(ended, [{ status: 'delivered', count: events * receivers }])
      const sent = receiver.hits.map(({ delivery }) => delivery)
      assert.equal(new Set(sent).size, events * receivers)
      return sent.length - events * receivers
    }
    return { host, source, userId, untilAllDelivered }
  }

  test('a database that is locked or killed while results come in loses none, and none is sent twice', async (t) => {
    const random = makeRandom(t)
    const receiver = await startReceiver(() => sleep(20, 200))
    const { host, source, userId, untilAllDelivered } = await startBusy(receiver, 10)
    // Some are not written down at all, because the database is away for a moment: nothing to lose.
    const crashes = (events: number) => Promise.allSettled(Array.from({ length: events }, () => source.crash(userId)))
    await crashes(30)
    const locker = new pg.Client({ host: join(host.dataDir, 'postgres-18'), user: 'botberth', database: 'botberth' })
    await locker.connect()
    await locker.query('begin; lock table webhook_deliveries in access exclusive mode')
    await sleep(count({ short: 3_000, full: 10_000 }))
    await locker.query('commit')
    await locker.end()
    assert.equal(await untilAllDelivered(), 0)
    const kills = count({ short: 2, full: 10 })
    for (let kill = 0; kill < kills; kill++) {
      await crashes(10)
      await sleep(random() * 300)
      process.kill(postmasterPid(host.dataDir), 'SIGKILL')
      await until('the database', () => isReady(host.running.url))
      assert.equal(await untilAllDelivered(), 0)
    }
  })

  test('a server without a file descriptor to spare answers, waits and delivers everything', async () => {
    const receiver = await startReceiver(() => sleep(300, 200))
    const { host, source, userId, untilAllDelivered } = await startBusy(receiver, 80)
    const pid = String(host.running.child.pid)
    const taken = readdirSync(`/proc/${pid}/fd`).length
    assert.equal(spawnSync('prlimit', ['--pid', pid, `--nofile=${Math.max(128, taken + 60)}`]).status, 0)
    for (let event = 0; event < 4; event++) await source.crash(userId)
    assert.equal(await untilAllDelivered(), 0)
    // No receiver was blamed for it.
    assert.deepEqual(await source.query('select from webhook_deliveries where tries <> 1'), [])
    // Connections to receivers are kept for a while, and until then there may be no descriptor for a new one of ours.
    await until('an answer', async () => (await host.ask('GET /me').catch(() => undefined))?.status === 200)
  })

  const isRoot = process.getuid?.() === 0

  test('a disk that is full loses nothing, and all goes on when it is not', {
    skip: !isRoot && 'needs root',
  }, async () => {
    const disk = makeScratch('full')
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=300m', 'botberth', disk]).status, 0)
    try {
      const receiver = await startReceiver(() => sleep(200, 200))
      const { host, source, userId, untilAllDelivered } = await startBusy(receiver, 5, { dataDisk: disk })
      const filler = join(disk, 'filler')
      let made = 0
      const crash = () =>
        source.crash(userId).then(
          () => made++,
          () => {}, // told so, and not written down
        )
      for (let event = 0; event < 40; event++) await crash()
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=1M'])
      for (let event = 0; event < 400; event++) await crash()
      assert(made < 440, 'the disk was never full')
      rmSync(filler)
      await until('the server', () => isReady(host.running.url))
      await untilAllDelivered()
      await source.close()
      await stopServer(host.running)
    } finally {
      spawnSync('umount', ['-l', disk])
    }
  })
})

/** What the receiver saw against what the table says. Returns how many were accepted more than once. */
function checkLedger(
  all: readonly Hit[],
  rows: readonly { id: string; subscription_id: string; status: string; interruptions: number }[],
  secrets: ReadonlyMap<string, string>,
): number {
  const ledger = new Map<string, Hit[]>()
  for (const hit of all) ledger.set(hit.delivery, [...(ledger.get(hit.delivery) ?? []), hit])
  let twice = 0
  for (const { id, subscription_id, status, interruptions } of rows) {
    const hits = ledger.get(id) ?? []
    const accepted = hits.filter((hit) => hit.status === 200).length
    if (status === 'delivered') assert(accepted > 0, `${id} was not accepted`)
    else if (interruptions === 0) assert.equal(accepted, 0, `${id} is ${status} and was accepted`)
    if (accepted > 1) twice++
    assert(hits.length <= 4 + interruptions, `${id}: ${hits.length} attempts, ${interruptions} interruptions`)
    assert.equal(new Set(hits.map(({ body }) => body)).size <= 1, true)
    const secret = secrets.get(subscription_id) ?? ''
    for (const [index, hit] of hits.entries()) {
      const before = hits[index - 1]
      assert(isSignedWith(secret, hit))
      assert((before?.attempt ?? 1) <= hit.attempt, `${id}: ${hits.map(({ attempt }) => attempt).join(' ')}`)
      if (before) assert((before.endedAt ?? Number.POSITIVE_INFINITY) <= hit.at, `${id}: two attempts at once`)
    }
  }
  return twice
}
