// What the bot list costs when it is long, beside what it costs when it is short; and what our layers cost beside the
// same SQL behind a bare Fastify, on the long one. Rounds alternate, so that whatever else the machine does hits all alike.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { makeManyListings } from '../server/test/many-listings.ts'
import { Host } from './lib/host.ts'
import { loadAll, requestBytes } from './lib/load.ts'
import { checkLeast, checkRatio, median } from './lib/report.ts'

const sizes = { short: { listings: 1_000, votes: 50_000 }, long: { listings: 100_000, votes: 5_000_000 } }
// Those that have keys; enough that no bucket of statistics updates runs empty.
const keys = 1_000
const rounds = 5
const trials = 5
const seconds = 2
const connections = 20
const costMost = 1.5
const rateLeast = 0.7

const botOf = (n: number) => String(800_000_000_000_000_000n + BigInt(n))
const keyOf = (n: number) => `svc_list_${String(n).padStart(40, '0')}`
const every = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, index) => make(index + 1))
const get = (path: string) => ({ path: `/list/api${path}` })

/** Each in turn, so that one row that is always at hand does not make it look cheap. */
const reads: Record<string, readonly { path: string }[]> = {
  'first page by votes': [get('/bots?limit=12')],
  'first page of new ones': [get('/bots?sort=newest&limit=12')],
  'first page of certified ones': [get('/bots?certified=true&limit=12')],
  'search for one bot': every(500, (n) => get(`/bots?q=w${String(n).padStart(6, '0')}`)),
  'search for a word of every second': [get('/bots?q=half')],
  'search in Korean': [get(`/bots?q=${encodeURIComponent('음악')}`)],
  'a tag by servers': [get('/bots?tag=everything&sort=servers')],
  'one bot': every(1_000, (n) => get(`/bots/${botOf(n)}`)),
  'the main page': [{ path: '/list' }],
  'the page of a search': every(500, (n) => ({ path: `/list/bots?q=w${String(n).padStart(6, '0')}` })),
  'the page of a tag': [{ path: '/list/tags/everything' }],
  'the page of a bot': every(1_000, (n) => ({ path: `/list/bots/${botOf(n)}` })),
}

const stats = every(keys, (n) => ({
  method: 'POST',
  path: '/list/api/bots/stats',
  headers: { 'x-api-key': keyOf(n) },
  body: JSON.stringify({ server_count: n }),
}))
// A bot asks with its own key on its own connection.
const checks = every(keys, (n) => ({
  path: `/list/api/bots/check-vote?user_id=${n}`,
  headers: { 'x-api-key': keyOf((n % connections) + 1) },
}))

const [short, long] = [new Host(), new Host()]
const clients: pg.Client[] = []
let bare: ChildProcess | undefined
try {
  await fill(short, sizes.short)
  await fill(long, sizes.long)
  for (const [name, requests] of Object.entries(reads)) await compareCost(name, requests)
  await compareCost('stats', stats)
  await compareCost('check-vote', checks)
  await compareRates({ 'stats, of the same SQL behind a bare server': stats, 'check-vote, of the same': checks })
} finally {
  bare?.kill()
  await Promise.all(clients.map((client) => client.end()))
  await short.close()
  await long.close()
}

async function fill(host: Host, { listings, votes }: { listings: number; votes: number }): Promise<void> {
  await host.start()
  const client = await connect(host)
  await makeManyListings(client, { listings, now: new Date(), wordsEach: 40 })
  await client.query(
    `insert into list_keys (bot_id, hash, last4, created_at)
     select (800000000000000000 + n)::text, sha256(convert_to('svc_list_' || lpad(n::text, 40, '0'), 'utf8')), '0000', now()
     from generate_series(1, $1::integer) n`,
    [keys],
  )
  // With its indexes made afterwards: minutes less.
  await client.query('alter table votes drop constraint votes_pkey')
  await client.query('drop index votes_of_user')
  await client.query(
    `insert into votes (day, bot_id, chat_user_id, voted_at)
     select (now() at time zone 'utc')::date - n % 30, (800000000000000001 + n % $2)::text, (n / 30)::text, now()
     from generate_series(1, $1::integer) n`,
    [votes, listings],
  )
  await client.query('alter table votes add primary key (day, bot_id, chat_user_id)')
  await client.query('create index votes_of_user on votes (chat_user_id)')
  await client.query(
    `insert into listing_days (bot_id, day, votes) select bot_id, day, count(*) from votes group by bot_id, day`,
  )
  await client.query('vacuum analyze')
  await client.query('checkpoint')
}

async function connect(host: Host): Promise<pg.Client> {
  const client = new pg.Client({ host: join(host.dataDir, 'postgres-18'), user: 'botberth', database: 'botberth' })
  await client.connect()
  clients.push(client)
  return client
}

type Requests = readonly { method?: string; path: string; headers?: Record<string, string>; body?: string }[]

function rate(url: string, requests: Requests): Promise<number> {
  const bytes = requests.map((request) => requestBytes(url, request))
  return loadAll({ url, requests: bytes, connections, seconds })
}

/** Buckets of statistics updates are full again, and nobody is refused. */
async function refill(): Promise<void> {
  for (const client of clients)
    await client.query('update standings set stats_spent_until = null where stats_spent_until is not null')
}

/** How much more a request costs on the long list. The first round only warms up. */
async function compareCost(name: string, requests: Requests): Promise<void> {
  const ratios: number[] = []
  const rates: number[] = []
  for (let round = 0; round <= rounds; round++) {
    await refill()
    const few = await rate(short.url, requests)
    const many = await rate(long.url, requests)
    if (round === 0) continue
    ratios.push(few / many)
    rates.push(many)
  }
  checkRatio(`${name} (${Math.round(median(rates))}/s)`, median(ratios), costMost)
}

/** In several processes of each: one and the same program is up to a third faster or slower from one to the next. */
async function compareRates(kinds: Record<string, Requests>): Promise<void> {
  const ratios: Record<string, number[]> = {}
  for (let trial = 0; trial < trials; trial++) {
    await Promise.all(clients.splice(0).map((client) => client.end()))
    await long.restart()
    await connect(long)
    bare = fork(join(import.meta.dirname, 'lib/bare-list.ts'), [join(long.dataDir, 'postgres-18')])
    const [bareUrl] = (await once(bare, 'message')) as [string]
    for (const [name, requests] of Object.entries(kinds)) {
      const found: number[] = []
      for (let round = 0; round < 4; round++) {
        await refill()
        const ours = await rate(long.url, requests)
        await refill()
        const theirs = await rate(bareUrl, requests)
        if (round > 0) found.push(ours / theirs)
      }
      ratios[name] = [...(ratios[name] ?? []), median(found)]
    }
    bare.kill()
    await once(bare, 'exit')
  }
  for (const [name, found] of Object.entries(ratios)) {
    console.log(`  (${found.map((ratio) => ratio.toFixed(2)).join(' ')})`)
    checkLeast(name, median(found), rateLeast)
  }
}
