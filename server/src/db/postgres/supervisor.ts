import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { StartError } from '../../lib/data-dir.ts'
import type { Log } from '../../lib/log.ts'
import { type Cluster, makeLogDir, openCluster, postgresEnv, role } from './cluster.ts'
import { clearLockFiles, findPostmaster, isAlive } from './postmaster.ts'
import { commandAs } from './run-as.ts'

/** The embedded PostgreSQL: kept running until `stop`, whatever happens to it. */
export interface EmbeddedPostgres {
  /** How to connect to the database `name`. */
  connection(name: string): pg.ClientConfig
  stop(): Promise<void>
}

interface Options {
  readonly dataDir: string
  readonly log: Log
  readonly say: (text: string) => void
  /** Further settings; tests trade durability for speed. */
  readonly settings?: Readonly<Record<string, string>>
}

const settings = {
  listen_addresses: '', // the Unix socket only: no port, public or not
  unix_socket_directories: '.', // inside the 0700 data directory; a relative name is never too long for a socket
  max_connections: '100',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
}

const startTimeoutMs = 120_000 // recovery after a crash replays up to 1 GB of log
const watchIntervalMs = 250
const logBytesMax = 10 * 1024 * 1024

export async function startEmbeddedPostgres(options: Options): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(options.dataDir, options.say)
  const supervisor = new Supervisor(cluster, options)
  await supervisor.start()
  return supervisor
}

class Supervisor implements EmbeddedPostgres {
  readonly #cluster: Cluster
  readonly #log: Log
  readonly #logFile: string
  readonly #args: readonly string[]
  readonly #connection: pg.ClientConfig
  #child: ChildProcess | undefined
  #pid = 0
  #stopping = false
  #watch: NodeJS.Timeout | undefined
  #reviving: Promise<void> | undefined

  constructor(cluster: Cluster, { dataDir, log, settings: further }: Options) {
    this.#cluster = cluster
    this.#log = log
    this.#logFile = join(makeLogDir(dataDir), 'postgres.log')
    this.#args = Object.entries({ ...settings, ...further }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    this.#connection = socketConnection(cluster.folder, 'postgres')
  }

  connection(name: string): pg.ClientConfig {
    return { ...this.#connection, database: name }
  }

  async start(): Promise<void> {
    const leftOver = findPostmaster(this.#cluster.folder)
    if (leftOver === undefined) await this.#launch()
    else await this.#adopt(leftOver)
    this.#watch = setInterval(() => this.#look(), watchIntervalMs).unref()
  }

  /** A server that was killed leaves its PostgreSQL running, with all that it had acknowledged: go on with it. */
  async #adopt(pid: number): Promise<void> {
    this.#pid = pid
    this.#log.info({ pid }, 'taking over the PostgreSQL that is still running')
    try {
      process.kill(pid, 'SIGHUP') // the access rules may have been written for another user than before
      await this.#untilReady()
    } catch (error) {
      this.#log.warn({ err: error }, 'the PostgreSQL that was still running does not answer; starting it anew')
      await this.#end(pid)
      await this.#launch()
    }
  }

  async #launch(): Promise<void> {
    clearLockFiles(this.#cluster.folder)
    rotate(this.#logFile)
    const { postgres, folder, runAs } = this.#cluster
    const command = commandAs(runAs, postgres, ['-D', folder, ...this.#args])
    const output = openSync(this.#logFile, 'a', 0o600)
    // Detached: Ctrl-C in the terminal must reach us alone, so that PostgreSQL is stopped last and in order.
    const child = spawn(command.file, command.args, {
      ...command.options,
      cwd: folder,
      env: postgresEnv,
      detached: true,
      stdio: ['ignore', output, output],
    })
    closeSync(output)
    this.#child = child
    this.#pid = child.pid ?? 0
    child.on('error', (error) => this.#log.error({ err: error }, 'PostgreSQL could not be started'))
    child.on('exit', () => this.#look())
    child.unref()
    await this.#untilReady()
  }

  async #untilReady(): Promise<void> {
    const deadline = Date.now() + startTimeoutMs
    for (;;) {
      const error = await tryConnect(this.connection('postgres'))
      if (!error) return
      if (!isAlive(this.#pid)) {
        throw new StartError(`PostgreSQL ended while starting. The end of ${this.#logFile}:\n${tail(this.#logFile)}`, {
          cause: error,
        })
      }
      // Refused rather than not ready. A moment's patience, because the rules are read again in the background.
      const isRefused =
        (error as { code?: string }).code?.startsWith('28') && Date.now() > deadline - startTimeoutMs + 2_000
      if (isRefused || Date.now() > deadline)
        throw new StartError(`PostgreSQL does not answer; see ${this.#logFile}`, { cause: error })
      await sleep(20)
    }
  }

  #look(): void {
    if (this.#stopping || this.#reviving || isAlive(this.#pid)) return
    this.#log.warn({ pid: this.#pid }, 'PostgreSQL is gone; starting it again')
    this.#reviving = this.#revive().finally(() => {
      this.#reviving = undefined
    })
  }

  async #revive(): Promise<void> {
    for (let waitMs = 100; !this.#stopping; waitMs = Math.min(waitMs * 2, 5000)) {
      try {
        // Its children may outlive it for a moment and still hold the shared memory: then the start fails.
        await this.#launch()
        this.#log.info({ pid: this.#pid }, 'PostgreSQL runs again')
        return
      } catch (error) {
        this.#log.error({ err: error }, 'PostgreSQL did not start; trying again')
        await sleep(waitMs)
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#watch)
    await this.#reviving
    await this.#end(this.#pid)
  }

  /** Fast shutdown, which ends sessions and writes everything out; then, if it hangs, immediate shutdown. */
  async #end(pid: number): Promise<void> {
    for (const [signal, patienceMs] of [
      ['SIGINT', 20_000],
      ['SIGQUIT', 5_000],
      ['SIGKILL', 5_000],
    ] as const) {
      if (!isAlive(pid)) break
      process.kill(pid, signal)
      for (const deadline = Date.now() + patienceMs; isAlive(pid) && Date.now() < deadline; ) await sleep(10)
    }
    this.#child?.removeAllListeners()
  }
}

/** How to reach the PostgreSQL of a cluster, for whoever its access rules let in. */
export function socketConnection(folder: string, database: string): pg.ClientConfig {
  return { host: shortName(folder), port: 5432, user: role, database }
}

/** A socket's whole name has to fit into 108 bytes; a long folder is reached through an open handle of it. */
function shortName(folder: string): string {
  if (Buffer.byteLength(folder) <= 80 || process.platform !== 'linux') return folder
  return `/proc/self/fd/${openSync(folder, 'r')}`
}

async function tryConnect(connection: pg.ClientConfig): Promise<Error | undefined> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 2000 })
  client.on('error', () => {}) // the promise below reports it
  try {
    await client.connect()
    await client.query('select 1')
    return undefined
  } catch (error) {
    return error as Error
  } finally {
    await client.end().catch(() => {}) // it may never have been connected
  }
}

function rotate(file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > logBytesMax) renameSync(file, `${file}.1`)
}

function tail(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-8).join('\n')
}
