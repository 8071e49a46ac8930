import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { migrate } from '../src/db/migrate.ts'
import { startEmbeddedPostgres } from '../src/db/postgres/supervisor.ts'
import { fastFolder } from './fast-folder.ts'

export interface TestPostgres {
  /** Of a database that may create others; the migrated template is in place. */
  readonly url: string
  readonly version: string
  stop(): Promise<void>
}

export const templateName = 'botberth_test_template'

// No durability, and no checkpoint within the life of a test cluster.
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '4GB',
  checkpoint_timeout: '1d',
}

/** The given PostgreSQL, or the embedded one without durability, which tests do not need. */
export async function startTestPostgres(given: string | undefined): Promise<TestPostgres> {
  if (given) {
    const version = await prepare(given)
    return { url: given, version, stop: async () => {} }
  }
  const dataDir = mkdtempSync(join(fastFolder(), 'botberth-pg-'))
  chmodSync(dataDir, 0o711) // root's PostgreSQL runs under another user
  const postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: 'silent' }), say: () => {}, settings })
  const { host } = postgres.connection('postgres')
  const url = `postgresql:///postgres?host=${encodeURIComponent(host ?? '')}&user=botberth`
  const version = await prepare(url)
  return {
    url,
    version,
    async stop() {
      await postgres.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function prepare(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`drop database if exists ${templateName}`)
    await client.query(`create database ${templateName}`)
    await migrate({ connectionString: databaseUrl(url, templateName) }, () => {})
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    return `PostgreSQL ${rows[0]?.server_version}`
  } finally {
    await client.end()
  }
}

/** The same server, another database. */
export function databaseUrl(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}
