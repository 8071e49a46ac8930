import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { makeOwner, type Person, signIn } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { tx } from '../db/tx.ts'
import { insertDeployment } from './queries.ts'

const day = 86_400_000

async function setUp(): Promise<{ server: TestServer; ann: Person; botId: string }> {
  const server = await startTestServer() // nothing is worked off: what is asked for waits
  const ann = await signIn(server, 'ann')
  const { body } = await call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' } })
  return { server, ann, botId: String(body['id']) }
}

test('a deployment is asked for, and answers with everything the contract names', async () => {
  const { server, ann, botId } = await setUp()
  const { status, body, headers } = await call(server, 'POST /deployments', {
    as: ann,
    body: { botId, source: 'my-cli' },
  })
  assert.equal(status, 202)
  assert.match(String(body['id']), /^dep_[0-9a-z]{26}$/)
  assert.equal(headers.get('location'), `/api/v1/deployments/${String(body['id'])}`)
  const expected = {
    id: body['id'],
    botId,
    source: 'my-cli',
    status: 'queued',
    branch: null,
    commitSha: null,
    commitMsg: null,
    rollbackOf: null,
    error: null,
    steps: [],
    createdAt: server.clock.now().toISOString(),
    startedAt: null,
    finishedAt: null,
    durationMs: null,
  }
  assert.deepEqual(body, expected)
  assert.deepEqual((await call(server, `GET /deployments/${String(body['id'])}`, { as: ann })).body, expected)
  const bot = await call(server, `GET /bots/${botId}`, { as: ann })
  assert.deepEqual(bot.body['lastDeployment'], { id: body['id'], status: 'queued', createdAt: expected.createdAt })
  assert.deepEqual(await server.pool.query('select * from events'), [])
})

test('the same key asks for one deployment', async () => {
  const { server, ann, botId } = await setUp()
  const ask = (more: object) =>
    call(server, 'POST /deployments', { as: ann, body: { botId, ...more }, headers: { 'idempotency-key': 'k' } })
  const [one, two] = [await ask({}), await ask({})]
  assert.equal(one.body['id'], two.body['id'])
  assert.equal((await ask({ source: 'other' })).status, 422)
})

test('wrong bodies and unknown bots are refused', async () => {
  const { server, ann, botId } = await setUp()
  for (const body of [
    {},
    { botId: 5 },
    { botId, source: '' },
    { botId, source: 'a\nb' },
    { botId, source: 'x'.repeat(65) },
  ])
    assert.equal((await call(server, 'POST /deployments', { as: ann, body })).status, 400, JSON.stringify(body))
  assert.equal((await call(server, 'POST /deployments', { as: ann, body: { botId: 'bot_x' } })).status, 404)
})

test('fifty may wait, and the fifty-first is refused', async () => {
  const { server, ann, botId } = await setUp()
  const ask = () => call(server, 'POST /deployments', { as: ann, body: { botId } })
  const answers = await Promise.all(Array.from({ length: 55 }, ask))
  assert.equal(answers.filter(({ status }) => status === 202).length, 50)
  const { body } = await ask()
  assert.equal(body['code'], 'limit_reached')
  const page = await call(server, `GET /bots/${botId}/deployments?limit=10&page=2`, { as: ann })
  assert.deepEqual([page.body['total'], page.body['totalPages'], data(page).length], [50, 5, 10])
  assert.equal((await call(server, `GET /bots/${botId}/deployments?page=0`, { as: ann })).status, 400)
  const rollback = { deploymentId: String(data(page)[0]?.['id']) }
  await server.pool.query('update deployments set is_release_kept = true where id = $1', [rollback.deploymentId])
  assert.equal(
    (await call(server, `POST /bots/${botId}/rollback`, { as: ann, body: rollback })).body['code'],
    'limit_reached',
  )
})

test('a bot that has expired is neither deployed nor rolled back nor started', async () => {
  const { server, ann, botId } = await setUp()
  const { body: made } = await call(server, 'POST /deployments', { as: ann, body: { botId } })
  await server.pool.query("update deployments set is_release_kept = true, status = 'succeeded'")
  server.clock.advance(7 * day)
  const codes = await Promise.all([
    call(server, 'POST /deployments', { as: ann, body: { botId } }),
    call(server, `POST /bots/${botId}/rollback`, { as: ann, body: { deploymentId: made['id'] } }),
    call(server, `POST /servers/${botId}/power`, { as: ann, body: { signal: 'start' } }),
  ])
  assert.deepEqual(
    codes.map(({ status, body }) => [status, body['code']]),
    [
      [409, 'bot_expired'],
      [409, 'bot_expired'],
      [409, 'bot_expired'],
    ],
  )
  await call(server, `POST /bots/${botId}/renew`, { as: ann })
  assert.equal((await call(server, 'POST /deployments', { as: ann, body: { botId } })).status, 202)
})

test('one that waits is canceled at once, one that is over cannot be', async () => {
  const { server, ann, botId } = await setUp()
  const { body } = await call(server, 'POST /deployments', { as: ann, body: { botId } })
  const cancel = () => call(server, `POST /deployments/${String(body['id'])}/cancel`, { as: ann })
  const variables = await call(server, `GET /deployments/${String(body['id'])}/variables`, { as: ann })
  assert.deepEqual([variables.status, variables.body['code']], [409, 'invalid_state'], 'it was not started yet')
  const canceled = await cancel()
  assert.deepEqual([canceled.status, canceled.body['status']], [202, 'canceled'])
  assert.equal((await cancel()).status, 202)
  await server.pool.query("update deployments set status = 'starting'")
  assert.deepEqual((await cancel()).body['code'], 'invalid_state')
})

test('back goes only what has a release, to a bot of one’s own', async () => {
  const { server, ann, botId } = await setUp()
  const other = await call(server, 'POST /bots', { as: ann, body: { name: 'y', type: 'custom' } })
  const { body } = await call(server, 'POST /deployments', { as: ann, body: { botId } })
  const back = (bot: unknown, deploymentId: unknown) =>
    call(server, `POST /bots/${String(bot)}/rollback`, { as: ann, body: { deploymentId } })
  assert.equal((await back(botId, body['id'])).body['code'], 'invalid_state')
  assert.equal((await back(botId, 'dep_x')).status, 404)
  assert.equal((await back(other.body['id'], body['id'])).status, 404)
})

test('logs of a deployment that has not begun are empty', async () => {
  const { server, ann, botId } = await setUp()
  const { body } = await call(server, 'POST /deployments', { as: ann, body: { botId } })
  const logs = await call(server, `GET /deployments/${String(body['id'])}/logs`, { as: ann })
  assert.deepEqual(logs.body, { data: [], before: null, after: null })
  for (const query of ['tail=0', 'tail=x', 'since=yesterday', 'stream=none', 'after=-1'])
    assert.equal(
      (await call(server, `GET /deployments/${String(body['id'])}/logs?${query}`, { as: ann })).status,
      400,
      query,
    )
})

test('a push makes pushes before it that still wait needless, and nothing else', async () => {
  const { server, botId } = await setUp()
  const push = (commitSha: string) => ({ branch: 'main', commitSha, commitMsg: 'x' })
  const add = (source: string, more: object) =>
    tx(server.pool.db, (db) =>
      insertDeployment(db, { botId, source, nodeId: 'elsewhere', now: server.clock.now(), ...more }),
    )
  await add('push', { push: push('a'.repeat(40)) })
  await add('push', {}) // through the API, whatever it calls itself
  await add('push', { push: push('b'.repeat(40)) })
  const rows = await server.pool.query<{ status: string }>('select status from deployments order by id')
  assert.deepEqual(
    rows.map(({ status }) => status),
    ['superseded', 'queued', 'queued'],
  )
})

test('off loopback nothing is deployed without walls, unless the operator says so', async () => {
  for (const [env, code] of [
    [{ PUBLIC_URL: 'https://bots.example' }, 'isolation_missing'],
    [{ PUBLIC_URL: 'https://bots.example', ALLOW_UNISOLATED: 'true' }, undefined],
  ] as const) {
    const server = await startTestServer({ env, isWorking: true, sandbox: 'shim' })
    const owner = await makeOwner(server)
    const { body: bot } = await call(server, 'POST /bots', { as: owner, body: { name: 'x', type: 'custom' } })
    const { body } = await call(server, 'POST /deployments', { as: owner, body: { botId: bot['id'] } })
    const ended = await until('its end', async () => {
      const now = await call(server, `GET /deployments/${String(body['id'])}`, { as: owner })
      return now.body['finishedAt'] !== null && now.body
    })
    assert.equal((ended['error'] as { code: string } | null)?.code, code)
  }
})
