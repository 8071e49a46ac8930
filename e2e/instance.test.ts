// A whole instance, from one machine to an empty one: what is in the backup, what a restore refuses, and what is left of one
// that was killed. The second data directory stands for the second machine.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, openSync, readFileSync, readSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startReceiver } from '../server/test/receiver.ts'
import { until } from '../server/test/until.ts'
import { Host } from './host.ts'
import { beforeEnd, launch, makeScratch, root, stopServer } from './server.ts'

type Json = Record<string, unknown>

const scratch = makeScratch('instance')
const archive = join(scratch, 'instance.tar.zst')
const passphrase = 'four words nobody guesses'

interface How {
  readonly dataDir: string
  readonly passphrase?: string
}

function start(command: 'backup' | 'restore', file: string, how: How) {
  const child = spawn(process.execPath, [join(root, 'server/src/instance.ts'), command, file], {
    env: { PATH: process.env['PATH'], DATA_DIR: how.dataDir, BOTBERTH_PASSPHRASE: how.passphrase ?? passphrase },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = new Promise<number | string>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal ?? '')),
  )
  return { child, exited, output: () => output }
}

async function run(command: 'backup' | 'restore', file: string, how: How): Promise<string> {
  const { exited, output } = start(command, file, how)
  assert.equal(await exited, 0, output())
  return output()
}

async function assertRefused(command: 'backup' | 'restore', file: string, how: How & { words: RegExp }): Promise<void> {
  const { exited, output } = start(command, file, how)
  assert.equal(await exited, 1, output())
  assert.match(output(), how.words)
  assert.doesNotMatch(output(), /\n\s+at |four words/, 'neither a stack nor the passphrase')
}

/** Remembers its first run in a file, which is its own and in no release. */
const remembering = `
const fs = require('fs')
if (!fs.existsSync('memory')) {
  fs.writeFileSync('memory', String(Math.random()))
  fs.linkSync('memory', 'same memory')
}
console.log('memory ' + fs.readFileSync('memory', 'utf8') + ' ' + process.env.WORD)
setInterval(() => fs.appendFileSync('beats', 'x'), 20)`

async function makeBot(host: Host, files: Record<string, string>): Promise<string> {
  const botId = await host.makeBot({})
  for (const [name, body] of Object.entries(files)) await host.fetchBytes(`PUT /bots/${botId}/files/${name}`, { body })
  await host.ask(`PUT /servers/${botId}/startup/variable`, { key: 'WORD', value: 'sealed', secret: true })
  const deployed = await host.deploy(botId)
  assert.equal(deployed['status'], 'succeeded', JSON.stringify(deployed['error']))
  return botId
}

/** What its owner sees of a bot. */
async function lookAt(host: Host, botId: string): Promise<Json> {
  const { status, body } = await host.ask(`GET /bots/${botId}`)
  assert.equal(status, 200)
  const { server: _, ...rest } = body
  return rest
}

test('an instance is restored on an empty machine: everybody signs in, every bot runs, every webhook is delivered', async () => {
  const receiver = await startReceiver(() => 500)
  const host = new Host()
  await host.start()
  let isGone = false
  beforeEnd(async () => {
    if (isGone) return
    if (host.running.child.exitCode !== null) await host.start()
    await host.close()
  })
  const otherKey = await host.signUp('somebody')
  const own = await makeBot(host, { 'index.js': remembering })
  const memory = await host.printed(own, 'memory')
  host.owns(otherKey)
  const [others, resting] = await host.as(otherKey, async () => [
    await makeBot(host, {
      'package.json': JSON.stringify({ main: 'index.js', dependencies: { ms: '2.1.3' } }),
      // One that does what it can to be in the way.
      'index.js': `require('fs').mkdirSync('d/'.repeat(205), { recursive: true })
        console.log('day ' + require('ms')('1d')); setInterval(() => {}, 1000)`,
    }),
    await makeBot(host, { 'index.js': remembering }),
  ])
  assert(others !== undefined && resting !== undefined)
  await host.as(otherKey, async () => {
    await host.ask(`POST /servers/${resting}/power`, { signal: 'stop' })
    await host.untilState(resting, 'offline')
  })
  const backup = String((await host.ask(`POST /bots/${own}/backups`)).body['id'])
  await until('the backup', async () => {
    return (await host.ask(`GET /bots/${own}/backups/${backup}`)).body['status'] === 'completed'
  })
  const subscribed = await host.ask('POST /webhooks/subscriptions', {
    url: receiver.url(),
    events: ['backup.completed'],
  })
  assert.equal(subscribed.status, 201)
  const second = String((await host.ask(`POST /bots/${own}/backups`)).body['id'])
  await until('a delivery that fails', () => receiver.hits.length > 0)
  const seen = { own: await lookAt(host, own), others: await host.as(otherKey, () => lookAt(host, others)) }
  const me = await host.as(otherKey, async () => (await host.ask('GET /me')).body['id'])

  await assertRefused('backup', archive, { dataDir: host.dataDir, words: /A server is using .* Stop it first/ })
  await stopServer(host.running)
  await assertRefused('backup', archive, { dataDir: host.dataDir, passphrase: 'short', words: /12 characters/ })
  await assertRefused('backup', join(host.dataDir, 'x'), { dataDir: host.dataDir, words: /is inside of/ })
  await assertRefused('backup', archive, { dataDir: join(scratch, 'none'), words: /no instance/ })
  const words = await run('backup', archive, { dataDir: host.dataDir })
  assert.match(words, new RegExp(`Left out: files/bots/${others}/.*: There are more than 200 folders`))
  assert.match(words, /\n1 files or folders could not be read/)
  assert.equal(statSync(archive).mode & 0o777, 0o600)
  await assertRefused('backup', archive, { dataDir: host.dataDir, words: /is there already/ })
  const beats = () => statSync(join(host.dataDir, 'bots', own, 'home/beats')).size
  const before = beats()
  await until('its bots to go on', () => beats() > before)
  // The first machine burns down.
  await host.start()
  await host.close()
  isGone = true

  const rescue = new Host()
  const dataDir = rescue.dataDir
  await showRefusals(dataDir)
  await showKills(dataDir)
  assert.match(await run('restore', archive, { dataDir }), /Restored the instance/)
  await assertRefused('restore', archive, { dataDir, words: /not empty/ })
  receiver.answer = () => 200
  await rescue.start()
  beforeEnd(async () => {
    await rescue.removeBots() // those of the owner, whom it does not know to have any
    await rescue.close()
  })
  rescue.owns(otherKey)
  // Everybody signs in: by the keys of before, and anew, to the same account.
  assert.equal((await rescue.ask('GET /me')).status, 200)
  const again = await rescue.signUp('somebody')
  for (const key of [otherKey, again])
    assert.equal(await rescue.as(key, async () => (await rescue.ask('GET /me')).body['id']), me)
  // Every bot runs, with what it had.
  await rescue.untilState(own, 'running')
  const names = ['memory', 'same memory'].map((name) => statSync(join(dataDir, 'bots', own, 'home', name)).ino)
  assert.equal(new Set(names).size, 1, 'a file with two names is one')
  await until('its line', async () => {
    return (await rescue.linesOf(own)).findLast((line) => line.startsWith('memory')) === `memory ${memory}`
  })
  await rescue.as(otherKey, async () => {
    await rescue.untilState(others, 'running')
    assert.equal(await rescue.printed(others, 'day'), '86400000')
    assert.equal((await rescue.stateOf(resting))['state'], 'offline')
    await rescue.ask(`POST /servers/${resting}/power`, { signal: 'start' })
    await rescue.untilState(resting, 'running')
    assert.deepEqual(await lookAt(rescue, others), seen.others)
  })
  assert.deepEqual(await lookAt(rescue, own), seen.own)
  // Every webhook is delivered.
  await until('the delivery', () => receiver.hits.some(({ status }) => status === 200))
  const told = receiver.hits
    .filter(({ status }) => status === 200)
    .map(({ body }) => (JSON.parse(body) as Json)['backupId'])
  assert.deepEqual(told, [second])
  // Its backups too can be restored, and it can be deployed.
  await rescue.ask(`POST /bots/${own}/backups/${backup}/restore`)
  await until('the restore', async () => {
    const { lastRestore } = (await rescue.ask(`GET /bots/${own}/backups/${backup}`)).body as {
      lastRestore: Json | null
    }
    return lastRestore?.['status'] === 'completed'
  })
  assert.equal((await rescue.as(otherKey, () => rescue.deploy(others)))['status'], 'succeeded')
})

/** Nothing is changed by what cannot be restored. */
async function showRefusals(dataDir: string): Promise<void> {
  const broken = join(scratch, 'broken')
  const how = { dataDir, words: /Nothing was changed/ }
  copyFileSync(archive, broken)
  truncateSync(broken, statSync(archive).size - 1000)
  await assertRefused('restore', broken, how)
  copyFileSync(archive, broken)
  const file = openSync(broken, 'r+')
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, 5_000)
  writeSync(
    file,
    byte.map((value) => value ^ 0x55),
    0,
    1,
    5_000,
  )
  await assertRefused('restore', broken, { dataDir, words: /checksum is wrong/ })
  await assertRefused('restore', archive, {
    dataDir,
    passphrase: 'another one than before',
    words: /passphrase is not/,
  })
  await assertRefused('restore', join(scratch, 'nothing'), { dataDir, words: /cannot be read/ })
  assert.equal(existsSync(dataDir), false)
}

/** Whatever a killed one leaves, no server starts on it, and the next restore begins anew. */
async function showKills(dataDir: string): Promise<void> {
  const postgres = join(dataDir, 'postgres-18/postmaster.pid')
  const signs: (() => boolean)[] = [
    () => existsSync(join(dataDir, 'restore.json')),
    () => existsSync(join(dataDir, 'restore-database')),
    () => existsSync(postgres) && readFileSync(postgres, 'utf8').includes('ready'), // and about to be filled
  ]
  for (const isReached of signs) {
    const restoring = start('restore', archive, { dataDir })
    while (!isReached() && restoring.child.exitCode === null) await sleep(1)
    restoring.child.kill('SIGKILL')
    assert.equal(await restoring.exited, 'SIGKILL', restoring.output())
    const refused = launch({ dataDir })
    assert.equal(await refused.exited, 1, refused.output())
    assert.match(refused.output(), /The restore into .* was not finished. Run npm run instance:restore again/)
  }
}
