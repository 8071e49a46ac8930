// The service as docs/operate.md sets it up, inside the virtual machine: what happens to it must not happen to its bots.
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

type Json = Record<string, unknown>

const key = `svc_live_${'Service'.repeat(6)}`
const url = 'http://localhost:3000'
// Everything takes many times longer in an emulated machine.
const patienceMs = 1_200_000

const beating = `
const fs = require('fs')
console.log('up')
setInterval(() => fs.appendFileSync('beats', '.'), 200)`
// Not at once: a deployment succeeds when its bot has stayed up.
const bomb = `
console.log('up')
setInterval(() => { if (require('fs').existsSync('now')) for (const all = []; ; ) all.push(Buffer.alloc(1e7, 1)) }, 500)`

// What the server says, as it says it: for whoever looks for the reason of a failure.
const journal = spawn('journalctl', ['-f', '-u', 'botberth', '-o', 'short-monotonic'], {
  stdio: ['ignore', 'inherit', 'inherit'],
})

before(async () => {
  mkdirSync('/etc/botberth', { recursive: true, mode: 0o700 })
  writeFileSync('/etc/botberth/env', `BOOTSTRAP_API_KEY=${key}\nPUBLIC_RATE_LIMIT=0\nBOT_LIMITS=256,0.5,1024\n`, {
    mode: 0o600,
  })
  command('install', '-m', '644', '/opt/botberth/deploy/botberth.service', '/etc/systemd/system/')
  command('systemctl', 'daemon-reload')
  command('systemctl', 'enable', '--now', 'botberth')
  await untilReady()
})

after(() => {
  spawnSync('systemctl', ['stop', 'botberth', 'botberth.slice'])
  journal.kill()
})

test('all walls stand', async () => {
  const { walls } = (await ask('GET /operator/host')) as { walls: { name: string; state: string; detail: string }[] }
  const low = walls.filter(({ state }) => state !== 'on')
  assert.deepEqual(low, [])
  assert.match(JSON.stringify(walls), /systemd scopes/)
})

test('a bot runs in a scope of its own, with its limits', async () => {
  const group = groupOf(await makeBot(beating))
  assert.match(group, /\/botberth\.slice\/botberth-\w+\.slice\/botberth-\w+-bots\.slice\/botberth-\w+-bots-\w+\.scope$/)
  const read = (file: string) => readFileSync(join('/sys/fs/cgroup', group, file), 'utf8').trim()
  assert.deepEqual(['memory.max', 'memory.swap.max', 'pids.max'].map(read), [String(256 * 1024 * 1024), '0', '256'])
  const [quota = 0, period = 0] = read('cpu.max').split(' ').map(Number)
  assert.equal(quota / period, 0.5)
})

for (const [what, ...argv] of [
  ['a restart', 'restart', 'botberth'],
  ['a kill', 'kill', '-s', 'KILL', 'botberth'],
] as const) {
  test(`${what} of the service: the bot goes on, and is taken over`, async () => {
    const bot = await makeBot(beating)
    const [pid, server, beats] = [pidOf(bot), mainPid(), countBeats(bot)]
    command('systemctl', ...argv)
    await until('another server', () => ![0, server].includes(mainPid()))
    await untilReady()
    assert.equal(pidOf(bot), pid)
    await until('more beats', () => countBeats(bot) > beats)
    const { state, restarts } = await ask(`GET /servers/${bot}/resources`)
    assert.deepEqual([state, restarts], ['running', 0])
    await remove(bot)
    assert.equal(pidOf(bot), undefined)
  })
}

test('a memory bomb ends alone, and its owner is told', async () => {
  const [bystander, bot] = [await makeBot(beating), await makeBot(bomb)]
  const pid = pidOf(bystander)
  writeFileSync(join(home(bot), 'now'), '')
  await until('its end to be told', async () => {
    const { lastExit } = (await ask(`GET /servers/${bot}/resources`)) as { lastExit: { oomKilled: boolean } | null }
    return lastExit?.oomKilled === true
  })
  assert.equal(pidOf(bystander), pid)
  for (const id of [bystander, bot]) await remove(id)
})

test('a stopped service leaves bots running, stopping the slice ends them, and the next start brings them back', async () => {
  const bot = await makeBot(beating)
  const pid = pidOf(bot)
  command('systemctl', 'stop', 'botberth')
  assert.equal(mainPid(), 0)
  const beats = countBeats(bot)
  await until('more beats', () => countBeats(bot) > beats)
  assert.equal(pidOf(bot), pid)
  command('systemctl', 'stop', 'botberth.slice')
  assert.equal(pidOf(bot), undefined)
  assert.deepEqual(globSync('/sys/fs/cgroup/botberth.slice/**/*.scope'), [])
  command('systemctl', 'start', 'botberth')
  await untilReady()
  await until('it to run again', () => pidOf(bot) !== undefined)
  await until(
    'it to be called running',
    async () => (await ask(`GET /servers/${bot}/resources`))['state'] === 'running',
  )
  await remove(bot)
})

/** Again while the database is away: the server gives up on it for a moment when the machine is too slow. */
async function ask(request: string, body?: unknown): Promise<Json> {
  const [method = '', path = ''] = request.split(' ')
  const isText = typeof body === 'string'
  for (const end = Date.now() + patienceMs; ; await sleep(1_000)) {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { 'x-api-key': key, 'content-type': isText ? 'application/octet-stream' : 'application/json' },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (answer.status === 503 && Date.now() < end) continue
    if (answer.status === 404 && method === 'DELETE') return {} // done by the one before, whose answer was lost
    assert(answer.ok, `${request}: ${answer.status} ${text}`)
    return text === '' ? {} : (JSON.parse(text) as Json)
  }
}

/** One that runs this script and has said so. */
async function makeBot(script: string): Promise<string> {
  const { id } = await ask('POST /bots', { name: 'x', type: 'custom' })
  const bot = String(id)
  await ask(`PUT /bots/${bot}/files/index.js`, script)
  const deployment = await ask('POST /deployments', { botId: bot })
  let seen: Json = {}
  await until('the deployment to end', async () => {
    seen = await ask(`GET /deployments/${String(deployment['id'])}`)
    return seen['finishedAt'] !== null
  })
  assert.equal(seen['status'], 'succeeded', JSON.stringify(seen))
  return bot
}

async function remove(bot: string): Promise<void> {
  await ask(`DELETE /bots/${bot}`)
  await until('its end', () => pidOf(bot) === undefined)
}

function home(bot: string): string {
  return join('/var/lib/botberth/bots', bot, 'home')
}

function countBeats(bot: string): number {
  return readFileSync(join(home(bot), 'beats')).length
}

/** Of the bot's own process: its keepers do not have its variables. */
function pidOf(bot: string): number | undefined {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const found = pids.find((pid) => readProc(pid, 'environ').includes(`BOTBERTH_BOT_ID=${bot}`))
  return found === undefined ? undefined : Number(found)
}

function groupOf(bot: string): string {
  return readProc(String(pidOf(bot)), 'cgroup')
    .trim()
    .slice('0::'.length)
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return '' // it has ended
  }
}

/** 0: it does not run. */
function mainPid(): number {
  return Number(command('systemctl', 'show', '-p', 'MainPID', '--value', 'botberth'))
}

/** The walls are put up after it has begun to answer, and only then does the owner's key work for the first time. */
async function untilReady(): Promise<void> {
  await until('the server to be ready', async () => {
    const answer = await fetch(`${url}/api/v1/operator/host`, { headers: { 'x-api-key': key } }).catch(() => undefined)
    if (answer?.status !== 200) return false
    const { walls } = (await answer.json()) as { walls: { name: string; state: string }[] }
    return walls.some(({ name, state }) => name === 'network' && state !== 'off')
  })
}

function command(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8' })
}

async function until(what: string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + patienceMs
  console.log(`  waits for ${what}, ${Math.round(performance.now() / 1000)} s`)
  while (!(await ask())) {
    assert(Date.now() < end, `waited in vain for ${what}`)
    await sleep(1_000)
  }
}
