import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createTestDatabase } from '../../test/db.ts'
import { until } from '../../test/until.ts'
import { migrate, readMigrations } from './migrate.ts'

const first = { version: 1, name: '0001_a.sql', sql: 'create table a (id integer)' }
const second = { version: 2, name: '0002_b.sql', sql: 'create table b (id integer)' }

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test('replicas that start together apply each migration once', async () => {
  const connectionString = await createTestDatabase({ empty: true })
  const said: string[] = []
  await Promise.all(Array.from({ length: 5 }, () => migrate({ connectionString }, (text) => said.push(text))))
  assert.equal(said.length, readMigrations().length)
  await migrate({ connectionString }, (text) => said.push(text))
  assert.equal(said.length, readMigrations().length)
})

test('a migration that fails leaves nothing of itself, and the next start goes on from there', async () => {
  const connectionString = await createTestDatabase({ empty: true })
  const broken = { ...second, sql: 'create table b (id integer); select 1/0' }
  await assert.rejects(
    migrate({ connectionString }, () => {}, [first, broken]),
    /0002_b\.sql failed/,
  )
  assert.deepEqual(await query(connectionString, 'select version from schema_migrations'), [{ version: 1 }])
  await migrate({ connectionString }, () => {}, [first, second])
  assert.deepEqual(await query(connectionString, 'select version from schema_migrations order by 1'), [
    { version: 1 },
    { version: 2 },
  ])
})

test('a migration that is killed half-way leaves nothing of itself', async () => {
  const connectionString = await createTestDatabase({ empty: true })
  const long = { ...second, sql: `${second.sql}; select pg_sleep(60)` }
  const migrating = migrate({ connectionString }, () => {}, [first, long])
  const killed = assert.rejects(migrating, /0002_b\.sql failed/)
  await until('it to be under way', async () => {
    const kill =
      "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)' and datname = current_database()"
    return (await query(connectionString, kill)).length === 1
  })
  await killed
  assert.deepEqual(await query(connectionString, "select to_regclass('b') as b"), [{ b: null }])
  await migrate({ connectionString }, () => {}, [first, second])
  assert.deepEqual(await query(connectionString, 'select count(*)::integer as rows from b'), [{ rows: 0 }])
})

test('a schema that is newer than the code is refused', async () => {
  const connectionString = await createTestDatabase({ empty: true })
  await migrate({ connectionString }, () => {}, [first, second])
  await assert.rejects(
    migrate({ connectionString }, () => {}, [first]),
    /schema version 2, but this version of Botberth knows only 1/,
  )
})

test('a schema with another history is refused', async () => {
  const connectionString = await createTestDatabase({ empty: true })
  await migrate({ connectionString }, () => {}, [first])
  await assert.rejects(
    migrate({ connectionString }, () => {}, [{ ...first, name: '0001_other.sql' }]),
    /0001_a\.sql that this version/,
  )
})
