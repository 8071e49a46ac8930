import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createTestDatabase, createTestPool, silentLog } from '../../test/db.ts'
import { until } from '../../test/until.ts'
import { DatabaseAway, Pool } from './pool.ts'
import { tx } from './tx.ts'

test('a session that is ended from outside heals by itself', async () => {
  const url = await createTestDatabase()
  const pool = new Pool({ connection: { connectionString: url }, log: silentLog })
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  await pool.query('select 1')
  await other.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
  await until('a new session', () =>
    pool.query('select 1').catch((error: unknown) => {
      assert(error instanceof DatabaseAway, String(error))
      return undefined
    }),
  )
  assert.equal(pool.isUp, true)
  await other.end()
  await pool.close()
})

test('a database that cannot be reached fails fast and by name', async () => {
  const pool = new Pool({ connection: { host: '127.0.0.1', port: 1, user: 'x', database: 'x' }, log: silentLog })
  await assert.rejects(pool.query('select 1'), DatabaseAway)
  assert.equal(pool.isUp, false)
  await assert.rejects(pool.query('select 1'), DatabaseAway)
  await pool.close()
})

test('an ordinary mistake in a statement is not taken for a database that is away', async () => {
  const pool = await createTestPool()
  await assert.rejects(pool.query('select nonsense'), (error: Error) => !(error instanceof DatabaseAway))
  assert.equal(pool.isUp, true)
})

test('statements are prepared once a connection', async () => {
  const pool = await createTestPool()
  for (let i = 0; i < 3; i++) assert.deepEqual(await pool.query('select $1::int + 1 as n', [i]), [{ n: i + 1 }])
  const prepared = await pool.query<{ n: number }>(
    `select count(*)::int as n from pg_prepared_statements where statement = 'select $1::int + 1 as n'`,
  )
  assert.deepEqual(prepared, [{ n: 1 }])
})

test('a transaction is rolled back when its work throws', async () => {
  const pool = await createTestPool()
  const expires_at = new Date()
  await assert.rejects(
    tx(pool.db, async (db) => {
      await db.insertInto('rate_limits').values({ key: 'a', hits: 1, expires_at }).execute()
      throw new Error('no')
    }),
    /no/,
  )
  assert.deepEqual(await pool.db.selectFrom('rate_limits').select('key').execute(), [])
})
