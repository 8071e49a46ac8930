import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits, makeDiskHost } from '../../../test/disk-host.ts'
import { until } from '../../../test/until.ts'
import { AppError } from '../../lib/app-error.ts'
import { isDiskFull } from '../../lib/disk-full.ts'
import { newId } from '../../lib/ids.ts'
import type { Workspace } from '../runtime.ts'
import { fileSystemBytes, imageBytes, makeFileSystem, makeImage } from './disk-image.ts'

const mebibyte = 1024 * 1024
const fillBytes = 'head -c 60000000 /dev/zero >big; echo "bytes $?"; '
const fillFiles =
  'node -e \'let i = 0; try { for (; i < 1e6; i++) fs.writeFileSync("f" + i, "") } catch (e) { console.log("files", e.code) }\'; '

test('a bot can write as much as it may have, in bytes and in files, and not more; it can delete again', async (t) => {
  for (const isClosed of [true, false]) {
    const host = makeDiskHost(t, { isClosed })
    if (!host) return
    const bot = await host.startBot(
      `head -c 31000000 /dev/zero >most && echo fits; ${fillBytes} rm big most; mkdir many; cd many; ${fillFiles} cd ..; rm -r many; echo x >y && echo again`,
    )
    await until('its end', async () => (await bot.text()).includes('again'))
    assert.equal(await bot.text(), 'fits\nbytes 1\nfiles ENOSPC\nagain\n')
    const { usedBytes, fullness } = await host.runtime.disk(bot.botId)
    assert(usedBytes < mebibyte && fullness !== undefined && fullness < 0.1, `${usedBytes} ${fullness}`)
    await host.runtime.remove(bot.botId)
  }
})

test('a build has no more room than the bot, and what it runs can tell', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const workspace = await host.prepare()
  const exec = (script: string) => run(workspace, script)
  const error = await exec('cp /dev/zero big').catch((reason: unknown) => reason)
  assert(isDiskFull(error), String(error))
  await workspace.discard()
  const next = await host.prepare(newId('bot', new Date()))
  assert.throws(() => writeFileSync(join(next.folder, 'big'), Buffer.alloc(40 * mebibyte)), { code: 'ENOSPC' })
  await next.discard()
})

test('a full disk is told as such by the file API, and by a start whose files do not fit', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const { runtime } = host
  const bot = await host.startBot('cat /dev/zero >big; echo full; exec sleep 300')
  await until('it', async () => (await bot.text()).includes('full'))
  assert(((await runtime.disk(bot.botId)).fullness ?? 0) >= 0.99)
  const data = async function* () {
    yield Buffer.alloc(mebibyte)
  }
  const refused = await runtime.writeFile(bot.botId, 'more', data()).catch((error: unknown) => error)
  assert(refused instanceof AppError && refused.code === 'limit_reached', String(refused))
  assert.deepEqual(
    (await runtime.listFiles(bot.botId, '')).map(({ name }) => name),
    ['big'],
  )
  await runtime.removeFile(bot.botId, 'big')
  await runtime.writeFile(bot.botId, 'more', data())
  const prepare = async (botId: string, releaseId: string) => {
    const workspace = await runtime.prepare({ id: botId, limits }, releaseId)
    writeFileSync(join(workspace.folder, 'half'), Buffer.alloc(18 * mebibyte))
    await workspace.keep()
  }
  await runtime.stop(bot.id, 0)
  await assert.rejects(host.startBot('true', { botId: bot.botId, prepare }), isDiskFull)
})

test('disks are found again by the next server, mounted again where they are not, and made larger', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const bot = await host.startBot('echo kept >own; echo up; exec sleep 300')
  await until('it', async () => (await bot.text()).includes('up'))
  await host.reopen()
  assert.deepEqual(mountsBelow(host.dataDir), [bot.botId], 'bots go on, and so do their disks')
  assert.equal(await host.read(bot.botId, 'own'), 'kept\n')
  await host.runtime.stop(bot.id, 0)
  await host.reopen()
  assert.deepEqual(mountsBelow(host.dataDir), [])
  assert.equal(existsSync(join(host.dataDir, 'bots', bot.botId, 'home')), false)
  assert(await host.runtime.hasFiles(bot.botId))
  assert.equal(await host.read(bot.botId, 'own'), 'kept\n')
  await host.reopen()
  assert(await host.runtime.hasRelease(bot.botId, bot.releaseId))
  await host.reopen()
  const larger = { ...limits, diskMb: 300 }
  const again = await host.startBot('cat own; head -c 250000000 /dev/zero >big && echo fits; exec sleep 300', {
    botId: bot.botId,
    limits: larger,
  })
  await until('it', async () => (await again.text()).includes('fits'))
  assert.equal(await again.text(), 'kept\nfits\n')
  assert.deepEqual(mountsBelow(host.dataDir), [bot.botId])
  // Smaller again: what it holds stays, and it starts.
  await host.runtime.stop(again.id, 0)
  const small = await host.startBot('test -s big && echo there', { botId: bot.botId })
  await until('it', async () => (await small.text()).includes('there'))
})

test('one that grew only in part grows on', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const bot = await host.startBot('exec sleep 300')
  await host.runtime.stop(bot.id, 0)
  const image = join(host.dataDir, 'images', bot.botId)
  truncateSync(image, imageBytes(64)) // killed after this
  await host.startBot('true', { botId: bot.botId, limits: { ...limits, diskMb: 64 } })
  execFileSync('sync', ['-f', join(host.dataDir, 'bots', bot.botId)])
  assert.equal(fileSystemBytes(image), imageBytes(64))
})

test('a removed bot leaves no image, mount or loop device, also while others run and files of it are open', async (t) => {
  const host = makeDiskHost(t, { isClosed: true })
  if (!host) return
  const one = await host.startBot('echo x >own; echo up; exec sleep 300')
  const other = await host.startBot('echo up; exec sleep 300')
  for (const { text } of [one, other]) await until('both', async () => (await text()).includes('up'))
  const { stream } = await host.runtime.openFile(one.botId, 'own')
  await host.runtime.remove(one.botId)
  assert.deepEqual(readdirSync(join(host.dataDir, 'images')), [other.botId])
  assert.deepEqual(readdirSync(join(host.dataDir, 'bots')), [other.botId])
  assert.deepEqual(mountsBelow(host.dataDir), [other.botId])
  stream.destroy()
  const image = join(host.dataDir, 'images', one.botId)
  await until('its loop device to go', () => Promise.resolve(!loopFiles().includes(image)))
  await host.runtime.remove(other.botId)
  await until('all to go', () => Promise.resolve(!loopFiles().includes(host.dataDir)))
})

test('killed while it makes a disk, a server leaves nothing that harms, and the next one makes it', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const images = join(host.dataDir, 'images')
  const botId = newId('bot', new Date())
  const draft = join(images, `${botId}.1.new`)
  await makeImage(draft, imageBytes(1))
  mkdirSync(`${draft}.at`)
  execFileSync('mount', ['-o', 'loop', draft, `${draft}.at`])
  writeFileSync(join(images, `${botId}.2.new`), 'half')
  mkdirSync(join(host.dataDir, 'bots', botId)) // and made its folder, without mounting it
  await host.reopen()
  assert.deepEqual(readdirSync(images), [])
  await until('the draft to go', () => Promise.resolve(!loopFiles().includes(draft)))
  const bot = await host.startBot('echo up', { botId })
  await until('it', async () => (await bot.text()).includes('up'))
  assert.deepEqual(mountsBelow(host.dataDir), [botId])
})

test('killed at any moment of a first deployment, also of one from before there were disks, it can be done again', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  await host.runtime.close()
  const code = `
    const { ProcessRuntime } = await import(${JSON.stringify(new URL('process-runtime.ts', import.meta.url))})
    const runtime = new ProcessRuntime({ dataDir: ${JSON.stringify(host.dataDir)} })
    console.log('ready')
    for (const id of process.argv.slice(1)) await runtime.prepare({ id, limits: ${JSON.stringify(limits)} }, 'dep_x')
    setInterval(() => {}, 1000)`
  const botIds: string[] = []
  for (let round = 0; round < 6; round++) {
    const [fresh, old] = [newId('bot', new Date()), newId('bot', new Date())]
    botIds.push(fresh, old)
    mkdirSync(join(host.dataDir, 'bots', old, 'home'), { recursive: true })
    writeFileSync(join(host.dataDir, 'bots', old, 'home', 'old'), Buffer.alloc(5 * mebibyte, 'x'))
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, fresh, old], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    await sleep(20 * round)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await host.reopen()
  for (const botId of botIds) await (await host.prepare(botId)).keep()
  // A program that mounts outlives whoever is killed: the next may mount the same disk over it, and both go together.
  assert.deepEqual([...new Set(mountsBelow(host.dataDir))].toSorted(), botIds.toSorted())
  for (const [index, botId] of botIds.entries())
    if (index % 2 === 1) assert.equal((await host.read(botId, 'old')).length, 5 * mebibyte)
  assert.deepEqual(readdirSync(join(host.dataDir, 'images')).toSorted(), botIds.toSorted())
  assert.deepEqual(readdirSync(join(host.dataDir, 'bots')).toSorted(), botIds.toSorted())
})

test('a damaged disk is mended and that is said; one that cannot be is kept as it is', async (t) => {
  const words: string[] = []
  const host = makeDiskHost(t, { warn: (fields) => words.push(JSON.stringify(fields)) })
  if (!host) return
  const bot = await host.startBot('echo kept >own; sync; exec sleep 300')
  await until('it', async () => (await host.runtime.listFiles(bot.botId, '')).some(({ name }) => name === 'own'))
  await host.runtime.stop(bot.id, 0)
  await host.reopen()
  const image = join(host.dataDir, 'images', bot.botId)
  execFileSync('debugfs', ['-w', '-R', 'set_super_value state 0', image], { stdio: 'ignore' })
  execFileSync('debugfs', ['-w', '-R', 'set_super_value free_blocks_count 7', image], { stdio: 'ignore' })
  assert.equal(await host.read(bot.botId, 'own'), 'kept\n')
  assert.match(words.join(), new RegExp(`${bot.botId}.*mended`))
  await host.reopen()
  const before = Buffer.alloc(8192, 0xff)
  const whole = readFileSync(image)
  writeFileSync(image, Buffer.concat([before, whole.subarray(before.length)]))
  await assert.rejects(host.runtime.hasFiles(bot.botId), /damaged/)
  assert.equal(statSync(image).size, whole.length)
})

test('a bot from before there were disks keeps its files: moved when it does not run, or where they are', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const makeOld = (sizeBytes: number) => {
    const botId = newId('bot', new Date())
    const home = join(host.dataDir, 'bots', botId, 'home')
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'old'), Buffer.alloc(sizeBytes, 'x'))
    return botId
  }
  const moved = await host.startBot('head -c 3 old; echo; df -k . | tail -1', { botId: makeOld(1000) })
  await until('it', async () => (await moved.text()).includes('loop'))
  assert.match(await moved.text(), /^xxx\n/)
  assert.deepEqual(mountsBelow(host.dataDir), [moved.botId])

  const large = await host.startBot('head -c 3 old; echo; exec sleep 300', { botId: makeOld(40 * mebibyte) })
  await until('it', async () => (await large.text()).includes('xxx'))
  assert.deepEqual(mountsBelow(host.dataDir), [moved.botId])
  const use = await host.runtime.disk(large.botId)
  assert(use.fullness === undefined && use.usedBytes > 40 * mebibyte)
  await host.runtime.stop(large.id, 0)
  await assert.rejects(host.startBot('true', { botId: large.botId }), /more than the 32 MB/)
  assert(await host.runtime.removeFile(large.botId, 'old'))
  const after = await host.startBot('echo up', { botId: large.botId })
  await until('it', async () => (await after.text()).includes('up'))
  assert(mountsBelow(host.dataDir).includes(large.botId))
  assert.deepEqual(readdirSync(join(host.dataDir, 'images')).toSorted(), [moved.botId, large.botId].toSorted())
})

test('killed while files are moved, they are where they were or in the image, and in one of them only', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  for (const isImageComplete of [false, true]) {
    const bot = await host.startBot('echo kept >own; exec sleep 300')
    await until('it', async () => (await host.runtime.listFiles(bot.botId, '')).some(({ name }) => name === 'own'))
    await host.runtime.stop(bot.id, 0)
    await host.reopen()
    const plain = join(host.dataDir, 'bots', `${bot.botId}.plain`)
    mkdirSync(join(plain, 'home'), { recursive: true })
    writeFileSync(join(plain, 'home', 'own'), 'plain\n')
    if (!isImageComplete) rmSync(join(host.dataDir, 'images', bot.botId))
    rmSync(join(host.dataDir, 'bots', bot.botId), { recursive: true })
    assert.equal(await host.read(bot.botId, 'own'), isImageComplete ? 'kept\n' : 'plain\n')
    assert.equal(existsSync(plain), false)
  }
})

test('dependencies that are shared are copied off the disk, once and whole', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const cache = { key: 'k1', folder: 'node_modules', isShared: true }
  const install = async ({ isWritable }: { isWritable: boolean }, key = cache.key) => {
    const workspace = await host.prepare()
    if (await workspace.useCache({ ...cache, key }, { isWritable })) return { workspace, isFound: true }
    await run(
      workspace,
      'mkdir -p node_modules/m; echo "module.exports = 42" >node_modules/m/index.js; chmod -R 6777 node_modules/m',
    )
    await workspace.fillCache({ ...cache, key }, { isWritable })
    return { workspace, isFound: false }
  }
  const works = 'node -e \'process.exit(require("m") === 42 ? 0 : 1)\''
  const both = await Promise.all([install({ isWritable: false }), install({ isWritable: false })])
  assert.deepEqual(readdirSync(join(host.dataDir, 'dependencies')), ['k1'])
  const later = await install({ isWritable: false })
  assert(later.isFound)
  for (const { workspace } of [...both, later]) await run(workspace, works)
  const writable = await install({ isWritable: true }, 'k2')
  await run(writable.workspace, `${works} && echo x >node_modules/own`)
  const shared = join(host.dataDir, 'dependencies', 'k2')
  assert.deepEqual(readdirSync(shared), ['m'])
  for (const name of ['m', 'm/index.js']) {
    const { uid, mode } = statSync(join(shared, name))
    assert.deepEqual([uid, (mode & 0o7777).toString(8)], [0, '755'])
  }
  for (const { workspace } of [...both, later, writable]) await workspace.discard()
})

test('many disks are mounted at once', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const botIds = Array.from({ length: 30 }, () => newId('bot', new Date()))
  await Promise.all(botIds.map(async (botId) => (await host.prepare(botId)).keep()))
  assert.deepEqual(mountsBelow(host.dataDir).toSorted(), botIds.toSorted())
  await Promise.all(botIds.map((botId) => host.runtime.remove(botId)))
  assert.deepEqual(mountsBelow(host.dataDir), [])
})

test('a file system is made without blocks for root, with as many files as blocks, and larger than what fits', () => {
  const argv = makeFileSystem('/x')
  assert.deepEqual(argv.slice(0, 3), ['mkfs.ext4', '-q', '-F'])
  assert(argv.join(' ').includes('-i 4096') && argv.join(' ').includes('-m 0'))
  assert(imageBytes(1024) > 1024 * mebibyte && imageBytes(1024) < 1120 * mebibyte)
})

/** Ids of bots whose disks are mounted. */
function mountsBelow(dataDir: string): string[] {
  const prefix = `${dataDir}/bots/`
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length))
}

function loopFiles(): string {
  return execFileSync('losetup', ['-a']).toString()
}

async function run(workspace: Workspace, script: string): Promise<void> {
  const { signal } = new AbortController()
  const argv = ['sh', '-c', script]
  await workspace.exec({ argv, releaseEnv: {}, env: {}, timeoutMs: 30_000, signal, onLine: () => {} })
}
