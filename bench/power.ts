// How fast bots are started and come back, and what watching them costs, beside PM2 and a plain spawn on the same Node,
// in one run. A tiny bot prints the time as its first line: all times end there, by the bot's own clock. Trials
// alternate, so that whatever else the machine does hits all alike. PM2 is installed into a temporary folder.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGitServer } from '../server/test/git-server.ts'
import { Host, until } from './lib/host.ts'
import { npm } from './lib/npm.ts'
import { childrenOf, isAlive, memoryKb } from './lib/processes.ts'
import { checkRatio, median, printTimes } from './lib/report.ts'

const trials = 15
const bots = 20
const backoffMs = 1000
const settleMs = 3000
// The launch goes through all walls that this machine has: limits, network, user, view, filter.
const most = { launch: 0.75, start: 1, restart: 0.7, memory: 0.15 }

// Something to say now and then, as every bot has: who cannot say it any more may die of it.
const program = `
console.log(String(Date.now()))
setInterval(() => console.log('still here'), 1000)
`

const scratch = mkdtempSync(join(tmpdir(), 'botberth-bench-power-'))
const script = join(scratch, 'index.js')
writeFileSync(script, program)
const pm2 = await startPm2()
const git = await startGitServer()
const { url } = await git.addRepo('bot', { 'index.js': program })
const host = new Host()

try {
  await host.start()
  const botId = await makeDeployed()
  await compareTimes(botId)
  const botIds = [botId, ...(await Promise.all(Array.from({ length: bots - 1 }, makeDeployed)))]
  for (const id of botIds) await power(id, 'stop')
  await compareMemory(botIds)
  await compareSurvival(botIds)
} finally {
  await pm2.close()
  await host.close()
  await git.close()
  rmSync(scratch, { recursive: true, force: true })
}

async function compareTimes(botId: string): Promise<void> {
  const plain: number[] = []
  const ours = { launch: [] as number[], start: [] as number[], restart: [] as number[] }
  const theirs = { start: [] as number[], restart: [] as number[] }
  await power(botId, 'stop')
  // The first of each only warms up.
  for (let trial = 0; trial <= trials; trial++) {
    const [our, their, bare] = [await tryOurs(botId), await tryPm2(), await tryPlain()]
    if (trial === 0) continue
    plain.push(bare)
    ours.launch.push(our.launch)
    ours.start.push(our.start)
    ours.restart.push(our.restart)
    theirs.start.push(their.start)
    theirs.restart.push(their.restart)
  }
  console.log(`\nTo the first line of a bot:`)
  printTimes({
    'plain spawn': plain,
    'botberth, from the launch': ours.launch,
    'botberth, from POST power': ours.start,
    'botberth, from kill -9, without the backoff': ours.restart,
    'PM2, from start()': theirs.start,
    'PM2, from kill -9': theirs.restart,
  })
  checkRatio('launch / PM2', median(ours.launch) / median(theirs.start), most.launch)
  checkRatio('POST power / PM2', median(ours.start) / median(theirs.start), most.start)
  checkRatio('restart / PM2', median(ours.restart) / median(theirs.restart), most.restart)
}

async function tryOurs(botId: string): Promise<{ launch: number; start: number; restart: number }> {
  const at = Date.now()
  await host.ask(`POST /servers/${botId}/power`, { signal: 'start' })
  const first = await host.untilPrinted(botId, at)
  const { startedAt, monitor } = host.noteOf(botId)
  const killedAt = Date.now()
  process.kill(botPid(monitor), 'SIGKILL')
  const again = await host.untilPrinted(botId, killedAt)
  await power(botId, 'stop')
  return { launch: first - startedAt, start: first - at, restart: again - killedAt - backoffMs }
}

/** Below bubblewrap's monitor is the first process of the bot's namespace, and below that the bot. */
function botPid(monitor: number): number {
  const [init] = childrenOf(monitor)
  const [bot] = init === undefined ? [] : childrenOf(init)
  if (bot === undefined) throw new Error('The bot does not run behind bubblewrap')
  return bot
}

async function tryPm2(): Promise<{ start: number; restart: number }> {
  const at = Date.now()
  await pm2.start('timed')
  const first = await pm2.untilPrinted('timed', at)
  const killedAt = Date.now()
  process.kill(await pm2.pidOf('timed'), 'SIGKILL')
  const again = await pm2.untilPrinted('timed', killedAt)
  await pm2.stop('timed')
  return { start: first - at, restart: again - killedAt }
}

async function tryPlain(): Promise<number> {
  const at = Date.now()
  const { child, printed } = spawnPlain()
  const first = await printed
  child.kill('SIGKILL')
  return first - at
}

function spawnPlain(): { child: ChildProcess; printed: Promise<number> } {
  const child = spawn(process.execPath, [script], { cwd: scratch, stdio: ['ignore', 'pipe', 'inherit'] })
  return { child, printed: new Promise((resolve) => child.stdout.once('data', (line) => resolve(Number(line)))) }
}

/**
 * What a bot costs beyond itself. All three ways have both supervisors beside them and the same number of bots, so that
 * the pages of the one node binary are shared by as many. Of a supervisor only its own memory counts (and how much of
 * it bots added): its share of that binary shrinks with each bot. Each has had all bots before, so that it is warm.
 */
async function compareMemory(botIds: string[]): Promise<void> {
  const names = botIds.map((_, index) => `bot-${index}`)
  const children = botIds.map(() => spawnPlain())
  await Promise.all(children.map(({ printed }) => printed))
  await sleep(settleMs)
  const plain = sum(children.map(({ child }) => memoryKb(child.pid ?? 0).pss)) / bots
  for (const { child } of children) child.kill('SIGKILL')

  for (const name of names) await pm2.start(name)
  for (const name of names) await pm2.stop(name)
  await sleep(settleMs)
  const daemonBefore = memoryKb(pm2.pid()).anonymous
  for (const name of names) await pm2.start(name)
  await sleep(settleMs)
  const daemonGrowth = (memoryKb(pm2.pid()).anonymous - daemonBefore) / bots
  const pids = await Promise.all(names.map((name) => pm2.pidOf(name)))
  const inside = sum(pids.map((pid) => memoryKb(pid).pss)) / bots - plain
  for (const name of names) await pm2.stop(name)

  await sleep(settleMs)
  const serverBefore = memoryKb(host.pid).anonymous
  for (const id of botIds) await startOurs(id)
  await sleep(settleMs)
  const serverGrowth = (memoryKb(host.pid).anonymous - serverBefore) / bots
  const monitors = botIds.map((id) => host.noteOf(id).monitor)
  const walls = sum(monitors.flatMap((pid) => [pid, ...childrenOf(pid)]).map((pid) => memoryKb(pid).pss)) / bots
  const ourBot = sum(monitors.map((pid) => memoryKb(botPid(pid)).pss)) / bots

  const ours = walls + Math.max(0, serverGrowth)
  const theirs = inside + Math.max(0, daemonGrowth)
  console.log(`\nMemory a bot, with ${bots} of them:`)
  const show = (name: string, kb: number) => console.log(`  ${name.padEnd(44)} ${Math.round(kb)} kB`)
  show('the bot itself, plain spawn', plain)
  show('the bot itself, botberth', ourBot)
  show('botberth: monitor and first process', walls)
  show('botberth: growth of the server', serverGrowth)
  show('PM2: inside of the bot', inside)
  show('PM2: growth of the daemon', daemonGrowth)
  checkRatio('supervision memory / PM2', ours / theirs, most.memory)
}

/** Ours run already. */
async function compareSurvival(botIds: string[]): Promise<void> {
  const names = botIds.map((_, index) => `bot-${index}`)
  const ourPids = botIds.map((id) => botPid(host.noteOf(id).monitor))
  await host.kill()
  for (const name of names) await pm2.start(name)
  const theirPids = await Promise.all(names.map((name) => pm2.pidOf(name)))
  pm2.kill()
  await sleep(settleMs)
  const ours = ourPids.filter(isAlive).length
  const theirs = theirPids.filter(isAlive)
  for (const pid of theirs) process.kill(pid, 'SIGKILL')
  await host.start()
  await Promise.all(botIds.map((id) => host.untilState(id, 'running')))
  const found = botIds.filter((id, index) => botPid(host.noteOf(id).monitor) === ourPids[index]).length
  console.log(`\nBots alive after kill -9 of what supervises them, of ${bots}:`)
  console.log(`  botberth ${ours}, and ${found} found again by the next server (all are wanted)`)
  console.log(`  PM2      ${theirs.length}`)
  if (ours < bots || found < bots) process.exitCode = 1
}

async function makeDeployed(): Promise<string> {
  const botId = await host.makeBot(url)
  await host.untilDeployed((await host.deploy(botId)).id)
  return botId
}

async function startOurs(botId: string): Promise<void> {
  const at = Date.now()
  await host.ask(`POST /servers/${botId}/power`, { signal: 'start' })
  await host.untilPrinted(botId, at)
}

async function power(botId: string, signal: 'stop'): Promise<void> {
  await host.ask(`POST /servers/${botId}/power`, { signal })
  await host.untilState(botId, 'offline')
}

interface Pm2 {
  /** Of the daemon. */
  pid(): number
  start(name: string): Promise<void>
  stop(name: string): Promise<void>
  pidOf(name: string): Promise<number>
  untilPrinted(name: string, at: number): Promise<number>
  /** Only the daemon, as a crash would. */
  kill(): void
  close(): Promise<void>
}

async function startPm2(): Promise<Pm2> {
  const folder = join(scratch, 'pm2')
  const args = [npm, 'install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', 'pm2@7']
  const { status } = spawnSync(process.execPath, args, {
    env: { ...process.env, NODE_USE_SYSTEM_CA: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) throw new Error('PM2 could not be installed')
  process.env['PM2_HOME'] = join(scratch, 'pm2-home') // read when it is loaded
  const api = createRequire(join(folder, 'index.js'))('pm2') as Pm2Api
  const call = <T>(run: (done: (error: Error | null, value: T) => void) => void) =>
    new Promise<T>((resolve, reject) => run((error, value) => (error ? reject(error) : resolve(value))))
  await call((done) => api.connect(done))

  const pid = () => Number(readFileSync(join(scratch, 'pm2-home', 'pm2.pid'), 'utf8'))
  const output = (name: string) => join(scratch, `${name}.out`)
  return {
    pid,
    start: (name) =>
      call((done) =>
        api.start(
          { name, script, cwd: scratch, out_file: output(name), error_file: `${output(name)}.err`, restart_delay: 0 },
          done,
        ),
      ),
    stop: async (name) => {
      await call((done) => api.delete(name, done))
      rmSync(output(name), { force: true })
    },
    pidOf: async (name) => {
      const [found] = await call<{ pid?: number }[]>((done) => api.describe(name, done))
      if (!found?.pid) throw new Error(`PM2 does not run ${name}`)
      return found.pid
    },
    untilPrinted: (name, at) =>
      until(`a line of ${name} under PM2`, () => {
        const text = existsSync(output(name)) ? readFileSync(output(name), 'utf8') : ''
        return (
          text
            .split('\n')
            .map(Number)
            .find((time) => time >= at) ?? false
        )
      }),
    kill: () => {
      api.disconnect() // or its client would look for the daemon for ever
      process.kill(pid(), 'SIGKILL')
    },
    close: async () => {
      if (!isAlive(pid())) return
      await call((done) => api.killDaemon(done))
      api.disconnect()
    },
  }
}

type Done = (error: Error | null, value: never) => void

interface Pm2Api {
  connect(done: Done): void
  start(options: object, done: Done): void
  delete(name: string, done: Done): void
  describe(name: string, done: Done): void
  killDaemon(done: Done): void
  disconnect(): void
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
