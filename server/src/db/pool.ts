import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Log } from '../lib/log.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>

/** The database is away: answered as 503, tried again by whoever asked, healed by itself. */
export class DatabaseAway extends Error {
  constructor(cause: unknown) {
    super('the database is away', { cause })
  }
}

interface Options {
  readonly connection: pg.ClientConfig
  readonly log: Log
  readonly connectionsMax?: number
}

const probeIntervalMs = 100
const heartbeatMs = 5_000
// How long the sentinel waits for an answer, and others for a connection. A machine that does too much at once needs
// seconds for either; taken for a database that is away, that would cost whoever asks at that moment an answer.
const answerTimeoutMs = 5_000
const connectTimeoutMs = 8_000
// A database that hangs does not keep this limit; then the sentinel notices and cuts the connections.
// A statement of ours takes milliseconds; one that takes this long holds a connection that others wait for.
const statementTimeoutMs = 15_000
const closeTimeoutMs = 3_000

/**
 * A pool that knows whether the database is there. One connection of its own, the sentinel, is always open and
 * notices at once when the database goes. Meanwhile queries fail at once instead of each waiting for a connection,
 * and the sentinel tries until it is back.
 */
export class Pool {
  readonly db: Db
  /**
   * The sentinel stands, or could not be opened at first. Whoever has work for the processor waits for it: a connection that
   * comes while nobody listens is taken for one that does not come.
   */
  readonly opened: Promise<void>
  readonly #pool: pg.Pool
  readonly #connection: pg.ClientConfig
  readonly #log: Log
  readonly #listeners = new Map<string, (payload: string | undefined) => void>()
  readonly #clients = new Set<pg.PoolClient>()
  #sentinel: pg.Client | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #isUp = true

  constructor({ connection, log, connectionsMax = 20 }: Options) {
    this.#log = log
    this.#connection = {
      ...connection,
      keepAlive: true,
      application_name: 'botberth',
    }
    this.#pool = new pg.Pool({
      ...this.#connection,
      connectionTimeoutMillis: connectTimeoutMs,
      max: connectionsMax,
      idleTimeoutMillis: 60_000,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: 30_000,
    })
    // Without these listeners the first death of a connection, idle or lent out, would end the process.
    this.#pool.on('error', (error) => this.#noteFailure(error))
    this.#pool.on('connect', (client) => {
      client.on('error', (error) => this.#noteFailure(error))
      this.#clients.add(client)
    })
    this.#pool.on('remove', (client) => this.#clients.delete(client))
    this.db = new Kysely<Tables>({
      dialect: new PostgresDialect({
        // The cast leaves out one overload: queries by cursor, which we do not use.
        pool: {
          connect: () => this.connect() as Promise<unknown> as Promise<PostgresPoolClient>,
          end: () => this.close(),
          options: {},
        },
      }),
    })
    this.opened = this.#watch()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** One statement of literal SQL, for the hot paths. */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    if (!this.#isUp || this.#closed) throw new DatabaseAway(undefined)
    const name = statementName(text)
    try {
      return (await this.#pool.query<Row>(name === undefined ? { text, values } : { name, text, values })).rows
    } catch (error) {
      this.#noteFailure(error)
      throw isAway(error) || !(error instanceof pg.DatabaseError) ? new DatabaseAway(error) : error
    }
  }

  async connect(): Promise<Connection> {
    if (!this.#isUp || this.#closed) throw new DatabaseAway(undefined)
    try {
      return new Connection(await this.#pool.connect(), (error) => this.#noteFailure(error))
    } catch (error) {
      this.#noteFailure(error)
      throw new DatabaseAway(error) // whatever the reason: there is no connection to be had
    }
  }

  /**
   * Calls `heard` for each NOTIFY on the channel, from whichever server. After the connection was lost it is called
   * with undefined: messages may have been missed.
   */
  async listen(channel: string, heard: (payload: string | undefined) => void): Promise<void> {
    this.#listeners.set(channel, heard)
    // If that connection is lost meanwhile, the next one listens to all of them.
    await this.#sentinel?.query(`listen ${channel}`).catch((error: unknown) => this.#lost(error))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    const closing = Promise.all([this.#pool.end(), this.#sentinel?.end()])
    // Statements of a database that hangs would keep us for ever.
    await Promise.race([closing, sleep(closeTimeoutMs, undefined, { ref: false })])
    this.#cutConnections()
  }

  #noteFailure(error: unknown): void {
    if (!this.#closed && this.#isUp && isGone(error)) this.#goAway(error)
  }

  #goAway(error: unknown): void {
    this.#isUp = false
    this.#log.warn({ err: error }, 'the database is away')
    this.#dropSentinel()
    this.#cutConnections()
    this.#later(probeIntervalMs)
  }

  #dropSentinel(): void {
    const sentinel = this.#sentinel
    this.#sentinel = undefined
    sentinel?.removeAllListeners('end')
    if (sentinel) cut(sentinel)
  }

  /** Whoever waits for an answer on one of them gets an error now instead of never. */
  #cutConnections(): void {
    for (const client of this.#clients) cut(client)
  }

  #later(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#watch(), ms).unref()
  }

  /** Opens the sentinel, or asks it whether the database is still there: a dead network closes no connection. */
  async #watch(): Promise<void> {
    const isNew = this.#sentinel === undefined
    try {
      this.#sentinel ??= await this.#openSentinel()
      await this.#sentinel.query('select 1')
    } catch (error) {
      this.#lost(error)
      return
    }
    if (this.#closed) return
    if (!this.#isUp) this.#log.info('the database is back')
    this.#isUp = true
    // Only now: whoever hears it asks the database at once.
    if (isNew) for (const heard of this.#listeners.values()) heard(undefined)
    this.#later(heartbeatMs)
  }

  #lost(error: unknown): void {
    if (this.#closed) return
    if (this.#isUp) {
      this.#goAway(error)
    } else {
      this.#dropSentinel()
      this.#later(probeIntervalMs)
    }
  }

  async #openSentinel(): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.#connection,
      connectionTimeoutMillis: answerTimeoutMs,
      query_timeout: answerTimeoutMs,
    })
    client.on('error', () => {}) // `end` follows, and says all there is to know
    try {
      await client.connect()
      client.on('notification', ({ channel, payload }) => this.#listeners.get(channel)?.(payload))
      for (const channel of this.#listeners.keys()) await client.query(`listen ${channel}`)
    } catch (error) {
      cut(client)
      throw error
    }
    if (this.#closed) cut(client)
    client.once('end', () => {
      if (!this.#closed && this.#isUp && this.#sentinel === client) this.#goAway(new Error('the connection was closed'))
    })
    return client
  }
}

/** Ends a connection without asking the other side, which may not answer. */
function cut(client: pg.ClientBase): void {
  // The driver offers only a polite end; its stream is what a connection is.
  const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } }
  connection?.stream?.destroy()
}

const statementNames = new Map<string, string>()
// Statements are fixed texts; this bound only guards against one that is built from data by mistake.
const statementNamesMax = 2000

/** Preparing each statement once a connection is worth a factor of 1.5 and more. */
function statementName(text: string): string | undefined {
  const known = statementNames.get(text)
  if (known || statementNames.size >= statementNamesMax) return known
  const name = `s${statementNames.size}`
  statementNames.set(text, name)
  return name
}

class Connection {
  readonly #client: pg.PoolClient
  readonly #noteFailure: (error: unknown) => void
  #isBroken = false

  constructor(client: pg.PoolClient, noteFailure: (error: unknown) => void) {
    this.#client = client
    this.#noteFailure = noteFailure
  }

  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<pg.QueryResult<Row>> {
    const name = statementName(text)
    try {
      return await this.#client.query<Row>({ text, values: [...values], ...(name && { name }) })
    } catch (error) {
      this.#isBroken ||= isAway(error)
      this.#noteFailure(error)
      throw isAway(error) ? new DatabaseAway(error) : error
    }
  }

  release(): void {
    this.#client.release(this.#isBroken)
  }
}

// Connection exceptions, shut-downs (57P01 to 57P04), the statement's time limit, too many connections, out of
// memory or disk.
const awayStates = /^(08...|57P0[1-4]|57014|53...)$/
const awayCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
// What pg says in words only. A plan is outdated when another server has migrated: a new connection heals that.
const awayTexts =
  /Connection terminated|Query read timeout|cached plan must not change|timeout exceeded when trying to connect|Client has encountered a connection error|connection is closed|not queryable/i

/** The statement did not run, or nobody knows whether it did, because the database could not be reached. */
function isAway(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  if (code && (awayStates.test(code) || awayCodes.has(code))) return true
  return awayTexts.test(message ?? '')
}

/** As above, and the whole database, not a single statement or a full pool, is the reason. */
function isGone(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return isAway(error) && code !== '57014' && !code?.startsWith('53') && !/trying to connect/.test(message ?? '')
}
