import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import { DatabaseAway, Pool } from '../src/db/pool.ts'
import { inPhase } from './phases.ts'
import { databaseUrl, templateName } from './postgres.ts'

export const silentLog = pino({ level: 'silent' })

/** The PostgreSQL that `npm test` started. */
function testPostgresUrl(): string {
  const url = process.env['TEST_DATABASE_URL']
  if (!url) throw new Error('Run this through `npm test`, which starts a PostgreSQL for it.')
  return url
}

/** A database of this test's own, with the schema of the template or, if `empty`, with none. Dropped at the end. */
export async function createTestDatabase({ empty = false } = {}): Promise<string> {
  const name = `botberth_test_${randomBytes(6).toString('hex')}`
  const template = empty ? '' : ` template ${templateName} strategy file_copy`
  await inPhase('database', () => admin(`create database ${name}${template}`))
  after(() => admin(`drop database if exists ${name} with (force)`))
  return databaseUrl(testPostgresUrl(), name)
}

export async function createTestPool(name?: string): Promise<Pool> {
  const url = name === undefined ? await createTestDatabase() : databaseUrl(testPostgresUrl(), name)
  const pool = new Pool({
    connection: { connectionString: url },
    log: silentLog,
    connectionsMax: 5,
  })
  after(() => pool.close())
  await pool.opened
  return pool
}

/** A pool whose database has gone away: nothing listens there. */
export async function createAwayPool(): Promise<Pool> {
  const pool = new Pool({ connection: { host: '127.0.0.1', port: 1, user: 'x', database: 'x' }, log: silentLog })
  after(() => pool.close())
  await assert.rejects(pool.query('select 1'), DatabaseAway)
  return pool
}

async function admin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: testPostgresUrl() })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
