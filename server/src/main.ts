import { readFileSync } from 'node:fs'
import { type AddressInfo, isIPv6 } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { buildServer } from './app.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import type { App } from './context.ts'
import { type Database, openDatabase } from './db/database.ts'
import { systemClock } from './lib/clock.ts'
import { claimDataDir, StartError } from './lib/data-dir.ts'
import { type Log, makeLog } from './lib/log.ts'

const drainMs = 10_000
const exitConfig = 78 // EX_CONFIG of sysexits

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

try {
  await start()
} catch (error) {
  if (!(error instanceof StartError) && !(error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = error instanceof ConfigError ? exitConfig : 1
}

async function start(): Promise<void> {
  const config = readConfig(process.env)
  const log = makeLog(config.logLevel)
  await claimDataDir(config.dataDir)
  const shutdown = new AbortController()
  const database = await openDatabase({
    databaseUrl: config.databaseUrl,
    dataDir: config.dataDir,
    log,
    say: console.log,
  })
  let url = config.publicUrl
  const app: App = { config, log, clock: systemClock, pool: database.pool, version, publicUrl: () => url ?? '' }
  const server = buildServer(app)
  stopOnSignals({ server, database, log, shutdown })
  try {
    await listen(server, config)
  } catch (error) {
    await server.close()
    await database.close()
    throw error
  }
  url ??= addressOf(server, config)
  console.log(banner(url))
}

async function listen(server: FastifyInstance, { host, port }: Config): Promise<void> {
  try {
    await server.listen({ host, port, listenTextResolver: (address) => `listening on ${address}` })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new StartError(
        `Port ${port} on ${host} is taken by another program. Stop it, or set PORT to another one (0 picks a free one).`,
      )
    throw new StartError(`Cannot listen on ${host}, port ${port}: ${message}`, { cause: error })
  }
}

function addressOf(server: FastifyInstance, { host }: Config): string {
  const { port } = server.addresses()[0] as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${port}`
}

function banner(url: string): string {
  return `
Botberth ${version} is running.

  Dashboard      ${url}/
  Hosting API    ${url}/api/v1
  Bot list       ${url}/list
  Bot list API   ${url}/list/api
  API reference  ${url}/docs

Ctrl-C stops it.
`
}

interface Parts {
  readonly server: FastifyInstance
  readonly database: Database
  readonly log: Log
  readonly shutdown: AbortController
}

/** The first signal lets what is under way finish; the second does not wait for it. PostgreSQL is stopped last. */
function stopOnSignals({ server, database, log, shutdown }: Parts): void {
  const stop = async (signal: NodeJS.Signals) => {
    if (shutdown.signal.aborted) {
      server.server.closeAllConnections()
      return
    }
    shutdown.abort()
    log.info({ signal }, 'stopping')
    const impatient = setTimeout(() => server.server.closeAllConnections(), drainMs)
    await server.close()
    clearTimeout(impatient)
    await database.close()
    log.info('stopped')
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(signal))
}
