import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { StartError } from '../lib/data-dir.ts'

interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

const migrationsDir = join(import.meta.dirname, 'migrations')
// Any number that is the same in every version: replicas that start together migrate one after the other.
const lockKey = 7_236_012_984

/** The migrations of this version of the code, in order. Files are `0001_what_it_does.sql`. */
export function readMigrations(folder = migrationsDir): Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
  return names.map((name, index) => {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1])
    if (version !== index + 1) throw new Error(`migration ${name} should be number ${index + 1}`)
    return { version, name, sql: readFileSync(join(folder, name), 'utf8') }
  })
}

/**
 * Brings the schema up to this version of the code, one transaction a migration, and says what it does.
 * A database that is newer than the code is refused: there is no way back.
 */
export async function migrate(
  connection: pg.ClientConfig,
  say: (text: string) => void,
  migrations = readMigrations(),
): Promise<void> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {}) // the statement under way reports it
  await client.connect()
  try {
    await checkVersion(client)
    await client.query('select pg_advisory_lock($1)', [lockKey])
    await client.query(`create table if not exists schema_migrations (
      version integer primary key, name text not null, applied_at timestamptz not null default now()
    )`)
    const { rows } = await client.query<{ version: number; name: string }>(
      'select version, name from schema_migrations order by version',
    )
    checkHistory(rows, migrations)
    for (const migration of migrations.slice(rows.length)) await apply(client, migration, say)
  } finally {
    await client.end() // which also gives the lock back
  }
}

async function checkVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num')
  const version = Number(rows[0]?.server_version_num)
  if (version < 150_000)
    throw new StartError(`Botberth needs PostgreSQL 15 or newer; this is ${Math.floor(version / 10_000)}.`)
}

function checkHistory(applied: readonly { version: number; name: string }[], known: readonly Migration[]): void {
  if (applied.length > known.length) {
    throw new StartError(
      `The database is at schema version ${applied.length}, but this version of Botberth knows only ${known.length}. Use the newer Botberth that it was last used with, or restore a backup.`,
    )
  }
  const stranger = applied.find(({ name }, index) => known[index]?.name !== name)
  if (stranger)
    throw new StartError(`The database has a migration ${stranger.name} that this version of Botberth does not know.`)
}

async function apply(client: pg.Client, { version, name, sql }: Migration, say: (text: string) => void): Promise<void> {
  say(`Updating the database: ${name}`)
  try {
    await client.query('begin')
    await client.query(sql)
    await client.query('insert into schema_migrations (version, name) values ($1, $2)', [version, name])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {}) // the first error is the one that matters
    throw new Error(`migration ${name} failed`, { cause: error })
  }
}
