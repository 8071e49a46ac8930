import { readFileSync } from 'node:fs'
import { type AddressInfo, isIPv6 } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { buildServer } from './app.ts'
import { startHousekeeping } from './auth/housekeeping.ts'
import { ensureOwner, type Welcome } from './auth/owner.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import type { App } from './context.ts'
import { type Database, openDatabase } from './db/database.ts'
import { tx } from './db/tx.ts'
import { systemClock } from './lib/clock.ts'
import { claimDataDir, StartError, writeInfo } from './lib/data-dir.ts'
import { type Log, makeLog } from './lib/log.ts'
import { Secrets } from './lib/secret.ts'
import { readSecretKey } from './lib/secret-key.ts'

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
  const secrets = new Secrets(readSecretKey(config.secretKey, config.dataDir))
  const app: App = {
    config,
    log,
    clock: systemClock,
    pool: database.pool,
    secrets,
    version,
    publicUrl: () => url ?? '',
  }
  const server = await buildServer(app)
  stopOnSignals({ server, database, log, shutdown })
  try {
    await listen(server, config)
  } catch (error) {
    await server.close()
    await database.close()
    throw error
  }
  url ??= addressOf(server, config)
  writeInfo(config.dataDir, { url })
  // Only now: what is printed once has to lead to a server that answers.
  const welcome = await tx(app.pool.db, (db) => ensureOwner(db, config, app.clock.now()))
  startHousekeeping(app, shutdown.signal)
  console.log(banner(url, welcome))
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

/** Printed and never logged: it holds the owner's link and key. */
function banner(url: string, welcome: Welcome | undefined): string {
  const first = welcome
    ? `
This is the first start. What follows is shown once:

  Sign in as the owner  ${url}/auth/owner?code=${welcome.linkCode}
                        (one use, within 10 minutes; npm run --silent owner-link makes another)
${welcome.key ? `  Your API key          ${welcome.key}\n                        (npm run --silent key -- NAME makes another)\n` : ''}`
    : ''
  return `
Botberth ${version} is running.

  Dashboard      ${url}/
  Hosting API    ${url}/api/v1
  Bot list       ${url}/list
  Bot list API   ${url}/list/api
  API reference  ${url}/docs
${first}
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
