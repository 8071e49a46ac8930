// Events that came while nobody was here.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { connect, link, makeRepo, setFault, untilHandled } from '../../test/linked.ts'
import { signIn } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { AppError } from '../lib/app-error.ts'
import type { CodehostClient } from './client.ts'
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
  await setFault(server, { kind: 'rate-limited', retryAfterSeconds: 600, path: '/attempts' })
  await assert.rejects(fetchMissed(app, client, never), { code: 'platform_failed' })
  await setFault(server, undefined)
  assert.equal(await fetchMissed(app, client, never), undefined, 'as long as the platform has asked for')
  clock.advance(600_000)
  assert.deepEqual(await fetchMissed(app, client, never), { count: 1, isAll: true })
  const [deployment] = await until('the deployment', async () => {
    const all = data(await call(server, `GET /bots/${botId}/deployments`, { as: ann }))
    return all.length > 0 && all
  })
  assert.equal(deployment?.['commitSha'], sha)
  assert.deepEqual(await fetchMissed(app, client, never), { count: 0, isAll: true })
})

test('what cannot be delivered is sent again less and less often, and not for ever', async () => {
  const { app, clock } = await startTestServer()
  const sent: string[] = []
  // Nobody takes the first one, whenever it is sent; the second one we have refused twice.
  const platform = {
    listDeliveries: () => {
      const attempt = { deliveredAt: clock.now(), isTaken: false, isRepeat: true }
      const deliveries = [
        { ...attempt, id: '1', guid: 'lost', isRefused: false },
        { ...attempt, id: '2', guid: 'refused', isRefused: true },
      ]
      return Promise.resolve({ deliveries, next: undefined })
    },
    redeliver: (id: string) => {
      sent.push(id)
      return sent.length === 1 ? Promise.reject(new AppError('platform_failed')) : Promise.resolve(true)
    },
  } as unknown as CodehostClient
  assert.deepEqual(await fetchMissed(app, platform, never), { count: 0, isAll: false }, 'one that fails is not the end')
  const sentAfterMinutes: number[] = []
  for (let minutes = 15; minutes < 3 * 24 * 60; minutes += 15) {
    clock.advance(15 * 60_000)
    const look = await fetchMissed(app, platform, never)
    if (look?.count === 1) sentAfterMinutes.push(minutes)
  }
  assert.deepEqual(sentAfterMinutes, [15, 45, 105, 225, 465, 945])
  assert.deepEqual([...new Set(sent)], ['1'])
})

test('a server that starts looks for what it has missed; one that has no links asks nobody', async () => {
  const first = await startTestServer({ isWorking: true, sandbox: 'shim' })
  const { pool, clock, app } = first
  const restart = () => startTestServer({ pool, clock, dataDir: app.config.dataDir, isWorking: true, sandbox: 'shim' })
  await first.close() // which waits for the look, and each look begins with a note
  assert.deepEqual(await pool.query(`select name from instance where name like 'codehost_%'`), [])
  const server = await restart()
  const ann = await signIn(server, 'ann')
  await connect(server, ann)
  const botId = String((await call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' } })).body['id'])
  assert.equal((await link(server, ann, botId, await makeRepo(server, 'ann/app'))).status, 200)
  await server.close()
  await restart()
  await until('the look', async () => {
    const rows = await pool.query(`select 1 from instance where name = 'codehost_checked_at'`)
    return rows.length > 0
  })
})
