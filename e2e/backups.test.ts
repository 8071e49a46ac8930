// kill -9 at every step of a backup and of a restore, and at random: the bot is what it was or what it is restored to,
// never between; no archive is lost, nothing is stuck, and the event is sent once. Then a large tree under heavy writing.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../server/test/until.ts'
import { Host } from './host.ts'
import { makeRandom } from './random.ts'
import { beforeEnd, count, residentBytes } from './server.ts'

type Json = Record<string, unknown>

const files = 20
const small = count({ short: 2_000, full: 100_000 })
const large = count({ short: 48, full: 2048 })
const diskMb = Math.max(512, large * 3 + 1024)
// A restored bot that dies at its start has to be seen to, on any machine.
const host = new Host({
  BOT_LIMITS: `1024,2,${diskMb}`,
  BOT_LIMITS_MAX: `2048,2,${diskMb}`,
  MIN_READY_SECONDS: '3',
})

before(async () => {
  await host.start()
  beforeEnd(() => host.close())
})

/** Says in which world it is, by its files and by its variable. Takes its time to end. */
const program = `
const fs = require('fs')
const world = fs.readFileSync('world-0', 'utf8')
console.log('world ' + world + ' ' + process.env.WORLD)
if (fs.existsSync('dies-at-start')) process.exit(1)
process.on('SIGTERM', () => setTimeout(() => process.exit(0), 400))
setInterval(() => {}, 1000)
`

async function putWorld(botId: string, world: string): Promise<void> {
  for (let index = 0; index < files; index++)
    await host.fetchBytes(`PUT /bots/${botId}/files/world-${index}`, { body: world })
  await host.ask(`PUT /servers/${botId}/startup/variable`, { key: 'WORLD', value: world })
}

/** By every file of its folder and of its project, and by its variable. Mixed worlds show as several. */
async function worldsOf(botId: string): Promise<string[]> {
  const folders = [join(host.dataDir, 'bots', botId, 'home'), join(host.dataDir, 'sources', botId)]
  const texts = folders.flatMap((folder) =>
    Array.from({ length: files }, (_, index) => readFileSync(join(folder, `world-${index}`), 'utf8')),
  )
  const { variables } = (await host.ask(`GET /servers/${botId}/startup`)).body as { variables: { value: string }[] }
  return [...new Set([...texts, ...variables.map(({ value }) => value)])]
}

async function makeWorld({ mebibytes = 0 } = {}): Promise<string> {
  const botId = await host.makeBot({})
  await host.fetchBytes(`PUT /bots/${botId}/files/index.js`, { body: program })
  await putWorld(botId, 'A')
  const deployed = await host.deploy(botId)
  assert.equal(deployed['status'], 'succeeded', JSON.stringify(deployed['error']))
  // What does not compress takes its time.
  for (let index = 0; index < mebibytes / 8; index++)
    await host.fetchBytes(`PUT /bots/${botId}/files/bulk-${index}`, { body: randomBytes(8 * 1024 * 1024) })
  return botId
}

async function askForBackup(botId: string): Promise<string> {
  const { status, body } = await host.ask(`POST /bots/${botId}/backups`)
  assert.equal(status, 202, JSON.stringify(body))
  return String(body['id'])
}

async function untilBackedUp(botId: string, id: string): Promise<Json> {
  let seen: Json = {}
  await until(
    'the backup to end',
    async () => {
      const { status, body } = await host.ask(`GET /bots/${botId}/backups/${id}`)
      seen = body
      return status === 200 && seen['status'] !== 'running'
    },
    600_000,
  )
  return seen
}

async function untilRestored(botId: string, id: string): Promise<{ status: string; error: Json | null }> {
  let seen: { status: string; error: Json | null } | null = null
  await until(
    'the restore to end',
    async () => {
      const { status, body } = await host.ask(`GET /bots/${botId}/backups/${id}`)
      seen = body['lastRestore'] as typeof seen
      return status === 200 && seen !== null && seen.status !== 'running'
    },
    600_000,
  )
  assert(seen)
  return seen
}

/** Whatever was under way has left nothing behind. */
async function assertClean(botId: string): Promise<void> {
  await until('everything to be cleared away', async () => {
    const open = await host.query("select 1 from restores where step <> 'done'", [])
    const left = ['drafts', 'restores'].flatMap((folder) => readdirSync(join(host.dataDir, 'backups', folder)))
    return open.length + left.length + globSync(join(host.dataDir, 'bots', botId, 'staged/*')).length === 0
  })
}

test('kill -9 in the middle of a backup: it is taken up, complete, and told once', async () => {
  const botId = await makeWorld({ mebibytes: 48 })
  for (const moment of ['begun', 'half', 'nearly'] as const) {
    const id = await askForBackup(botId)
    const draft = join(host.dataDir, 'backups/drafts', id, 'archive')
    await until('the archive to grow', () => {
      const size = statSync(draft, { throwIfNoEntry: false })?.size ?? 0
      return size > { begun: -1, half: 16, nearly: 40 }[moment] * 1024 * 1024
    })
    await host.kill({ isWithDatabase: moment === 'half' })
    await host.start()
    const backup = await untilBackedUp(botId, id)
    assert.equal(backup['status'], 'completed', JSON.stringify(backup))
    const archive = await host.fetchBytes(`GET /bots/${botId}/backups/${id}/download`)
    assert.equal(createHash('sha256').update(archive).digest('hex'), backup['checksum'])
    const told = (await host.eventsOf(botId)).filter(({ backupId }) => backupId === id)
    assert.deepEqual(
      told.map(({ event, sizeBytes }) => [event, sizeBytes]),
      [['backup.completed', archive.length]],
    )
  }
  await assertClean(botId)
  await host.ask(`DELETE /bots/${botId}`)
})

interface Restore {
  readonly id: string
  readonly step: string
}

/** Undefined: none since that one. */
async function lastRestoreOf(botId: string, before?: Restore): Promise<Restore | undefined> {
  const text = 'select id, step from restores where bot_id = $1 order by id desc limit 1'
  const [row] = await host.query(text, [botId])
  const found = row && { id: String(row['id']), step: String(row['step']) }
  return found?.id === before?.id ? undefined : found
}

async function lastWorld(botId: string): Promise<string | undefined> {
  return (await host.linesOf(botId)).findLast((line) => line.startsWith('world'))
}

async function makeBackup(botId: string): Promise<string> {
  const id = await askForBackup(botId)
  assert.equal((await untilBackedUp(botId, id))['status'], 'completed')
  return id
}

const untouched = { status: '-', error: null }
const steps = ['preparing', 'swapping', 'trying', 'going_back', 'cleaning']
const rounds = count({ short: 1, full: 10 })
test(`kill -9 of the server at each step of a restore, ${rounds} times: all of each bot is in one world`, async (t) => {
  const random = makeRandom(t)
  // One is killed at the very step, the others wherever they are by then.
  const [atStep, ...anywhere] = await Promise.all([makeWorld({ mebibytes: 8 }), makeWorld(), makeWorld()])
  const bots = [atStep, ...anywhere]
  const good = new Map<string, string>()
  for (const botId of bots) good.set(botId, await makeBackup(botId))
  await host.fetchBytes(`PUT /bots/${atStep}/files/dies-at-start`, { body: 'x' })
  const deadly = await makeBackup(atStep)
  await host.ask(`DELETE /bots/${atStep}/files/dies-at-start`)
  for (let round = 0; round < rounds * steps.length; round++) {
    const step = steps[round % steps.length] ?? ''
    const isDeadly = (botId: string) => botId === atStep && step === 'going_back'
    const backupOf = (botId: string) => (isDeadly(botId) ? deadly : (good.get(botId) ?? ''))
    const ask = (botId: string) => host.ask(`POST /bots/${botId}/backups/${backupOf(botId)}/restore`)
    const changed = `B${round}`
    await Promise.all(bots.map((botId) => putWorld(botId, changed)))
    const before = await Promise.all(bots.map((botId) => lastRestoreOf(botId)))
    await ask(atStep)
    // The server may be gone when they ask, and then nothing was asked for.
    const others = anywhere.map((botId) => sleep(random() * 3_000).then(() => ask(botId).catch(() => undefined)))
    await until(`the step ${step}`, async () =>
      [step, 'done'].includes((await lastRestoreOf(atStep, before[0]))?.step ?? ''),
    )
    await host.kill({ isWithDatabase: step === 'swapping' })
    await Promise.all(others)
    await host.start()
    for (const [index, botId] of bots.entries()) {
      const isRestored = (await lastRestoreOf(botId, before[index])) !== undefined
      const { status, error } = isRestored ? await untilRestored(botId, backupOf(botId)) : untouched
      if (isRestored) assert.equal(status, isDeadly(botId) ? 'failed' : 'completed', JSON.stringify(error))
      const world = isRestored && !isDeadly(botId) ? 'A' : changed
      await assertClean(botId)
      await host.untilState(botId, 'running')
      assert.deepEqual(await worldsOf(botId), [world], `${botId} ${step}`)
      // What was not touched was not started again either.
      if (isRestored) await until('it to say so', async () => (await lastWorld(botId)) === `world ${world} ${world}`)
    }
  }
  t.diagnostic(`${rounds * steps.length} kills`)
  for (const botId of bots) {
    await host.ask(`DELETE /bots/${botId}`)
    await until('no orphan', () => host.processesWith(botId).length === 0)
  }
})

/** Makes a tree with everything in it that is hard to keep, says what it is, and then writes for all it is worth. */
const writer = ({ small, large }: { small: number; large: number }) => `
const fs = require('fs'), crypto = require('crypto')
if (!fs.existsSync('tree')) {
  fs.mkdirSync('tree')
  for (let index = 0; index < ${small}; index++) {
    if (index % 100 === 0) fs.mkdirSync('tree/d' + index / 100)
    fs.writeFileSync('tree/d' + Math.floor(index / 100) + '/f' + index, 'file ' + index, { mode: [0o644, 0o600, 0o755][index % 3] })
  }
  const block = crypto.randomBytes(1024 * 1024), file = fs.openSync('tree/large', 'w')
  for (let at = 0; at < ${large}; at++) { block.writeUInt32LE(at, 0); fs.writeSync(file, block) }
  fs.closeSync(file)
  fs.mkdirSync('tree/empty')
  fs.symlinkSync('d0/f0', 'tree/link'); fs.symlinkSync('/etc/passwd', 'tree/outside')
  fs.writeFileSync(Buffer.concat([Buffer.from('tree/'), Buffer.from([0xff, 0x0a, 0x22])]), 'odd')
}
const hash = crypto.createHash('sha256')
const look = (path) => {
  for (const name of fs.readdirSync(path, { encoding: 'buffer' }).sort(Buffer.compare)) {
    const at = Buffer.concat([path, Buffer.from('/'), name]), stats = fs.lstatSync(at)
    hash.update(name); hash.update(String(stats.mode))
    if (stats.isDirectory()) look(at)
    else if (stats.isSymbolicLink()) hash.update(fs.readlinkSync(at))
    else { const file = fs.openSync(at), part = Buffer.alloc(1 << 20); let n; while ((n = fs.readSync(file, part)) > 0) hash.update(part.subarray(0, n)); fs.closeSync(file) }
  }
}
look(Buffer.from('tree'))
console.log('tree ' + hash.digest('hex'))
fs.mkdirSync('busy', { recursive: true })
setInterval(() => {
  for (let index = 0; index < 50; index++) {
    fs.writeFileSync('busy/draft', String(Math.random()).repeat(500))
    fs.renameSync('busy/draft', 'busy/' + index)
    fs.appendFileSync('busy/log', 'x'.repeat(100))
  }
  fs.rmSync('busy/' + Math.floor(Math.random() * 50), { force: true })
  fs.mkdirSync('busy/d' + Math.random(), { recursive: true })
}, 5)
`

/** The bot runs again, and removes them as it likes. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

test(`${small} files and one of ${large} MiB under heavy writing: the same tree comes back, with less than 100 MB`, async (t) => {
  const botId = await host.makeBot({})
  await host.fetchBytes(`PUT /bots/${botId}/files/index.js`, { body: writer({ small, large }) })
  assert.equal((await host.deploy(botId))['status'], 'succeeded')
  const treesSaid = async () => (await host.linesOf(botId)).filter((line) => line.startsWith('tree '))
  await until('the tree', async () => (await treesSaid()).length === 1, 600_000)
  const { pid } = host.running.child
  assert(pid)
  const before = residentBytes(pid)
  let most = before
  const watch = setInterval(() => (most = Math.max(most, residentBytes(pid))), 50)
  const startedAt = Date.now()
  const id = await askForBackup(botId)
  const backup = await untilBackedUp(botId, id)
  assert.equal(backup['status'], 'completed', JSON.stringify(backup))
  const backedUpAt = Date.now()
  const home = join(host.dataDir, 'bots', botId, 'home')
  writeFileSync(join(home, 'tree/d0/f0'), 'changed')
  await host.ask(`POST /bots/${botId}/backups/${id}/restore`)
  const { status, error } = await untilRestored(botId, id)
  clearInterval(watch)
  assert.equal(status, 'completed', JSON.stringify(error))
  await until('the tree again', async () => (await treesSaid()).length === 2, 600_000)
  const [first, second] = await treesSaid()
  assert.equal(second, first)
  for (const name of readdirSync(join(home, 'busy')).filter((found) => /^\d+$/.test(found)))
    assert.match(readIfThere(join(home, 'busy', name)), /^((0\.\d+(?:e-\d+)?)\2{499})?$/)
  const mebibytes = Math.round((most - before) / 1024 / 1024)
  t.diagnostic(
    `backed up in ${backedUpAt - startedAt} ms, restored in ${Date.now() - backedUpAt} ms, ${mebibytes} MiB more at most`,
  )
  assert(mebibytes < 100, `${mebibytes} MiB`)
  await assertClean(botId)
})
