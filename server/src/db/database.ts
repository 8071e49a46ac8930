import { existsSync } from 'node:fs'
import pg from 'pg'
import { checkWhole, StartError, tryClaim } from '../lib/data-dir.ts'
import type { Log } from '../lib/log.ts'
import { migrate } from './migrate.ts'
import { Pool } from './pool.ts'
import { clusterFolder } from './postgres/cluster.ts'
import { socketConnection, startEmbeddedPostgres } from './postgres/supervisor.ts'

/** The one database: the embedded PostgreSQL or the operator's own, migrated and ready. */
export interface Database {
  readonly pool: Pool
  /** Ends all connections, and the embedded PostgreSQL with them. */
  close(): Promise<void>
}

interface Options {
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly log: Log
  /** Plain words for whoever watches the start. */
  readonly say: (text: string) => void
}

const databaseName = 'botberth'

export async function openDatabase(options: Options): Promise<Database> {
  const reached = await reachDatabase(options)
  try {
    const pool = await openPool({ ...options, connection: reached.connection })
    return { pool, close: () => pool.close().then(() => reached.close()) }
  } catch (error) {
    await reached.close()
    throw error
  }
}

/** How to connect to it, whatever is in it; the embedded one is made and started. */
async function reachDatabase({
  databaseUrl,
  dataDir,
  log,
  say,
}: Options): Promise<{ connection: pg.ClientConfig; close(): Promise<void> }> {
  if (databaseUrl !== undefined) return { connection: { connectionString: databaseUrl }, close: async () => {} }
  const postgres = await startEmbeddedPostgres({ dataDir, log, say })
  try {
    await createDatabase(postgres.connection('postgres'))
    return { connection: postgres.connection(databaseName), close: () => postgres.stop() }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

/** For one piece of work on it, by whoever has the data directory. */
export async function withDatabase<T>(options: Options, work: (connection: pg.ClientConfig) => Promise<T>): Promise<T> {
  const reached = await reachDatabase(options)
  try {
    return await work(reached.connection)
  } finally {
    await reached.close()
  }
}

/** A connection beside a server that runs, or alone: for the commands of `admin.ts`. Nothing is migrated. */
export async function attachDatabase({ databaseUrl, dataDir, log }: Omit<Options, 'say'>): Promise<Database> {
  if (databaseUrl !== undefined) {
    const pool = new Pool({ connection: { connectionString: databaseUrl }, log, connectionsMax: 1 })
    return { pool, close: () => pool.close() }
  }
  checkWhole(dataDir)
  if (!existsSync(clusterFolder(dataDir)))
    throw new StartError(`There is no database in ${dataDir} yet: start the server once.`)
  if (await tryClaim(dataDir)) {
    const postgres = await startEmbeddedPostgres({ dataDir, log, say: () => {} })
    const pool = new Pool({ connection: postgres.connection(databaseName), log, connectionsMax: 1 })
    return { pool, close: () => pool.close().then(() => postgres.stop()) }
  }
  const pool = new Pool({ connection: socketConnection(clusterFolder(dataDir), databaseName), log, connectionsMax: 1 })
  return { pool, close: () => pool.close() }
}

async function openPool({
  connection,
  log,
  say,
}: {
  connection: pg.ClientConfig
  log: Log
  say: (text: string) => void
}): Promise<Pool> {
  try {
    await migrate(connection, say)
  } catch (error) {
    if (error instanceof StartError) throw error
    const { code, message, cause } = error as NodeJS.ErrnoException
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message || code
    throw new StartError(`The database cannot be used: ${reason}`, { cause: error })
  }
  const pool = new Pool({ connection, log })
  await pool.opened
  return pool
}

async function createDatabase(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection)
  client.on('error', () => {}) // the statement under way reports it
  await client.connect()
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [databaseName])
    if (rowCount === 0) await client.query(`create database ${databaseName}`)
  } finally {
    await client.end()
  }
}
