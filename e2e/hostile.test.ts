// Bombs of every kind at once beside good bots, on a whole server: the bombs end, the good ones never notice, and the API
// goes on answering.
import assert from 'node:assert/strict'
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGitServer } from '../server/test/git-server.ts'
import { until } from '../server/test/until.ts'
import { Host } from './host.ts'
import { beforeEnd, count, cpuMs, residentBytes } from './server.ts'

const isSoak = count({ short: 0, full: 1 }) === 1
const goodBots = count({ short: 5, full: 20 })
const attackMs = count({ short: 4_000, full: 60_000 }) // the log bomb has four kinds, of a second each
// Times are asserted in a soak only.
const calmMs = count({ short: 500, full: 5_000 })
const beatMs = 250
const lateMaxMs = 2_000
const normalWithinMs = 10_000

/** Writes down when it lives: whatever keeps it from that, the processor, the memory or the disk, shows as a gap. */
const good = `
const fs = require('fs')
setInterval(() => fs.appendFileSync('beats', Date.now() + '\\n'), ${beatMs})`

/** Each begins when a file tells it to, so that all begin at once. All of them are bounded by more than our walls. */
const armed = (bomb: string) => `
const fs = require('fs')
const timer = setInterval(() => {
  if (!fs.existsSync('go')) return
  clearInterval(timer)
  console.log('goes off')
  ${bomb}
}, 50)`

const bombs = {
  forks: armed(`
  const { spawn } = require('child_process')
  require('net').connect(5432, '10.0.0.1').on('error', () => {})
  let made = 0
  setInterval(() => { for (let i = 0; i < 20 && made < 2000; i++) spawn('sleep', ['424242']).on('spawn', () => made++).on('error', () => {}) }, 20)`),
  memory: armed(`
  const all = []
  setInterval(() => { if (all.length < 200) all.push(Buffer.alloc(10_000_000, 1)) }, 1)`),
  disk: armed(`
  const block = Buffer.alloc(1_000_000, 1)
  setInterval(() => {
    try { for (let i = 0; i < 2000; i++) fs.appendFileSync('full', block) } catch (error) { console.log(error.code) }
    fs.rmSync('full', { force: true })
  }, 100)`),
  // Lines, lines of nothing, a line without end, and bytes that are no text, a second of each.
  log: armed(`
  const all = [Buffer.from(('x'.repeat(80) + '\\n').repeat(12_000)), Buffer.alloc(1_000_000, '\\n'), Buffer.alloc(1_000_000, 'x'), require('crypto').randomBytes(1_000_000)]
  setImmediate(function more() { fs.writeSync(1, all[Math.floor(Date.now() / 1000) % all.length]); setImmediate(more) })`),
}

const git = await startGitServer()
const host = new Host()
await host.start()
beforeEnd(async () => {
  await host.close()
  await git.close()
})
const skip = await host.findMissingWalls()

test(`bombs of forks, memory, disk and log beside ${goodBots} good bots: the bombs end, the good ones stay up`, {
  skip,
}, async (t) => {
  const say = (what: string, figures: object) => t.diagnostic(`${what}: ${JSON.stringify(figures)}`)
  const [goodIds, ...bombIdLists] = await Promise.all([
    startBots('good', good, goodBots),
    ...Object.entries(bombs).map(([name, script]) => startBots(name, script, 1)),
  ])
  const bombIds = bombIdLists.flat()
  const [forks = '', memory = '', , log = ''] = bombIds
  const pid = host.running.child.pid ?? 0

  const calm = await measure(() => sleep(calmMs))
  const residentBefore = residentBytes(pid)
  const beginsAt = Date.now()
  for (const botId of bombIds) writeFileSync(join(home(botId), 'go'), '')
  const storm = await measure(async () => {
    await until('the memory bomb to end', async () => {
      const exit = (await host.stateOf(memory))['lastExit'] as { oomKilled: boolean } | null
      return exit?.oomKilled === true
    })
    await sleep(Math.max(0, attackMs - (Date.now() - beginsAt)))
    assert(Number((await host.stateOf(forks))['processes']) <= 256)
  })
  const residentMost = residentBytes(pid)
  const endsAt = Date.now()
  await until('its owner to be told', async () => isTold(await host.linesOf(forks)))
  await until('the owner of the log to be told', async () => {
    const { body } = await host.ask(`GET /servers/${log}/logs?stream=system&q=came%20too%20fast`)
    return (body['data'] as unknown[]).length > 0
  })

  const stopsAt = Date.now()
  await Promise.all(bombIds.map((botId) => host.ask(`POST /servers/${botId}/power`, { signal: 'stop' })))
  for (const botId of bombIds) await host.untilState(botId, 'offline')
  await until('all of their processes to be gone', () => host.processesWith('424242').length === 0)
  const goneMs = Date.now() - stopsAt
  if (isSoak) await sleep(Math.max(0, normalWithinMs - goneMs))
  const after = await measure(() => sleep(calmMs))
  const residentAfter = residentBytes(pid)

  const late = goodIds
    .map((botId) => Math.max(0, longestGap(botId, { beginsAt, endsAt }) - beatMs))
    .toSorted((a, b) => a - b)
  say('ms that a good bot was late at most, the median bot and the worst', {
    median: late[Math.floor(late.length / 2)],
    worst: late.at(-1),
  })
  say('ms of the API before, meanwhile and after', { calm, storm, after })
  say(
    'MB of the server before, meanwhile and after',
    [residentBefore, residentMost, residentAfter].map((bytes) => Math.round(bytes / 1e6)),
  )
  say('ms until the bombs were gone', { goneMs })

  for (const botId of goodIds) {
    const { state, restarts } = await host.stateOf(botId)
    assert.deepEqual([state, restarts], ['running', 0])
  }
  if (!isSoak) return // on a machine that does other things meanwhile, times say little
  assert((late.at(-1) ?? 0) < lateMaxMs, `${late.at(-1)} ms late`)
  assert(storm.p99 < 1_000 && storm.max < 5_000, JSON.stringify(storm))
  assert(goneMs < normalWithinMs, `${goneMs} ms`)
  assert(after.p50 < calm.p50 * 2 + 10 && after.p99 < 1_000, JSON.stringify({ calm, after }))
  assert(residentAfter < residentBefore + 150e6, `${residentBefore} bytes, then ${residentAfter}`)
})

async function startBots(name: string, script: string, howMany: number): Promise<string[]> {
  const { url } = await git.addRepo(name, { 'index.js': script })
  const bots: string[] = []
  for (let index = 0; index < howMany; index++)
    bots.push(await host.makeBot({ type: 'git', gitUrl: url, language: 'javascript' }))
  const ids = await Promise.all(bots.map((botId) => host.askToDeploy(botId)))
  for (const id of ids) {
    const { status, error } = await host.untilDeployed(id, 300_000)
    assert.equal(status, 'succeeded', JSON.stringify(error))
  }
  return bots
}

function home(botId: string): string {
  return join(host.dataDir, 'bots', botId, 'home')
}

function longestGap(botId: string, { beginsAt, endsAt }: { beginsAt: number; endsAt: number }): number {
  const beats = readFileSync(join(home(botId), 'beats'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(Number)
  const during = beats.filter((at) => at > beginsAt - 2 * beatMs && at < endsAt + lateMaxMs)
  return Math.max(...during.slice(1).map((at, index) => at - (during[index] ?? 0)), endsAt - (during.at(-1) ?? 0))
}

function isTold(lines: readonly string[]): boolean {
  return ['limit of 256 processes', 'to 10.0.0.1:5432 was refused'].every((words) =>
    lines.some((line) => line.includes(words)),
  )
}

interface Figures {
  /** In milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly asked: number
  /** Of one processor. */
  readonly serverCpu: number
  /** What bots have written and nobody has read yet takes at most so much of the disk. */
  readonly outputMb: number
}

function outputOnDisk(): number {
  const files = globSync(join(host.dataDir, 'bots', '*', 'output', '*'))
  const sizes = files.map((file) => statSync(file, { throwIfNoEntry: false })?.blocks ?? 0)
  return sizes.reduce((sum, blocks) => sum + blocks * 512, 0)
}

/** How long the API takes while something goes on: asked ten times a second, whether it has answered or not. */
async function measure(work: () => Promise<unknown>): Promise<Figures> {
  const [pid, times] = [host.running.child.pid ?? 0, [] as number[]]
  const [begin, cpuBegin] = [performance.now(), cpuMs(pid)]
  const asked: Promise<void>[] = []
  const ask = async (path: string) => {
    const askedAt = performance.now()
    assert.equal((await host.ask(`GET ${path}`)).status, 200)
    times.push(performance.now() - askedAt)
  }
  let outputBytes = 0
  const timer = setInterval(() => {
    asked.push(ask('/version'), ask('/bots'))
    outputBytes = Math.max(outputBytes, outputOnDisk())
  }, 100)
  try {
    await work()
  } finally {
    clearInterval(timer)
    await Promise.all(asked)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  const serverCpu = Math.round(((cpuMs(pid) - cpuBegin) / (performance.now() - begin)) * 100) / 100
  return {
    p50: at(0.5),
    p99: at(0.99),
    max: at(1),
    asked: times.length,
    serverCpu,
    outputMb: Math.round(outputBytes / 1e6),
  }
}
