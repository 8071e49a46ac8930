import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { newId } from '../../lib/ids.ts'
import { findByArgument, readProc } from '../../lib/proc.ts'
import { ProcessRuntime } from './process-runtime.ts'

const limits = { memoryMb: 256, cpus: 1, diskMb: 256 }

for (const where of ['a folder that everybody may go through', 'one below a closed folder']) {
  test(`each bot is a user of its own, in ${where}`, async (t) => {
    const host = makeHost(t, { isClosed: where.startsWith('one') })
    if (!host) return
    const [first, second] = [
      await host.startBot('echo mine >own; echo up; exec sleep 300'),
      await host.startBot('echo up; exec sleep 300'),
    ]
    for (const { text } of [first, second]) await until('both', async () => (await text()).includes('up'))
    const users = [first, second].map(({ id }) => userOf(id))
    assert(users.every((user) => user >= 1_900_000_000) && users[0] !== users[1], String(users))

    const home = join(host.dataDir, 'bots', first.botId, 'home')
    assert.equal(statSync(join(home, 'own')).uid, users[0])
    await host.runtime.writeFile(first.botId, 'folder/sent', toChunks('sent'))
    assert.equal(statSync(join(home, 'folder/sent')).uid, users[0])
    // Whoever is past the walls of one still stands before the files of the other.
    assert.equal(statSync(join(host.dataDir, 'bots', second.botId)).mode & 0o7, 0)
    assert.equal(statSync(join(host.dataDir, 'bots', second.botId)).gid, users[1])
  })
}

test('a build is the bot’s user, and what it shares with others is nobody’s', async (t) => {
  const host = makeHost(t, { isClosed: true })
  if (!host) return
  const cache = { key: 'shared', folder: 'node_modules', isShared: true }
  const lines: string[] = []
  const workspace = await host.runtime.prepare({ id: newId('bot', new Date()), limits }, newId('dep', new Date()))
  writeFileSync(join(workspace.folder, 'source'), 'from us')
  await workspace.exec({
    argv: [
      'sh',
      '-c',
      'echo changed >>source && umask 077 && mkdir node_modules && echo x >node_modules/x && chmod ug+s node_modules/x && stat -c %u .',
    ],
    releaseEnv: {},
    env: {},
    timeoutMs: 600_000,
    signal: new AbortController().signal,
    onLine: (line) => lines.push(line),
  })
  assert.deepEqual(lines, ['1000'])
  await workspace.fillCache(cache, { isWritable: false })
  await workspace.keep()
  const { uid, mode } = statSync(join(host.dataDir, 'dependencies/shared/x'))
  assert.deepEqual([uid, mode & 0o7777], [0, 0o644])

  const other = await host.startBot(
    'cat node_modules/x; touch node_modules/y || echo refused',
    async (botId, releaseId) => {
      const next = await host.runtime.prepare({ id: botId, limits }, releaseId)
      assert(await next.useCache(cache, { isWritable: false }))
      await next.keep()
    },
  )
  await until('it', async () => (await other.text()).includes('refused'))
  assert.equal(await other.text(), 'x\nrefused\n')
})

test('files that were root’s are given to the bot when it starts', async (t) => {
  const host = makeHost(t, { isClosed: false })
  if (!host) return
  const botId = newId('bot', new Date())
  const home = join(host.dataDir, 'bots', botId, 'home')
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'old'), 'old', { mode: 0o600 })
  const bot = await host.startBot('cat old; echo new >old; cat old', undefined, botId)
  await until('it', async () => (await bot.text()).includes('new'))
  assert.equal(await bot.text(), 'oldnew\n')
})

test('a bot has no rights beyond a user’s, cannot get any, and is heard by the kernel only in part', async (t) => {
  const host = makeHost(t, { isClosed: true })
  if (!host) return
  const bot = await host.startBot(
    "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; ulimit -c; echo end",
  )
  await until('it', async () => (await bot.text()).includes('end'))
  const nothing = '0'.repeat(16)
  assert.equal(await bot.text(), `CapEff:\t${nothing}\nCapBnd:\t${nothing}\nNoNewPrivs:\t1\nSeccomp:\t2\n0\nend\n`)
  assert.deepEqual(
    host.runtime.walls.map(({ name, state }) => [name, state]),
    [
      ['files', 'on'],
      ['users', 'on'],
      ['calls', 'on'],
      ['limits', 'on'],
      ['network', 'off'], // nobody asked for it
      ['disk', 'on'],
    ],
  )
})

test('a bot that takes more memory than it may is ended, and that is said; its neighbour goes on', async (t) => {
  const host = makeHost(t, { isClosed: true })
  if (!host) return
  const neighbour = await host.startBot('echo up; exec sleep 300')
  const greedy = await host.startBot(
    'node -e "for (const all = []; ; ) all.push(Buffer.alloc(1e7, 1))"; echo "code $?"; exit 1',
  )
  const exit = await until('its end', async () => (await host.find(greedy.id))?.exit)
  assert.deepEqual([exit.code, exit.oomKilled, await greedy.text()], [1, true, 'code 137\n'])
  assert.equal((await host.find(neighbour.id))?.exit, undefined)
  const stats = await host.runtime.stats(neighbour.id)
  assert(
    stats && stats.processes === 1 && stats.memoryBytes > 0 && stats.memoryBytes < 50_000_000,
    JSON.stringify(stats),
  )
})

test('a bomb of processes stops at the limit, and ends with its bot', async (t) => {
  const host = makeHost(t, { isClosed: true })
  if (!host) return
  const bomb = await host.startBot('(i=0; while [ $i -lt 2000 ]; do sleep 300 & i=$((i + 1)); done); exec sleep 300')
  await until('a refusal', async () => (await host.runtime.readOutput(bomb.id, 'stderr', 0)).includes('fork'))
  const stats = await host.runtime.stats(bomb.id)
  assert(stats && stats.processes > 100 && stats.processes <= 256, JSON.stringify(stats))
  await host.runtime.stop(bomb.id, 0)
  assert.equal((await host.find(bomb.id))?.exit?.signal, 'SIGKILL')
})

function makeHost(t: TestContext, { isClosed }: { isClosed: boolean }) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/bwrap')) {
    t.diagnostic('NOT TRIED: it takes root and bubblewrap')
    return undefined
  }
  const outer = mkdtempSync(join(tmpdir(), 'botberth-users-'))
  chmodSync(outer, isClosed ? 0o700 : 0o711)
  const dataDir = join(outer, 'data')
  const runtime = new ProcessRuntime({ dataDir })
  after(async () => {
    for (const { botId } of await runtime.list()) await runtime.remove(botId)
    await runtime.close()
    rmSync(outer, { recursive: true })
  })
  const makeRelease = async (botId: string, releaseId: string) =>
    (await runtime.prepare({ id: botId, limits }, releaseId)).keep()
  const startBot = async (script: string, prepare = makeRelease, botId = newId('bot', new Date())) => {
    const [id, releaseId] = [newId('ins', new Date()), newId('dep', new Date())]
    await prepare(botId, releaseId)
    await runtime.start({ id, botId, releaseId, argv: ['sh', '-c', script], releaseEnv: {}, env: {}, limits })
    return { id, botId, text: async () => (await runtime.readOutput(id, 'stdout', 0)).toString() }
  }
  const find = async (id: string) => (await runtime.list()).find((instance) => instance.id === id)
  return { dataDir, runtime, startBot, find }
}

/** Of the host's, as which the processes of an instance run. */
function userOf(id: string): number {
  const [pid = 0] = findByArgument(id)
  return Number(/^Uid:\s+(\d+)/m.exec(readProc(pid, 'status') ?? '')?.[1])
}

async function* toChunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
