import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyReply } from 'fastify'
import { pino } from 'pino'
import { startTestServer, TestClock, type TestServer } from '../../test/api.ts'
import { createAwayPool, createTestPool } from '../../test/db.ts'
import { RateLimit } from './rate-limit.ts'

const paths = ['/health', '/version', '/templates']
const get = (server: TestServer, path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}/api/v1${path}`, { headers })

test('100 requests are answered, the three paths together, and the 101st is refused', async () => {
  const server = await startTestServer()
  for (let count = 1; count <= 100; count++) {
    const answer = await get(server, paths[count % 3] ?? '')
    assert.equal(answer.status, 200, `request ${count}`)
    assert.equal(answer.headers.get('x-ratelimit-remaining'), String(100 - count))
  }
  const refused = await get(server, '/version')
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('content-type'), 'application/problem+json')
  assert.equal(((await refused.json()) as { code: string }).code, 'rate_limited')
  assert.equal(refused.headers.get('retry-after'), '900')
  assert.equal(refused.headers.get('ratelimit-policy'), '"public";q=100;w=900')
  assert.equal(refused.headers.get('ratelimit'), '"public";r=0;t=900')
  assert.equal(refused.headers.get('x-ratelimit-limit'), '100')
  assert.equal(
    refused.headers.get('x-ratelimit-reset'),
    String(Math.ceil((server.clock.now().getTime() + 900_000) / 1000)),
  )
})

test('a window ends 15 minutes after its first request, not earlier', async () => {
  const server = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '2' } })
  const statuses = async (count: number) => {
    const seen: number[] = []
    for (let i = 0; i < count; i++) seen.push((await get(server, '/version')).status)
    return seen
  }
  assert.deepEqual(await statuses(3), [200, 200, 429])
  server.clock.advance(900_000 - 1)
  assert.deepEqual(await statuses(1), [429])
  server.clock.advance(1)
  assert.deepEqual(await statuses(3), [200, 200, 429])
})

test('all replicas count together', async () => {
  const pool = await createTestPool()
  const clock = new TestClock()
  const env = { PUBLIC_RATE_LIMIT: '10' }
  const servers = await Promise.all([1, 2].map(() => startTestServer({ pool, clock, env })))
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, index) => get(servers[index % 2] as TestServer, '/version')),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 10)
  assert.equal(answers.filter(({ status }) => status === 429).length, 20)
})

test('whoever comes while a share is on its way is counted once', async () => {
  const pool = await createTestPool()
  const isSent = Promise.withResolvers<void>()
  const mayCount = Promise.withResolvers<void>()
  const slow = {
    query: async (...args: Parameters<typeof pool.query>) => {
      isSent.resolve()
      await mayCount.promise
      return pool.query(...args)
    },
  } as unknown as typeof pool
  const options = { name: 'x', limit: 40, windowMs: 60_000, clock: new TestClock(), log: pino({ level: 'silent' }) }
  const limit = new RateLimit({ ...options, pool: slow })
  const spend = () => limit.spend(() => 'client', { headers: () => undefined } as unknown as FastifyReply)
  const spent = [spend()]
  await isSent.promise
  for (let i = 0; i < 5; i++) spent.push(spend())
  mayCount.resolve()
  await Promise.all(spent)
  assert.deepEqual(await pool.query("select hits from rate_limits where key = 'x:client'"), [{ hits: 6 }])
  limit.close()
})

test('while the database is away each process counts for itself', async () => {
  const server = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '3' }, pool: await createAwayPool() })
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) statuses.push((await get(server, '/version')).status)
  assert.deepEqual(statuses, [200, 200, 200, 429])
})

test('X-Forwarded-For moves the limit only when a trusted proxy says it, and then to the rightmost stranger', async () => {
  const forwarded = (server: TestServer, value: string) =>
    get(server, '/version', { 'x-forwarded-for': value }).then(({ headers }) => headers.get('x-ratelimit-remaining'))
  const direct = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '10' } })
  assert.equal(await forwarded(direct, '192.0.2.1'), '9')
  assert.equal(await forwarded(direct, '192.0.2.2'), '8')
  const behind = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '10', TRUST_PROXY: '127.0.0.1' } })
  assert.equal(await forwarded(behind, '192.0.2.1'), '9')
  assert.equal(await forwarded(behind, '192.0.2.2'), '9')
  assert.equal(await forwarded(behind, '198.51.100.9, 192.0.2.2'), '8')
  assert.equal(await forwarded(behind, '2001:db8::1'), '9')
  assert.equal(await forwarded(behind, '2001:db8::2'), '8')
})

test('a credential on a public endpoint, even a bad one, is ignored', async () => {
  const server = await startTestServer()
  assert.equal(
    (await get(server, '/version', { 'x-api-key': 'nonsense', authorization: 'Bearer nonsense' })).status,
    200,
  )
})

test('probes are not limited', async () => {
  const server = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '1' } })
  for (let i = 0; i < 5; i++) {
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200)
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
  }
})

test('a database that cannot write, as a standby, is no reason to refuse', async () => {
  const pool = await createTestPool()
  const [database] = await pool.query<{ name: string }>('select current_database() as name')
  await pool.query(`alter database ${database?.name} set default_transaction_read_only = on`)
  const readOnly = await createTestPool(database?.name)
  const server = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '2' }, pool: readOnly })
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) statuses.push((await get(server, '/version')).status)
  assert.deepEqual(statuses, [200, 200, 429])
})

test('a clock that is set back does not stretch the window', async () => {
  const server = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '1' } })
  assert.equal((await get(server, '/version')).status, 200)
  assert.equal((await get(server, '/version')).status, 429)
  server.clock.advance(-5000)
  const behind = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '1' }, pool: server.pool, clock: server.clock })
  assert.equal((await get(behind, '/version')).status, 429, 'on a server whose clock is a little behind')
  server.clock.advance(-3_600_000)
  assert.equal((await get(server, '/version')).status, 200)
  assert.equal((await get(server, '/version')).headers.get('retry-after'), '900')
})
