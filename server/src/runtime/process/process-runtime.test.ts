import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../../test/until.ts'
import { newId } from '../../lib/ids.ts'
import { readProc } from '../../lib/proc.ts'
import { testRuntime } from '../conformance.ts'
import type { Instance } from '../runtime.ts'
import { ProcessRuntime } from './process-runtime.ts'
import { findBubblewrap } from './sandbox.ts'
import { findToolchain, hideOwn } from './toolchain.ts'

const toolchain = findToolchain()
const { sandbox: walls, problem } = findBubblewrap(toolchain.find('bwrap'), toolchain)
const noWalls = walls ? undefined : `BUBBLEWRAP CANNOT BE USED, NOTHING OF IT IS TESTED: ${problem}`
const limits = { memoryMb: 256, cpus: 1, diskMb: 256 }

testRuntime('processes behind walls', (dataDir) => new ProcessRuntime({ dataDir }), noWalls)
testRuntime('processes without walls', (dataDir) => new ProcessRuntime({ dataDir, sandbox: 'shim' }))

test('what is ours cannot be seen where the system is shown', { skip: noWalls ?? false }, () => {
  assert.deepEqual(hideOwn(tmpdir()), [])
  const hiding = hideOwn('/usr/share')
  const { sandbox } = findBubblewrap(toolchain.find('bwrap'), toolchain, { hiding })
  assert(sandbox)
  const list = (found: typeof sandbox) => {
    const project = mkdtempSync(join(tmpdir(), 'botberth-'))
    const { argv, fds } = found.task(
      { project, mounts: [], name: 'x' },
      ['sh', '-c', 'ls /usr/share; >/usr/share/x'],
      {},
    )
    const { stdout } = spawnSync(argv[0] ?? '', argv.slice(1), {
      stdio: ['ignore', 'pipe', 'ignore', 'ignore', ...fds],
    })
    for (const fd of fds) closeSync(fd)
    rmSync(project, { recursive: true })
    return stdout.toString()
  }
  assert.equal(list(sandbox), '')
  assert(walls && list(walls) !== '')
})

for (const sandbox of ['bubblewrap', 'shim'] as const) {
  const skip = (sandbox === 'bubblewrap' && noWalls) || false

  test(`${sandbox}: a bot whose monitor is killed is lost, and nothing of it goes on`, { skip }, async () => {
    const { open, startBot } = makeHost(sandbox)
    for (const isAdopted of [false, true]) {
      let runtime = open()
      const seen: Instance[] = []
      const { id, text } = await startBot(
        runtime,
        '(setsid sh -c "while :; do echo beat; sleep 0.02; done" &); sleep 300',
      )
      await until('a beat', async () => (await text()).includes('beat'))
      if (isAdopted) {
        await runtime.close()
        runtime = open()
      }
      runtime.watch((instance) => seen.push(instance))
      process.kill(monitorOf(id), 'SIGKILL')
      if (isAdopted) await runtime.stop(id, 0)
      await until('the exit', () => Promise.resolve(seen.some((instance) => instance.id === id)))
      const exit = seen.find((instance) => instance.id === id)?.exit
      assert.deepEqual([exit?.code, exit?.signal], [null, null])
      const { length } = await text()
      await sleep(100)
      assert.equal((await text()).length, length)
      await runtime.close()
    }
  })

  test(`${sandbox}: a bot that we were killed right after starting is found again`, { skip }, async () => {
    const { open, startBot, dataDir } = makeHost(sandbox)
    const first = open()
    const { id, text } = await startBot(first, 'echo up; exec sleep 300')
    await until('it', async () => (await text()).includes('up'))
    await first.close()
    const note = join(dataDir, 'output', `${id}.json`)
    const { monitor: _, ...rest } = JSON.parse(readFileSync(note, 'utf8')) as Record<string, unknown>
    writeFileSync(note, JSON.stringify(rest))
    const second = open()
    assert.equal((await second.list()).find((instance) => instance.id === id)?.exit, undefined)
    await second.stop(id, 5_000)
    assert.equal((await second.list()).find((instance) => instance.id === id)?.exit?.code, 143)
    await second.close()
  })

  test(`${sandbox}: a bot that we were killed right before starting never was, and is started`, { skip }, async () => {
    const { open, startBot, dataDir } = makeHost(sandbox)
    const first = open()
    const { id, start } = await startBot(first, 'echo up; exec sleep 300')
    await first.stop(id, 0)
    await first.close()
    const [note, status] = [join(dataDir, 'output', `${id}.json`), join(dataDir, 'instances', `${id}.status`)]
    const { monitor: _, ...rest } = JSON.parse(readFileSync(note, 'utf8')) as Record<string, unknown>
    writeFileSync(note, JSON.stringify(rest))
    rmSync(status)
    const second = open()
    assert.deepEqual(await second.list(), [])
    await start(second)
    assert.equal((await second.list()).find((instance) => instance.id === id)?.exit, undefined)
    await second.stop(id, 0)
    await second.close()
  })

  test(`${sandbox}: a note that cannot be read ends its bot, and nothing else`, { skip }, async () => {
    const { open, startBot, dataDir } = makeHost(sandbox)
    const first = open()
    const broken = await startBot(first, 'echo up; exec sleep 300')
    const fine = await startBot(first, 'echo up; exec sleep 300')
    for (const { text } of [broken, fine]) await until('both', async () => (await text()).includes('up'))
    await first.close()
    writeFileSync(join(dataDir, 'output', `${broken.id}.json`), '')
    const second = open()
    assert.deepEqual(
      (await second.list()).map(({ id, exit }) => [id, exit]),
      [[fine.id, undefined]],
    )
    await until('its end', () => Promise.resolve(findNamed(broken.id).length === 0))
    await second.stop(fine.id, 0)
    await second.close()
  })
}

test('a machine that has no watch left for us is none to stop: ends are seen all the same', (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'botberth-watches-'))
  const script = `
    const { ProcessRuntime } = await import(process.argv[1])
    const runtime = new ProcessRuntime({ dataDir: process.argv[2], sandbox: 'shim' })
    const limits = ${JSON.stringify(limits)}
    await (await runtime.prepare({ id: 'bot_1', limits }, 'dep_1')).keep()
    await runtime.start({ id: 'ins_1', botId: 'bot_1', releaseId: 'dep_1', argv: ['sh', '-c', 'exit 7'], releaseEnv: {}, env: {}, limits })
    runtime.watch(({ exit }) => { console.log('code', exit.code); process.exit() })
    setTimeout(() => {}, 15_000)`
  const none = 'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"'
  const node = [process.execPath, '--input-type=module', '-e', script, join(import.meta.dirname, 'process-runtime.ts')]
  const args = ['--user', '--map-root-user', 'sh', '-c', none, 'sh', ...node, dataDir]
  const { stdout, stderr, status } = spawnSync('unshare', args, { timeout: 20_000 })
  rmSync(dataDir, { recursive: true })
  if (status !== 0 && /unshare|max_inotify/.test(stderr.toString())) t.diagnostic(`NOT TRIED: ${stderr.toString()}`)
  else assert.equal(stdout.toString(), 'code 7\n', stderr.toString())
})

test('a copy of the data directory has nothing to do with the processes of the original', async () => {
  const { open, startBot, dataDir } = makeHost('shim')
  const runtime = open()
  const { id, text } = await startBot(runtime, 'echo up; exec sleep 300')
  await until('it', async () => (await text()).includes('up'))
  const copy = mkdtempSync(join(tmpdir(), 'botberth-copy-'))
  cpSync(dataDir, copy, { recursive: true })
  const second = new ProcessRuntime({ dataDir: copy, sandbox: 'shim' })
  assert.deepEqual(await second.list(), [])
  await second.close()
  rmSync(copy, { recursive: true })
  assert.equal((await runtime.list()).find((instance) => instance.id === id)?.exit, undefined)
  await runtime.stop(id, 0)
  await runtime.close()
})

test('caches that nothing uses go after two weeks or when there are many; one that a release has stays', async () => {
  const { open, dataDir } = makeHost('shim')
  const runtime = open()
  const make = async (key: string, days: number) => {
    const botId = newId('bot', new Date())
    const releaseId = newId('dep', new Date())
    const workspace = await runtime.prepare({ id: botId, limits }, releaseId)
    mkdirSync(join(workspace.folder, 'node_modules'))
    await workspace.fillCache({ key, folder: 'node_modules', isShared: true }, { isWritable: false })
    await workspace.keep()
    age(key, days)
    return botId
  }
  const age = (key: string, days: number) => {
    const then = new Date(Date.now() - days * 86_400_000)
    utimesSync(join(dataDir, 'dependencies', key), then, then)
  }
  await make('used', 30)
  const gone = await make('old', 15)
  for (let count = 0; count < 60; count++) {
    mkdirSync(join(dataDir, 'dependencies', `k${count}`))
    age(`k${count}`, count / 10)
  }
  await runtime.removeReleases(gone, () => Promise.resolve([]))
  const left = readdirSync(join(dataDir, 'dependencies'))
  assert.equal(left.length, 50)
  assert(left.includes('used') && left.includes('k0') && !left.includes('old') && !left.includes('k59'))
  await runtime.close()
})

test('npm finds behind walls what was compiled of it', { skip: noWalls ?? false }, async () => {
  const { open } = makeHost('bubblewrap')
  const runtime = open()
  const workspace = await runtime.prepare({ id: newId('bot', new Date()), limits }, newId('dep', new Date()))
  const lines: string[] = []
  await workspace.exec({
    argv: ['npm', 'root', '--ignore-scripts'],
    releaseEnv: {},
    env: { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
    timeoutMs: 30_000,
    signal: new AbortController().signal,
    onLine: (line) => lines.push(line),
  })
  assert(
    lines.some((line) => /npm-cli\.js was accepted/.test(line)),
    lines.slice(0, 10).join('\n'),
  )
  await workspace.discard()
  await runtime.close()
})

test('shared caches are bounded in size: spare ones go, and where all are in use no more are shared', async () => {
  const { dataDir } = makeHost('shim')
  const runtime = new ProcessRuntime({ dataDir, sandbox: 'shim', sharedBytesMax: 3_000_000 })
  const shared = () => readdirSync(join(dataDir, 'dependencies')).toSorted()
  const make = async (key: string, botId = newId('bot', new Date())) => {
    const releaseId = newId('dep', new Date())
    const workspace = await runtime.prepare({ id: botId, limits }, releaseId)
    mkdirSync(join(workspace.folder, 'node_modules'))
    writeFileSync(join(workspace.folder, 'node_modules', 'large'), Buffer.alloc(1_500_000, 1))
    await workspace.fillCache({ key, folder: 'node_modules', isShared: true }, { isWritable: false })
    await workspace.keep()
    await runtime.removeReleases(botId, () => Promise.resolve([releaseId]))
    return { botId, releaseId }
  }
  const first = await make('a')
  await make('b')
  assert.deepEqual(shared(), ['a', 'b'])
  const third = await make('c')
  assert.deepEqual(shared(), ['a', 'b'], 'all are in use')
  const own = join(dataDir, 'bots', third.botId, 'releases', third.releaseId, 'node_modules', 'large')
  assert.equal(statSync(own).size, 1_500_000)
  await make('b', first.botId) // which leaves `a` to nobody
  assert.deepEqual(shared(), ['b'])
  await make('d')
  assert.deepEqual(shared(), ['b', 'd'])
  await runtime.remove(first.botId)
  assert(!readdirSync(join(dataDir, 'dependency-uses')).includes(first.botId))
  await runtime.close()
})

test('several bots whose old releases go at once get along with what is known of shared caches', async () => {
  const { open, dataDir } = makeHost('shim')
  const runtime = open()
  const keys = Array.from({ length: 20 }, (_, index) => `k${index}`)
  for (const key of keys) mkdirSync(join(dataDir, 'dependencies', key))
  const bots = Array.from({ length: 8 }, () => newId('bot', new Date()))
  await Promise.all(bots.map((botId) => runtime.removeReleases(botId, () => Promise.resolve([]))))
  assert.deepEqual(readdirSync(join(dataDir, 'dependency-sizes')).toSorted(), keys.toSorted())
  await runtime.close()
})

test('what a release has stays although nobody wrote that down, as earlier versions did not', async () => {
  const { dataDir } = makeHost('shim')
  const runtime = new ProcessRuntime({ dataDir, sandbox: 'shim', sharedBytesMax: 1 })
  const [botId, releaseId] = [newId('bot', new Date()), newId('dep', new Date())]
  const workspace = await runtime.prepare({ id: botId, limits }, releaseId)
  mkdirSync(join(workspace.folder, 'node_modules'))
  await workspace.fillCache({ key: 'used', folder: 'node_modules', isShared: true }, { isWritable: false })
  await workspace.keep()
  rmSync(join(dataDir, 'dependency-uses', botId))
  mkdirSync(join(dataDir, 'dependencies', 'spare'))
  await runtime.removeReleases(newId('bot', new Date()), () => Promise.resolve([]))
  assert.deepEqual(readdirSync(join(dataDir, 'dependencies')), ['used'])
  await runtime.close()
})

function makeHost(sandbox: 'bubblewrap' | 'shim') {
  const dataDir = mkdtempSync(join(tmpdir(), 'botberth-process-'))
  after(async () => {
    const runtime = new ProcessRuntime({ dataDir, sandbox })
    for (const { botId } of await runtime.list()) await runtime.remove(botId)
    await runtime.close()
    rmSync(dataDir, { recursive: true })
  })
  const startBot = async (runtime: ProcessRuntime, script: string) => {
    const [id, botId, releaseId] = [newId('ins', new Date()), newId('bot', new Date()), newId('dep', new Date())]
    await (await runtime.prepare({ id: botId, limits }, releaseId)).keep()
    const spec = { id, botId, releaseId, argv: ['sh', '-c', script], releaseEnv: {}, env: {}, limits }
    const start = (on: ProcessRuntime) => on.start(spec)
    await start(runtime)
    return { id, start, text: async () => (await runtime.readOutput(id, 'stdout', 0)).toString() }
  }
  return { dataDir, startBot, open: () => new ProcessRuntime({ dataDir, sandbox }) }
}

/** The one whose parent does not carry the name. */
function monitorOf(name: string): number {
  const named = findNamed(name)
  const parentOf = (pid: number) => Number(/^PPid:\s+(\d+)/m.exec(readProc(pid, 'status') ?? '')?.[1])
  const pid = named.find((candidate) => !named.includes(parentOf(candidate)))
  assert(pid !== undefined)
  return pid
}

function findNamed(name: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && readProc(pid, 'cmdline')?.split('\0').includes(name))
}
