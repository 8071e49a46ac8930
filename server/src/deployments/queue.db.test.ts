// Who is next, when something has to wait. Nothing works here but the test itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call } from '../../test/call.ts'
import { signIn } from '../../test/people.ts'
import { tx } from '../db/tx.ts'
import { newId } from '../lib/ids.ts'
import {
  changeDeployment,
  completeDeployment,
  enterStep,
  failDeployment,
  findUnfinished,
  listNext,
  putOffDeployment,
} from './queries.ts'

const server = await startTestServer()
const { pool, clock } = server
const ann = await signIn(server, 'ann')

async function makeBot() {
  const made = await call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' } })
  return String(made.body['id'])
}

async function insert(botId: string, fields: { status?: string; waitMs?: number; changes?: string[] } = {}) {
  clock.advance(1)
  const id = newId('dep', clock.now())
  const notBefore = fields.waitMs === undefined ? null : new Date(clock.now().getTime() + fields.waitMs)
  await pool.query(
    `insert into deployments (id, bot_id, node_id, source, status, is_push, push_changes, not_before, created_at)
     values ($1, $2, $2, 'push', $3, $4, $5, $6, $7)`,
    [
      id,
      botId,
      fields.status ?? 'queued',
      fields.changes !== undefined,
      fields.changes ?? null,
      notBefore,
      clock.now(),
    ],
  )
  return id
}

const nextOf = async (botId: string) => (await listNext(pool.db, botId, clock.now())).map(({ id }) => id)
const workOf = async (id: string) => {
  const work = await findUnfinished(pool.db, id)
  assert(work)
  return work
}
const stateOf = async (id: string) => {
  const [row] = await pool.query<{ status: string; push_changes: string[] | null; code: string | null }>(
    `select status, push_changes, error ->> 'code' as code from deployments where id = $1`,
    [id],
  )
  return row
}

test('a deployment that waits holds up nobody, and what is under way comes first', async () => {
  const botId = await makeBot()
  const waiting = await insert(botId, { waitMs: 60_000 })
  assert.deepEqual(await nextOf(botId), [waiting], 'its time is known')
  const behind = await insert(botId)
  assert.deepEqual(await nextOf(botId), [behind])
  clock.advance(60_000)
  assert.deepEqual(await nextOf(botId), [waiting], 'in order when it is due')
  await pool.query(`update deployments set status = 'starting' where id = $1`, [behind])
  assert.deepEqual(await nextOf(botId), [behind], 'what a killed server was at is taken up first')
})

test('what was overtaken while it waited is not deployed over what is newer', async () => {
  const botId = await makeBot()
  const waiting = await insert(botId, { waitMs: 60_000, changes: ['a'] })
  const done = await insert(botId, { status: 'starting' })
  const later = await insert(botId)
  const work = await workOf(done)
  await tx(pool.db, (db) => completeDeployment(db, work, clock.now()))
  const states = await Promise.all([waiting, done, later].map(stateOf))
  assert.deepEqual(
    states.map((row) => [row?.status, row?.code]),
    [
      ['superseded', 'overtaken'],
      ['succeeded', null],
      ['queued', null],
    ],
  )
})

test('what somebody asked for is done all the same, unless it would undo a rollback', async () => {
  const botId = await makeBot()
  const target = await insert(botId, { status: 'succeeded' })
  const asked = await insert(botId, { waitMs: 60_000 })
  const done = await insert(botId, { status: 'starting' })
  const work = await workOf(done)
  await tx(pool.db, (db) => completeDeployment(db, work, clock.now()))
  assert.equal((await stateOf(asked))?.status, 'queued')
  const back = await insert(botId, { status: 'starting' })
  await pool.query('update deployments set rollback_of = $1 where id = $2', [target, back])
  const rollback = await workOf(back)
  await tx(pool.db, (db) => completeDeployment(db, rollback, clock.now()))
  assert.equal((await stateOf(asked))?.code, 'overtaken')
})

test('one that is to be canceled enters no further step, unless it is being started', async () => {
  const botId = await makeBot()
  const id = await insert(botId, { status: 'building' })
  const enter = () => enterStep(pool.db, id, { status: 'starting', steps: '[]' })
  await changeDeployment(pool.db, id, { is_cancel_wanted: true })
  assert.equal(await enter(), false)
  await changeDeployment(pool.db, id, { status: 'starting' })
  assert.equal(await enter(), true)
})

test('a failure is written down whatever was printed last', async () => {
  const id = await insert(await makeBot(), { status: 'building' })
  const error = { code: 'build_failed', message: 'x', lastLog: 'a\0b \ud83d' }
  assert(await failDeployment(pool.db, id, { status: 'failed', error, now: clock.now() }))
  const [row] = await pool.query<{ error: typeof error }>('select error from deployments where id = $1', [id])
  assert.equal(row?.error.lastLog, 'a\ufffdb \ufffd')
})

test('a push that is put off gives way to a newer one that waits already, which brings along what it changed', async () => {
  const botId = await makeBot()
  const older = await insert(botId, { status: 'fetching', changes: ['a'] })
  const newer = await insert(botId, { changes: ['b'] })
  const times = { until: new Date(clock.now().getTime() + 60_000), now: clock.now() }
  const work = await workOf(older)
  await tx(pool.db, (db) => putOffDeployment(db, work, times))
  assert.equal((await stateOf(older))?.status, 'superseded')
  assert.deepEqual((await stateOf(newer))?.push_changes?.toSorted(), ['a', 'b'])
  const alone = await workOf(newer)
  await tx(pool.db, (db) => putOffDeployment(db, alone, times))
  assert.equal((await stateOf(newer))?.status, 'queued')
  assert.deepEqual(await listNext(pool.db, botId, clock.now()), [{ id: newer, bot_id: botId, not_before: times.until }])
})
