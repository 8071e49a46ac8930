import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { buildServer, makeCodehost } from './app.ts'
import { startHousekeeping } from './auth/housekeeping.ts'
import { ensureOwner, type Welcome } from './auth/owner.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import type { App } from './context.ts'
import { openDatabase } from './db/database.ts'
import type { Db, Pool } from './db/pool.ts'
import { tx } from './db/tx.ts'
import { whenBack } from './db/when-back.ts'
import { type Listening, listen } from './http/listen.ts'
import { readDashboard } from './info/dashboard.ts'
import { shiftedClock, systemClock } from './lib/clock.ts'
import { claimDataDir, StartError, writeInfo } from './lib/data-dir.ts'
import { type Log, makeLog } from './lib/log.ts'
import { Secrets, sha256 } from './lib/secret.ts'
import { readSecretKey } from './lib/secret-key.ts'
import { ensureListing } from './list/bootstrap.ts'
import type { Networks } from './runtime/process/networks.ts'
import type { Wall } from './runtime/runtime.ts'
import { Work } from './work.ts'

const drainMs = 10_000
// Where nobody else is likely to listen.
const doorPort = 4180
const exitConfig = 78 // EX_CONFIG of sysexits

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

// A terminal that was closed, or a pipe that nobody reads any more, is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const stopping = new AbortController()
/** What has been started, to be undone in reverse order. */
const undo: (() => Promise<unknown> | void)[] = []
/** What the second signal does. */
let hurry = () => {}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) hurry()
    else stopping.abort(signal)
  })
}

try {
  await start()
  await new Promise<void>((resolve) => {
    if (stopping.signal.aborted) resolve()
    else stopping.signal.addEventListener('abort', () => resolve())
  })
} catch (error) {
  if (!stopping.signal.aborted) tell(error)
} finally {
  for (const step of undo.toReversed()) await step()
  process.exit()
}

/** Each step says in `undo` how to take it back, so that nothing is left behind however far the start came. */
async function start(): Promise<void> {
  const config = readConfig(process.env)
  const log = makeLog(config.logLevel)
  stopping.signal.addEventListener('abort', () => log.info({ signal: String(stopping.signal.reason) }, 'stopping'))
  undo.push(() => log.info('stopped'))
  await claimDataDir(config.dataDir)
  const secrets = new Secrets(readSecretKey(config.secretKey, config.dataDir))
  const database = await openDatabase({ ...config, log, say: console.log })
  undo.push(() => database.close())
  stopping.signal.throwIfAborted()
  await whenBack(() => noteSecretKey(database.pool, secrets, log), stopping.signal)

  let url = config.publicUrl
  let botUrl: string | undefined
  let ownUrl = ''
  const parts = {
    config,
    log,
    clock: config.testClock ? shiftedClock(config.testClock) : systemClock,
    pool: database.pool,
    secrets,
    version,
    publicUrl: () => url ?? '',
    botUrl: () => botUrl ?? url ?? '',
  }
  const app: App = { ...parts, codehost: makeCodehost(parts, () => ownUrl) }
  const work = new Work(app)
  undo.push(() => work.close())
  let isStarted = false
  const dashboard = readDashboard(join(import.meta.dirname, '../../dashboard/dist'))
  const server = await buildServer(app, work, { isStarted: () => isStarted, dashboard })
  undo.push(() => server.close())
  const listening = await listen(server, config)
  hurry = () => listening.cutConnections()
  undo.push(() => void setTimeout(hurry, drainMs).unref())
  ownUrl = addressOf({ host: config.host === 'localhost' ? '127.0.0.1' : config.host }, listening.port)
  url ??= addressOf(config, listening.port)
  writeInfo(config.dataDir, { url })
  botUrl = await openDoorFor(listening, config, await work.putUpWalls())
  await work.start(stopping.signal) // bots are told where we are
  // Only now: what is printed once has to lead to a server that answers.
  const change = <T>(make: (db: Db) => Promise<T>) => whenBack(() => tx(app.pool.db, make), stopping.signal)
  const welcome = await change((db) => ensureOwner(db, config, app.clock.now()))
  const { bootstrapListing } = config
  if (bootstrapListing) await change((db) => ensureListing(db, bootstrapListing, app.clock.now()))
  startHousekeeping(app, stopping.signal)
  isStarted = true
  console.log(banner(url, { welcome, walls: work.runtime.walls }))
}

/** Where bots find us if they are on networks of their own: the same port as before, because they outlive us. */
async function openDoorFor(
  listening: Listening,
  { dataDir }: Config,
  networks: Networks | undefined,
): Promise<string | undefined> {
  if (!networks?.door) return undefined
  const { listen: host, host: seenAs } = networks.door
  const file = join(dataDir, 'door-port')
  const before = existsSync(file) ? Number(readFileSync(file, 'utf8')) : doorPort
  const port = await listening.openDoor({ host, port: before })
  writeFileSync(file, String(port), { mode: 0o600 })
  await networks.openDoor(port)
  return `http://${seenAs}:${port}`
}

/**
 * Another key than before, or than another server on this database has: sessions end, and what was sealed cannot be
 * read. It may be meant, so it is only said. Kept is a value that follows from the key and does not lead back to it.
 */
async function noteSecretKey(pool: Pool, secrets: Secrets, log: Log): Promise<void> {
  const value = sha256(secrets.keyFor('check').toString('hex')).toString('hex')
  const [before] = await pool.query<{ value: string }>("select value from instance where name = 'secret_key_check'")
  if (before?.value === value) return
  if (before)
    log.warn(
      'SECRET_KEY is not the one that this database was last used with: sessions end, and sealed secrets cannot be read',
    )
  await pool.query(
    `insert into instance (name, value) values ('secret_key_check', $1) on conflict (name) do update set value = excluded.value`,
    [value],
  )
}

/** What the operator can mend is told in a sentence, everything else with all that is known. */
function tell(error: unknown): void {
  process.exitCode = error instanceof ConfigError ? exitConfig : 1
  const { syscall, message } = error as NodeJS.ErrnoException
  if (error instanceof StartError || error instanceof ConfigError) console.error(message)
  else if (syscall) console.error(`The server cannot start: ${message}`)
  else console.error(error)
}

function addressOf({ host }: Pick<Config, 'host'>, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${port}`
}

/** Printed and never logged: it holds the owner's link and key. */
function banner(url: string, { welcome, walls }: { welcome: Welcome | undefined; walls: readonly Wall[] }): string {
  const key = welcome?.key
    ? `  Your API key          ${welcome.key}
                        (npm run --silent key -- NAME makes another)
`
    : ''
  const first = welcome
    ? `
This is the first start. What follows is shown once:

  Sign in as the owner  ${url}/auth/owner?code=${welcome.linkCode}
                        (one use, within 10 minutes; npm run --silent owner-link makes another)
${key}`
    : ''
  return `
Botberth ${version} is running.

  Dashboard      ${url}/
  Hosting API    ${url}/api/v1
  Bot list       ${url}/list
  Bot list API   ${url}/list/api
  API reference  ${url}/docs

Walls around bots:

${walls.map(wallLine).join('\n')}
${first}
Ctrl-C stops it.
`
}

function wallLine({ name, state, detail, remedy }: Wall): string {
  return `  ${name.padEnd(8)} ${state.padEnd(5)} ${detail}${remedy === undefined ? '' : ` Mend it: ${remedy}.`}`
}
