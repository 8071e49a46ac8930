// kill -9 at every step of a backup and of a restore, and at random: the bot is what it was or what it is restored to,
// never between; no archive is lost, nothing is stuck, and the event is sent once. Then a large tree under heavy writing.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Host } from './host.ts'
import { count, residentBytes, waitFor } from './server.ts'

type Json = Record<string, unknown>

const files = 20

/** Says in which world it is, by its files and by its variable. Takes its time to end. */
const program = `
const fs = require('fs')
const world = fs.readFileSync('world-0', 'utf8')
console.log('world ' + world + ' ' + process.env.WORLD)
if (fs.existsSync('dies-at-start')) process.exit(1)
process.on('SIGTERM', () => setTimeout(() => process.exit(0), 400))
setInterval(() => {}, 1000)
`

async function putWorld(host: Host, botId: string, world: string): Promise<void> {
  for (let index = 0; index < files; index++)
    await host.fetchBytes(`PUT /bots/${botId}/files/world-${index}`, { body: world })
  await host.ask(`PUT /servers/${botId}/startup/variable`, { key: 'WORLD', value: world })
}

/** By every file of its folder and of its project, and by its variable. Mixed worlds show as several. */
async function worldsOf(host: Host, botId: string): Promise<string[]> {
  const folders = [join(host.dataDir, 'bots', botId, 'home'), join(host.dataDir, 'sources', botId)]
  const texts = folders.flatMap((folder) =>
    Array.from({ length: files }, (_, index) => readFileSync(join(folder, `world-${index}`), 'utf8')),
  )
  const { variables } = (await host.ask(`GET /servers/${botId}/startup`)).body as { variables: { value: string }[] }
  return [...new Set([...texts, ...variables.map(({ value }) => value)])]
}

async function makeWorld(host: Host, { mebibytes = 0 } = {}): Promise<string> {
  const botId = await host.makeBot({})
  await host.fetchBytes(`PUT /bots/${botId}/files/index.js`, { body: program })
  await putWorld(host, botId, 'A')
  const deployed = await host.deploy(botId)
  assert.equal(deployed['status'], 'succeeded', JSON.stringify(deployed['error']))
  // What does not compress takes its time.
  for (let index = 0; index < mebibytes / 8; index++)
    await host.fetchBytes(`PUT /bots/${botId}/files/bulk-${index}`, { body: randomBytes(8 * 1024 * 1024) })
  return botId
}

async function askForBackup(host: Host, botId: string): Promise<string> {
  const { status, body } = await host.ask(`POST /bots/${botId}/backups`)
  assert.equal(status, 202, JSON.stringify(body))
  return String(body['id'])
}

async function untilBackedUp(host: Host, botId: string, id: string): Promise<Json> {
  let seen: Json = {}
  await waitFor(
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

async function untilRestored(host: Host, botId: string, id: string): Promise<{ status: string; error: Json | null }> {
  let seen: { status: string; error: Json | null } | null = null
  await waitFor(
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
async function assertClean(host: Host, botId: string): Promise<void> {
  await waitFor('everything to be cleared away', async () => {
    const open = await host.query("select 1 from restores where step <> 'done'", [])
    const left = ['drafts', 'restores'].flatMap((folder) => readdirSync(join(host.dataDir, 'backups', folder)))
    return open.length + left.length + globSync(join(host.dataDir, 'bots', botId, 'staged/*')).length === 0
  })
}

test('kill -9 in the middle of a backup: it is taken up, complete, and told once', async () => {
  const host = new Host()
  await host.start()
  const botId = await makeWorld(host, { mebibytes: 64 })
  for (const moment of ['begun', 'half', 'nearly'] as const) {
    const id = await askForBackup(host, botId)
    const draft = join(host.dataDir, 'backups/drafts', id, 'archive')
    await waitFor('the archive to grow', () => {
      const size = statSync(draft, { throwIfNoEntry: false })?.size ?? 0
      return size > { begun: -1, half: 20, nearly: 50 }[moment] * 1024 * 1024
    })
    await host.kill({ isWithDatabase: moment === 'half' })
    await host.start()
    const backup = await untilBackedUp(host, botId, id)
    assert.equal(backup['status'], 'completed', JSON.stringify(backup))
    const archive = await host.fetchBytes(`GET /bots/${botId}/backups/${id}/download`)
    assert.equal(createHash('sha256').update(archive).digest('hex'), backup['checksum'])
    const told = (await host.eventsOf(botId)).filter(({ backupId }) => backupId === id)
    assert.deepEqual(
      told.map(({ event, sizeBytes }) => [event, sizeBytes]),
      [['backup.completed', archive.length]],
    )
  }
  await assertClean(host, botId)
  await host.close()
})

for (const step of ['preparing', 'swapping', 'trying', 'going_back', 'cleaning']) {
  test(`kill -9 of the server while a restore is ${step}: all of the bot is in one world`, async () => {
    const host = new Host()
    await host.start()
    const botId = await makeWorld(host, { mebibytes: 16 })
    if (step === 'going_back') await host.fetchBytes(`PUT /bots/${botId}/files/dies-at-start`, { body: 'x' })
    const id = await askForBackup(host, botId)
    assert.equal((await untilBackedUp(host, botId, id))['status'], 'completed')
    await host.ask(`DELETE /bots/${botId}/files/dies-at-start`)
    await putWorld(host, botId, 'B')
    await host.ask(`POST /bots/${botId}/backups/${id}/restore`)
    await waitFor(`the step ${step}`, async () => {
      const [row] = await host.query('select step from restores where bot_id = $1', [botId])
      return row?.['step'] === step || row?.['step'] === 'done'
    })
    await host.kill({ isWithDatabase: step === 'swapping' })
    await host.start()
    const { status, error } = await untilRestored(host, botId, id)
    const world = step === 'going_back' ? 'B' : 'A'
    assert.equal(status, step === 'going_back' ? 'failed' : 'completed', JSON.stringify(error))
    await assertClean(host, botId)
    await host.untilState(botId, 'running')
    assert.deepEqual(await worldsOf(host, botId), [world])
    await waitFor(
      'it to say so',
      async () =>
        (await host.linesOf(botId)).findLast((line) => line.startsWith('world')) === `world ${world} ${world}`,
    )
    await host.close()
    assert.deepEqual(host.processesWith(botId), [], 'no orphan')
  })
}

const kills = count({ short: 5, full: 50 })
test(`kill -9 at random, ${kills} times, in restores: one world each, and it always ends`, async (t) => {
  const host = new Host()
  await host.start()
  const botId = await makeWorld(host)
  const id = await askForBackup(host, botId)
  await untilBackedUp(host, botId, id)
  for (let round = 1; round <= kills; round++) {
    await putWorld(host, botId, `B${round}`)
    await host.ask(`POST /bots/${botId}/backups/${id}/restore`)
    await sleep(Math.random() * 5_000)
    await host.kill({ isWithDatabase: round % 3 === 0 })
    await host.start()
    const { status, error } = await untilRestored(host, botId, id)
    assert.equal(status, 'completed', JSON.stringify(error))
    await host.untilState(botId, 'running')
    assert.deepEqual(await worldsOf(host, botId), ['A'])
  }
  await assertClean(host, botId)
  t.diagnostic(`${kills} kills`)
  await host.close()
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

const small = count({ short: 3_000, full: 100_000 })
const large = count({ short: 64, full: 2048 })
test(`${small} files and one of ${large} MiB under heavy writing: the same tree comes back, with less than 100 MB`, async (t) => {
  const disk = String(Math.max(1024, large * 3 + 1024))
  const host = new Host({ BOT_LIMITS: `1024,2,${disk}`, BOT_LIMITS_MAX: `2048,2,${disk}` })
  await host.start()
  const botId = await host.makeBot({})
  await host.fetchBytes(`PUT /bots/${botId}/files/index.js`, { body: writer({ small, large }) })
  assert.equal((await host.deploy(botId))['status'], 'succeeded')
  const treesSaid = async () => (await host.linesOf(botId)).filter((line) => line.startsWith('tree '))
  await waitFor('the tree', async () => (await treesSaid()).length === 1, 600_000)
  const { pid } = host.running.child
  assert(pid)
  const before = residentBytes(pid)
  let most = before
  const watch = setInterval(() => (most = Math.max(most, residentBytes(pid))), 50)
  const startedAt = Date.now()
  const id = await askForBackup(host, botId)
  const backup = await untilBackedUp(host, botId, id)
  assert.equal(backup['status'], 'completed', JSON.stringify(backup))
  const backedUpAt = Date.now()
  const home = join(host.dataDir, 'bots', botId, 'home')
  writeFileSync(join(home, 'tree/d0/f0'), 'changed')
  await host.ask(`POST /bots/${botId}/backups/${id}/restore`)
  const { status, error } = await untilRestored(host, botId, id)
  clearInterval(watch)
  assert.equal(status, 'completed', JSON.stringify(error))
  await waitFor('the tree again', async () => (await treesSaid()).length === 2, 600_000)
  const [first, second] = await treesSaid()
  assert.equal(second, first)
  for (const name of readdirSync(join(home, 'busy')))
    if (/^\d+$/.test(name)) assert.match(readFileSync(join(home, 'busy', name), 'utf8'), /^(0\.\d+(?:e-\d+)?)\1{499}$/)
  const mebibytes = Math.round((most - before) / 1024 / 1024)
  t.diagnostic(
    `backed up in ${backedUpAt - startedAt} ms, restored in ${Date.now() - backedUpAt} ms, ${mebibytes} MiB more at most`,
  )
  assert(mebibytes < 100, `${mebibytes} MiB`)
  await assertClean(host, botId)
  await host.close()
})
