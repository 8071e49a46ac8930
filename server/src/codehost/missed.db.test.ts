// Events that came while nobody was here.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { connect, link, makeRepo, setFault, untilHandled } from '../../test/linked.ts'
import { signIn } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { fetchMissed } from './missed.ts'

const never = new AbortController().signal

test('what was pushed while the server did not take events is sent again when it is back, each once', async () => {
  const server = await startTestServer({ isWorking: true, sandbox: 'shim' })
  const { pool, app, clock } = server
  const ann = await signIn(server, 'ann')
  await connect(server, ann)
  const repo = await makeRepo(server, 'ann/app')
  const body = { name: 'x', type: 'custom', autoDeployEnabled: true }
  const botId = String((await call(server, 'POST /bots', { as: ann, body })).body['id'])
  assert.equal((await link(server, ann, botId, repo)).status, 200)
  await pool.query(`update servers set node_id = 'nod_elsewhere' where bot_id = $1`, [botId])
  await untilHandled(server)
  // More than one page of what was delivered comes after it, and is of no concern.
  const sha = await repo.commit({ a: '2' })
  await until('the push', async () => (await pool.query('select 1 from deployments')).length > 0)
  await pool.query('delete from deployments')
  await pool.query(
    `delete from codehost_events where id in (select guid::text from sandbox_deliveries where event = 'push')`,
  )
  await pool.query(
    `update sandbox_deliveries set status = 'failed', attempts = 1, answer_status = null where event = 'push'`,
  )
  await pool.query(
    `insert into sandbox_deliveries (guid, event, body, status, attempts, answer_status, created_at, attempted_at)
     select gen_random_uuid(), 'ping', '{}', 'delivered', 1, 202, $1, $1 from generate_series(1, 150)`,
    [clock.now()],
  )
  // Taken, but the platform did not hear of it.
  await pool.query(`update sandbox_deliveries set answer_status = 504 where event = 'installation'`)

  const client = await app.codehost()
  assert(client)
  await setFault(server, { kind: 'down', path: '/app/hook/deliveries' })
  await assert.rejects(fetchMissed(app, client, never), { code: 'platform_failed' })
  await setFault(server, undefined)
  assert.equal(await fetchMissed(app, client, never), 1)
  const [deployment] = await until('the deployment', async () => {
    const all = data(await call(server, `GET /bots/${botId}/deployments`, { as: ann }))
    return all.length > 0 && all
  })
  assert.equal(deployment?.['commitSha'], sha)
  assert.equal(await fetchMissed(app, client, never), 0)
})

test('a server that starts looks for what it has missed; one that has no links asks nobody', async () => {
  const server = await startTestServer({ isWorking: true, sandbox: 'shim' })
  assert.deepEqual(await server.pool.query(`select 1 from instance where name = 'codehost_checked_at'`), [])
  const ann = await signIn(server, 'ann')
  await connect(server, ann)
  const botId = String((await call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' } })).body['id'])
  assert.equal((await link(server, ann, botId, await makeRepo(server, 'ann/app'))).status, 200)
  const { pool, clock, app } = server
  await server.close()
  await startTestServer({ pool, clock, dataDir: app.config.dataDir, isWorking: true, sandbox: 'shim' })
  await until('the look', async () => {
    const rows = await pool.query(`select 1 from instance where name = 'codehost_checked_at'`)
    return rows.length > 0
  })
})
