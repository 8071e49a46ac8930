// What the code host is told of a commit comes in order, whatever the requests do. Nothing works here but the test itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call } from '../../test/call.ts'
import { connect, link, makeRepo, setFault } from '../../test/linked.ts'
import { signIn } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { newId } from '../lib/ids.ts'
import { nextStatusAt, reportNext } from './statuses.ts'

const server = await startTestServer()
const { pool, clock, app } = server
const ann = await signIn(server, 'ann')
await connect(server, ann)
const repo = await makeRepo(server, 'ann/app')
const made = await call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' } })
const botId = String(made.body['id'])
assert.equal((await link(server, ann, botId, repo)).status, 200)

const report = async () => {
  const client = await app.codehost()
  assert(client)
  return reportNext(app, client)
}
const statesOf = async (sha: string) => (await repo.statuses(sha)).map(({ state }) => state)

/** A deployment of a commit, as far as statuses are concerned. */
async function deploy(sha: string) {
  clock.advance(1)
  const id = newId('dep', clock.now())
  await pool.query(
    `insert into deployments (id, bot_id, node_id, source, status, commit_sha, created_at)
     values ($1, $2, 'nod_x', 'push', 'queued', $3, $4)`,
    [id, botId, sha, clock.now()],
  )
  return (status: string) =>
    pool.query('update deployments set status = $2, finished_at = $3 where id = $1', [id, status, clock.now()])
}

test('two deployments of one commit are not reported at once, and the later one speaks for it', async () => {
  const sha = await repo.commit({ a: '1' })
  const end = await deploy(sha)
  await setFault(server, { kind: 'slow', delayMs: 400, path: '/statuses/', times: 1 })
  const first = report()
  await until('the first report to be under way', async () => {
    const rows = await pool.query('select 1 from commit_statuses where commit_sha = $1 and claimed_until is not null', [
      sha,
    ])
    return rows.length > 0
  })
  await end('failed')
  await deploy(sha)
  assert.equal(await report(), false, 'not while another one is on its way')
  await first
  while (await report());
  assert.deepEqual(await statesOf(sha), ['pending', 'pending'], 'no failure: it is being deployed again')
})

test('what may arrive late does not have the last word', async () => {
  const sha = await repo.commit({ a: '2' })
  const end = await deploy(sha)
  await setFault(server, { kind: 'down', path: '/statuses/', times: 1 })
  assert.equal(await report(), true)
  await end('succeeded')
  assert.equal(await report(), true)
  assert.deepEqual(await statesOf(sha), ['success'])
  assert.equal(await report(), false)
  clock.advance(60_000)
  assert.equal(await report(), true)
  assert.deepEqual(await statesOf(sha), ['success', 'success'], 'said once more when the lost one must have come')
  clock.advance(24 * 60 * 60_000)
  assert.equal(await report(), false)
})

test('what a killed server may have told does not have the last word either', async () => {
  const sha = await repo.commit({ a: '3' })
  const end = await deploy(sha)
  await pool.query('update commit_statuses set claimed_until = $2 where commit_sha = $1', [sha, clock.now()])
  assert.equal(await report(), true)
  await end('succeeded')
  assert.equal(await report(), true)
  clock.advance(60_000)
  assert.equal(await report(), true)
  assert.deepEqual(await statesOf(sha), ['pending', 'success', 'success'])
})

test('while the platform takes no more requests none is sent, for whichever commit', async () => {
  const [one, two] = [await repo.commit({ a: '4' }), await repo.commit({ a: '5' })]
  await deploy(one)
  await setFault(server, { kind: 'rate-limited', retryAfterSeconds: 100, path: '/statuses/', times: 1 })
  assert.equal(await report(), true)
  await deploy(two)
  assert.equal(await report(), false)
  assert.equal((await nextStatusAt(pool.db))?.getTime(), clock.now().getTime() + 99_999)
  clock.advance(100_000)
  while (await report());
  assert.deepEqual([await statesOf(one), await statesOf(two)], [['pending'], ['pending']])
})
