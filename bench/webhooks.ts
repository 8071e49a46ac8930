// What a delivery costs beside the bare request that it is, how long an event waits for its first attempt, and what dead
// receivers do to the others. The receiver is a process of its own, the same for all; so is our server, with its own
// PostgreSQL; events are written as the server writes them.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { EventSource } from '../server/test/event-source.ts'
import { Host, until } from './lib/host.ts'
import type { Seen } from './lib/receiver.ts'
import { checkLeast, checkRatio } from './lib/report.ts'

const receivers = 100
const rounds = 4
const eventsEach = 150
const atOnce = 400
const ratePerSecond = 100
const rateSeconds = 20
const dead = 20

const receiver = fork(join(import.meta.dirname, 'lib/receiver.ts'))
const [port] = (await once(receiver, 'message')) as [number]
const url = `http://127.0.0.1:${port}`
const host = new Host()

async function seen(): Promise<Seen> {
  receiver.send('?')
  return (await once(receiver, 'message'))[0] as Seen
}

try {
  await host.start()
  const source = new EventSource(join(host.dataDir, 'postgres-18'), 10)
  const me = String((await host.ask('GET /me'))['id'])
  try {
    await compareRates(source, me)
    await measureWaits(source, me)
    await compareWithDead(source, me)
  } finally {
    await source.close()
  }
} finally {
  await host.close()
  receiver.disconnect()
}

async function subscribe(paths: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const path of paths) {
    const body = { url: url + path, events: ['server.crashed'] }
    ids.push(String((await host.ask('POST /webhooks/subscriptions', body))['id']))
  }
  return ids
}

async function unsubscribe(ids: readonly string[]): Promise<void> {
  for (const id of ids) await host.ask(`DELETE /webhooks/subscriptions/${id}`)
}

/** Alternately, so that whatever else the machine does hits both alike; the first round only warms up. */
async function compareRates(source: EventSource, me: string): Promise<void> {
  const ids = await subscribe(Array.from({ length: receivers }, (_, index) => `/${index}`))
  const ratios: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const [ours, bare] = [await deliver(source, me), await postBare()]
    if (round > 0) ratios.push(ours / bare)
    const label = round === 0 ? 'warm-up' : `round ${round}`
    console.log(`  ${label}: ${Math.round(ours)} deliveries a second, ${Math.round(bare)} bare requests a second`)
  }
  await unsubscribe(ids)
  const middle = ratios.toSorted((a, b) => a - b)[Math.floor((rounds - 1) / 2)] ?? 0
  checkLeast('deliveries, of bare requests', middle, 0.3)
}

/** From the last event, written by this process, to the last result that is written down by the server. */
async function deliver(source: EventSource, me: string): Promise<number> {
  for (let event = 0; event < eventsEach; event++) await source.crash(me)
  const from = performance.now()
  const left = await countOpen(source)
  await untilAllEnded(source)
  return (left * 1000) / (performance.now() - from)
}

async function countOpen(source: EventSource): Promise<number> {
  const [row] = await source.query<{ open: number }>(
    "select count(*)::integer as open from webhook_deliveries where status = 'pending'",
  )
  return row?.open ?? 0
}

async function untilAllEnded(source: EventSource): Promise<void> {
  await until('all deliveries to end', async () => {
    await sleep(50) // asking costs the server's database time
    const rows = await source.query("select from webhook_deliveries where status = 'pending' limit 1")
    return rows.length === 0
  })
}

/** The same bodies over kept-alive connections, as many at once as ours may have under way. */
async function postBare(): Promise<number> {
  const agent = new Agent({ connections: atOnce })
  const body = JSON.stringify({ id: 'evt_x', event: 'server.crashed', lastLog: 'gone', timestamp: new Date() })
  const headers = { 'content-type': 'application/json' }
  let left = receivers * eventsEach
  const from = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) {
        const answer = await request(`${url}/bare`, { dispatcher: agent, method: 'POST', headers, body })
        await answer.body.dump()
      }
    }),
  )
  const rate = (receivers * eventsEach * 1000) / (performance.now() - from)
  await agent.close()
  return rate
}

async function measureWaits(source: EventSource, me: string): Promise<void> {
  const ids = await subscribe(['/timed'])
  await seen()
  await emit(source, { me, perSecond: ratePerSecond, seconds: rateSeconds })
  await untilAllEnded(source)
  const waits = (await seen()).waits.map(({ ms }) => ms)
  await unsubscribe(ids)
  const [p50, p99] = [percentile(waits, 0.5), percentile(waits, 0.99)]
  console.log(`  event to first attempt at ${ratePerSecond} a second: p50 ${p50} ms, p99 ${p99} ms (${waits.length})`)
  if (p50 > 50 || p99 > 500) {
    console.log('  MISSED: p50 at most 50 ms, p99 at most 500 ms')
    process.exitCode = 1
  }
}

async function compareWithDead(source: EventSource, me: string): Promise<void> {
  const healthy = Array.from({ length: receivers - dead }, (_, index) => `/timed/${index}`)
  const measure = async (others: string) => {
    // Those in front: what is made first is looked at first.
    const ids = await subscribe([...Array.from({ length: dead }, (_, index) => `${others}/${index}`), ...healthy])
    await seen()
    await emit(source, { me, perSecond: 2, seconds: rateSeconds })
    await sleep(1_000)
    const { waits } = await seen()
    await unsubscribe(ids)
    return percentile(
      waits.filter(({ path }) => path.startsWith('/timed/')).map(({ ms }) => ms),
      0.95,
    )
  }
  const without = await measure('/alive')
  const withDead = await measure('/dead')
  console.log(`  healthy receivers' p95: ${without} ms, with ${dead} dead of ${receivers} ${withDead} ms`)
  checkRatio('p95 with dead receivers, of without', withDead / without, 1.5)
}

async function emit(
  source: EventSource,
  { me, perSecond, seconds }: { me: string; perSecond: number; seconds: number },
): Promise<void> {
  const from = performance.now()
  const all: Promise<void>[] = []
  for (let event = 0; event < perSecond * seconds; event++) {
    await sleep(Math.max(0, from + (event * 1000) / perSecond - performance.now()))
    all.push(source.crash(me))
  }
  await Promise.all(all)
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN
}
