import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { pino } from 'pino'
import { buildServer, makeCodehost } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import type { App } from '../src/context.ts'
import type { Pool } from '../src/db/pool.ts'
import { type Listening, listen } from '../src/http/listen.ts'
import { readDashboard } from '../src/info/dashboard.ts'
import { Secrets } from '../src/lib/secret.ts'
import { Work } from '../src/work.ts'
import { createTestPool } from './db.ts'
import { inPhase } from './phases.ts'
import { checkForSecrets, forgetSecrets, noteText } from './secrets.ts'
import { noteSeen } from './seen.ts'

/** A clock that stands still until it is moved. `pollMs`: what waits for a time looks again as often. */
export class TestClock {
  readonly pollMs: number | undefined
  #now = new Date('2026-01-02T03:04:05.678Z')

  constructor(pollMs?: number) {
    this.pollMs = pollMs
  }

  now(): Date {
    return this.#now
  }

  advance(ms: number): void {
    this.#now = new Date(this.#now.getTime() + ms)
  }
}

/** A clock that runs with the system's and can be moved ahead of it. */
class RunningClock extends TestClock {
  #aheadMs = 0

  constructor() {
    super(100)
  }

  override now(): Date {
    return new Date(Date.now() + this.#aheadMs)
  }

  override advance(ms: number): void {
    this.#aheadMs += ms
  }
}

export interface TestServer {
  readonly url: string
  readonly port: number
  readonly pool: Pool
  readonly clock: TestClock
  readonly app: App
  readonly work: Work
  readonly listening: Listening
  /** As a stop of the server does: bots go on. */
  close(): Promise<void>
}

interface Options {
  readonly env?: Record<string, string>
  /** To let two servers share one database. */
  readonly pool?: Pool
  readonly clock?: TestClock
  /** Deploys and runs bots too; else they are only records. */
  readonly isWorking?: boolean
  readonly sandbox?: 'bubblewrap' | 'shim'
  /** Of a server before this one. */
  readonly dataDir?: string
  /** Where a built dashboard lies. */
  readonly dashboardDir?: string
}

let openServers = 0

/** A server on a port of its own, on a database of its own. Closed at the end of the test file. */
export function startTestServer(options: Options = {}): Promise<TestServer> {
  return inPhase('server', () => start(options))
}

async function start({
  env = {},
  pool: given,
  isWorking = false,
  clock = isWorking ? new RunningClock() : new TestClock(),
  sandbox,
  dataDir = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'data-')),
  dashboardDir,
}: Options): Promise<TestServer> {
  const pool = given ?? (await createTestPool())
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const config = readConfig({ HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, MIN_READY_SECONDS: '0.3', ...env })
  const secrets = new Secrets(config.secretKey ?? 'a secret key for tests, the same in all of them')
  const log = pino({ level: 'debug' }, { write: noteText })
  const parts = { config, log, clock, pool, secrets, version, publicUrl: () => url, botUrl: () => url }
  const app: App = { ...parts, codehost: makeCodehost(parts, () => url) }
  // Where nothing is run, nothing has to be found out about walls.
  const work = new Work(app, isWorking && sandbox === undefined ? {} : { sandbox: sandbox ?? 'shim' })
  const server = await buildServer(app, work, { dashboard: dashboardDir ? readDashboard(dashboardDir) : undefined })
  server.addHook('onSend', (request, reply, payload, done) => {
    noteSeen(`${request.method} ${request.routeOptions.url}`, reply.statusCode, payload)
    if (reply.statusCode >= 400) noteText(String(payload))
    done(null, payload)
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0 })
  const { port } = listening
  const url = `http://127.0.0.1:${port}`
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await server.close()
    await work.close()
  }
  after(async () => {
    for (const { botId } of isClosed ? [] : await work.runtime.list()) await work.runtime.remove(botId)
    await close()
    if (pool.isUp) await checkForSecrets(pool)
    if (--openServers === 0) forgetSecrets()
  })
  openServers++
  if (isWorking) await work.start(new AbortController().signal)
  return { url, port, pool, clock, app, work, listening, close }
}
