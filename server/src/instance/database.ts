import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { migrate, readMigrations } from '../db/migrate.ts'
import { StartError } from '../lib/data-dir.ts'

/** What was written down of a database beside the rows of its tables, which are a file each. */
export interface DatabaseFacts {
  /** Their names: the tables are those that they make. */
  readonly migrations: readonly string[]
  /** Each after those that it refers to. */
  readonly tables: readonly TableFacts[]
  readonly sequences: readonly { readonly name: string; readonly value: string; readonly isCalled: boolean }[]
}

interface TableFacts {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: number
}

// Texts mean the same to every PostgreSQL, whatever its settings.
const settings =
  "set datestyle = 'ISO'; set intervalstyle = 'postgres'; set extra_float_digits = 3; set timezone = 'UTC'"
const migrationsTable = 'schema_migrations'

/** All of it as it is at one moment, as files of the folder. */
export function dumpDatabase(connection: pg.ClientConfig, folder: string): Promise<DatabaseFacts> {
  return withClient(connection, async (client) => {
    await checkUnused(client)
    await client.query('begin isolation level repeatable read read only')
    const applied = await client.query<{ name: string }>(`select name from ${migrationsTable} order by version`)
    const tables: TableFacts[] = []
    for (const { name, columns } of await listTables(client)) {
      const rows = client.query(copyTo(`copy ${nameOf(name)} (${columns.map(nameOf).join(', ')}) to stdout`))
      await pipeline(rows, createWriteStream(join(folder, name), { mode: 0o600 }))
      tables.push({ name, columns, rows: rows.rowCount })
    }
    const sequences = await readSequences(client)
    await client.query('commit')
    return { migrations: applied.rows.map(({ name }) => name), tables, sequences }
  })
}

/** Another server on the same database would go on changing it, and the files that belong to it. */
async function checkUnused(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    "select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = 'botberth'",
  )
  if ((rows[0]?.count ?? 0) > 0) throw new StartError('A server is using this database. Stop it first.')
}

/** Refuses one that has rows, unless they are of the same restore, which was killed. */
export function checkEmpty(connection: pg.ClientConfig, restoreId: string): Promise<void> {
  return withClient(connection, async (client) => {
    const full = await listFull(client)
    if (full.length > 0 && (await readRestoreId(client)) !== restoreId)
      throw new StartError('The database is not empty: an instance is restored into an empty one only.')
  })
}

export function checkKnown({ migrations }: DatabaseFacts): void {
  const known = readMigrations().map(({ name }) => name)
  if (migrations.length > known.length || migrations.some((name, index) => known[index] !== name))
    throw new StartError('The backup was made by a newer Botberth. Restore it with that one, or a still newer one.')
}

/** All of it or nothing. Its schema is that of the time of the backup: the next start brings it up to date. */
export async function loadDatabase(
  connection: pg.ClientConfig,
  { folder, facts, restoreId }: { folder: string; facts: DatabaseFacts; restoreId: string },
): Promise<void> {
  await migrate(connection, () => {}, readMigrations().slice(0, facts.migrations.length))
  await withClient(connection, async (client) => {
    await client.query('begin')
    const full = await listFull(client)
    if (full.length > 0) await client.query(`truncate ${full.map(nameOf).join(', ')} cascade`)
    for (const table of facts.tables) await loadTable(client, table, folder)
    for (const { name, value, isCalled } of facts.sequences)
      await client.query('select setval($1::regclass, $2, $3)', [nameOf(name), value, isCalled])
    await client.query(
      `insert into instance (name, value) values ('restore_id', $1) on conflict (name) do update set value = excluded.value`,
      [restoreId],
    )
    await client.query('commit')
    await client.query('analyze')
  })
}

/** What triggers write was written when the rows were new. */
async function loadTable(client: pg.Client, { name, columns, rows }: TableFacts, folder: string): Promise<void> {
  const table = nameOf(name)
  await client.query(`alter table ${table} disable trigger user`)
  const into = client.query(copyFrom(`copy ${table} (${columns.map(nameOf).join(', ')}) from stdin`))
  await pipeline(createReadStream(join(folder, name)), into)
  await client.query(`alter table ${table} enable trigger user`)
  if (into.rowCount !== rows) throw new Error(`${name} has ${into.rowCount} rows instead of ${rows}`)
}

async function withClient<T>(connection: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {}) // the statement under way reports it
  try {
    await client.connect()
  } catch (error) {
    throw new StartError(`The database cannot be used: ${(error as Error).message}`, { cause: error })
  }
  try {
    await client.query(settings)
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Those whose rows last, each after the ones that it refers to, without the columns that follow from others. */
async function listTables(client: pg.Client): Promise<Omit<TableFacts, 'rows'>[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; needs: string[] }>(
    `select c.relname as name,
       array(select attname::text from pg_attribute
         where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns,
       array(select f.relname::text from pg_constraint k join pg_class f on f.oid = k.confrelid
         where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> k.conrelid) as needs
     from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
       and c.relname <> $1
     order by c.relname`,
    [migrationsTable],
  )
  const sorted: typeof rows = []
  for (let left = rows; left.length > 0; ) {
    const waiting = new Set(left.map(({ name }) => name))
    const ready = left.filter(({ needs }) => !needs.some((name) => waiting.has(name)))
    if (ready.length === 0) throw new Error(`tables refer to each other in a circle: ${[...waiting].join(', ')}`)
    sorted.push(...ready)
    left = left.filter((table) => !ready.includes(table))
  }
  return sorted.map(({ name, columns }) => ({ name, columns }))
}

/** Of those, the ones that have rows. */
async function listFull(client: pg.Client): Promise<string[]> {
  const full: string[] = []
  for (const { name } of await listTables(client)) {
    const { rowCount } = await client.query(`select 1 from ${nameOf(name)} limit 1`)
    if (rowCount !== 0) full.push(name)
  }
  return full
}

async function readRestoreId(client: pg.Client): Promise<string | undefined> {
  const { rows: tables } = await client.query<{ found: boolean }>("select to_regclass('instance') is not null as found")
  if (!tables[0]?.found) return undefined
  const { rows } = await client.query<{ value: string }>("select value from instance where name = 'restore_id'")
  return rows[0]?.value
}

async function readSequences(client: pg.Client): Promise<DatabaseFacts['sequences']> {
  const { rows } = await client.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'S' order by 1",
  )
  const sequences: { name: string; value: string; isCalled: boolean }[] = []
  for (const { name } of rows) {
    const { rows: found } = await client.query<{ value: string; is_called: boolean }>(
      `select last_value::text as value, is_called from ${nameOf(name)}`,
    )
    const [state] = found
    if (state) sequences.push({ name, value: state.value, isCalled: state.is_called })
  }
  return sequences
}

function nameOf(name: string): string {
  return pg.escapeIdentifier(name)
}
