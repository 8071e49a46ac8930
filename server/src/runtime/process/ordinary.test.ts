// What a server has that is not root's. As root, this file runs itself once more as an ordinary user.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { newId } from '../../lib/ids.ts'
import { readProc, readTimes } from '../../lib/proc.ts'
import { findRange, isClosed as isClosedRange } from './network/ranges.ts'
import { findResolvers } from './network/resolvers.ts'
import { SlirpNetworks } from './network/slirp.ts'
import type { Networks } from './networks.ts'
import { ProcessRuntime } from './process-runtime.ts'
import { findProgram } from './toolchain.ts'

const limits = { memoryMb: 128, cpus: 1, diskMb: 256 }
const isRoot = process.getuid?.() === 0
const ordinary = isRoot ? { uid: 61_234, gid: 61_234 } : {}
const skip = findProblem() ?? false

/** Why none of this can be tried here. */
function findProblem(): string | undefined {
  const needed = ['bwrap', 'slirp4netns', 'nft', 'ip', 'tc', 'python3']
  const missing = needed.filter((program) => findProgram(program) === undefined)
  if (missing.length > 0) return `NOT TRIED: ${missing.join(', ')} not installed`
  const can = (command: string, ...args: string[]) => spawnSync(command, args, ordinary).status === 0
  if (!can('unshare', '--user', '--map-root-user', '--net', 'true') || !can('test', '-w', '/dev/net/tun'))
    return 'NOT TRIED: an ordinary user may not make networks here'
  return can('test', '-r', import.meta.filename) ? undefined : 'NOT TRIED: an ordinary user cannot read this folder'
}

if (isRoot) test('all of it holds for an ordinary user', { timeout: 180_000, skip }, testAsOrdinary)
else describe('an ordinary user’s bots', { skip }, testBots)

async function testAsOrdinary(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'botberth-ordinary-'))
  chownSync(home, ordinary.uid ?? 0, ordinary.gid ?? 0)
  const options = { ...ordinary, env: { HOME: home, TMPDIR: home, PATH: process.env['PATH'] } }
  const args = ['--test', '--test-reporter=tap', import.meta.filename]
  const [error, stdout] = await new Promise<[Error | null, string]>((resolve) => {
    execFile(process.execPath, args, options, (...all) => resolve([all[0], all[1]]))
  })
  rmSync(home, { recursive: true, force: true })
  assert.equal(error, null, stdout.slice(-4_000))
  assert(Number(/^# pass (\d+)/m.exec(stdout)?.[1]) >= 10, stdout)
}

function testBots(): void {
  const servers: Server[] = []
  const dataDir = mkdtempSync(join(tmpdir(), 'botberth-data-'))
  let runtime = new ProcessRuntime({ dataDir })
  let networks: Networks | undefined
  let [opened, beside, door, inner, keeping] = [0, 0, 0, 0, 0]
  const own = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)
  const address = own?.address ?? '127.0.0.1'

  async function listen(host: string, answer = (socket: Socket) => void socket.end('hello')): Promise<number> {
    const server = createServer((socket) => answer(socket.on('error', () => undefined)))
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, host, resolve))
    return (server.address() as AddressInfo).port
  }

  async function open(port: number): Promise<void> {
    // Also what a careless operator may open: none of it opens this machine, which is in two of these.
    const careless = [address.replace(/\d+$/, '0/24'), '198.18.0.0/15', '10.254.0.0/16']
    networks = await runtime.openNetwork({ allowedNets: [`${address}/32:${opened}`, ...careless] })
    assert(networks)
    await networks.openDoor(port)
  }

  /** Another server in its place. */
  async function restart(port: number): Promise<void> {
    await runtime.close()
    runtime = new ProcessRuntime({ dataDir })
    await open(port)
  }

  before(async () => {
    ;[opened, beside, door, inner, keeping] = [
      await listen('0.0.0.0'),
      await listen('0.0.0.0'),
      await listen('127.0.0.1'),
      await listen('127.0.0.1'),
      await listen('127.0.0.1', (socket) => void socket.resume()),
    ]
    await open(door)
  })

  after(async () => {
    for (const { botId } of await runtime.list()) await runtime.remove(botId)
    await runtime.close()
    for (const server of servers) server.close()
    rmSync(dataDir, { recursive: true })
  })

  async function startBot(argv: string[]) {
    const [id, botId, releaseId] = [newId('ins', new Date()), newId('bot', new Date()), newId('dep', new Date())]
    await (await runtime.prepare({ id: botId, limits }, releaseId)).keep()
    await runtime.start({ id, botId, releaseId, argv, releaseEnv: {}, env: {}, limits })
    const text = async () => (await runtime.readOutput(id, 'stdout', 0)).toString()
    const exit = () => until('its end', async () => (await runtime.list()).find((each) => each.id === id)?.exit)
    return { id, botId, text, exit }
  }

  /** What a script printed, which ends by itself. */
  async function said(script: string, ...words: string[]): Promise<string> {
    const bot = await startBot(['node', '-e', script, ...words])
    const { code } = await bot.exit()
    assert.equal(code, 0, (await runtime.readOutput(bot.id, 'stderr', 0)).toString())
    return (await bot.text()).trim()
  }

  const connect = `
    const connect = ([host, port]) => new Promise((resolve) => {
      const socket = require('net').connect({ host, port: Number(port), timeout: 3000 })
      const end = (word) => { socket.destroy(); resolve(word) }
      socket.once('connect', () => end('REACHED')).once('error', (error) => end(error.code)).once('timeout', () => end('silent'))
    })
    const targets = process.argv.slice(1).map((word) => word.split(' '))
    Promise.all(targets.map(connect)).then((all) => console.log(all.join('\\n')))`

  test('their walls say what holds', () => {
    assert.deepEqual(
      runtime.walls.map(({ name, state }) => [name, state]),
      [
        ['files', 'on'],
        ['users', 'soft'],
        ['calls', 'on'],
        ['limits', 'soft'],
        ['network', 'on'],
        ['disk', 'soft'],
      ],
    )
  })

  test('they reach the door, what was opened, and nothing else of this machine or of private networks', async () => {
    const reached = [`198.18.0.2 ${door}`, `${address} ${opened}`]
    assert.equal(await said(connect, ...reached), 'REACHED\nREACHED')
    const closed = [
      `127.0.0.1 ${inner}`,
      ...['198.18.0.2', '198.18.0.3', '198.18.0.5', '198.18.0.254'].map((host) => `${host} ${inner}`),
      ...[address, '127.0.0.1', '198.18.0.2'].map((host) => `${host} ${beside}`),
      ...['169.254.169.254', '168.63.129.16', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1'].map(
        (host) => `${host} 80`,
      ),
      '1.1.1.1 25',
      ...findResolvers().addresses.flatMap((host) => (isClosed(host) ? [`${host} 53`, `${host} 80`] : [])),
      '::ffff:127.0.0.1 80',
      'fd00::1 80',
      '2606:4700:4700::1111 443',
    ]
    const startedAt = performance.now()
    const answers = (await said(connect, ...closed)).split('\n')
    assert(performance.now() - startedAt < 3_000, 'refused at once')
    assert.deepEqual(
      answers.map((answer, index) => `${closed[index]} ${answer}`).filter((line) => /REACHED|silent/.test(line)),
      [],
    )
    assert.equal(answers.length, closed.length)
  })

  test('one bot cannot take all places at the door', async () => {
    const script = `
      let [reached, refused] = [0, 0]
      for (let i = 0; i < 100; i++)
        require('net').connect({ host: '198.18.0.2', port: ${keeping} }).once('connect', () => reached++).once('error', () => refused++)
      setInterval(() => { if (reached + refused === 100) { console.log(reached, refused); process.exit() } }, 10)`
    await networks?.openDoor(keeping)
    assert.equal(await said(script), '64 36')
  })

  test('names are looked up wherever the resolver of this machine is', async (t) => {
    const ask = `
      require('dns').promises.lookup('registry.npmjs.org').then(() => console.log('found'), (error) => console.log(error.code))`
    const here = spawnSync(process.execPath, ['-e', ask], { encoding: 'utf8' }).stdout.trim()
    if (here !== 'found') t.diagnostic('NOT TRIED with a name that exists: this machine finds none itself')
    assert.equal(await said(ask), here)
  })

  test('they cannot change their network, and what they send is counted', async () => {
    const bot = await startBot([
      'sh',
      '-c',
      `for command in 'nft flush ruleset' 'ip link set tap0 down' 'ip route add 10.0.0.0/8 dev tap0' 'ip address add 10.9.9.9/8 dev tap0' \\
        'tc qdisc del dev tap0 root' 'unshare -r true' 'unshare -r -n true' 'nsenter -t 1 -n true' 'sysctl -w net.ipv4.ip_forward=1'; do
        $command >/dev/null 2>&1 && echo "DONE $command"
      done
      echo 1 2>/dev/null >/proc/sys/net/ipv4/ip_forward && echo DONE
      grep CapEff /proc/self/status; for fd in 3 4 5 6 7 8 9; do [ ! -e /proc/self/fd/$fd ] || echo "open $fd"; done; node -e 'fetch("http://198.18.0.2:${door}").catch(() => console.log("end"))'; sleep 300`,
    ])
    await until('it', async () => (await bot.text()).includes('end'))
    assert.equal(await bot.text(), `CapEff:\t${'0'.repeat(16)}\nend\n`)
    const { networkRxBytes = 0, networkTxBytes = 0 } = (await runtime.stats(bot.id)) ?? {}
    assert(networkRxBytes > 0 && networkTxBytes > 0)
    await runtime.stop(bot.id, 0)
  })

  test('exit codes and signals are as ever', async () => {
    assert.equal((await (await startBot(['sh', '-c', 'exit 7'])).exit()).code, 7)
    const bot = await startBot([
      'node',
      '-e',
      `process.on('SIGTERM', () => process.exit(9)); console.log('up'); setInterval(() => {}, 1e3)`,
    ])
    await until('it', async () => (await bot.text()).includes('up'))
    await runtime.stop(bot.id, 5_000)
    assert.equal((await bot.exit()).code, 9)
  })

  for (const whom of ['bot', 'monitor', 'bot without a server'] as const) {
    test(`nothing is left of the network after the end of the ${whom}`, async () => {
      const bot = await startBot(['sh', '-c', 'echo up; exec sleep 300'])
      await until('it', async () => (await bot.text()).includes('up'))
      const monitor = monitorOf(dataDir, bot.id)
      const helper = helperOf(monitor)
      if (whom === 'bot without a server') await runtime.close()
      process.kill(whom === 'monitor' ? monitor : childOf(dataDir, bot.id), 'SIGKILL')
      await until('the helper to end', () => Promise.resolve(readTimes(helper) === undefined))
      if (whom === 'bot without a server') await restart(door)
      await bot.exit()
    })
  }

  test('a bot that outlives its server keeps its network, and gets the rules of the next one', async () => {
    const bot = await startBot([
      'node',
      '-e',
      `${connect}
      console.log('up')
      setInterval(() => Promise.all(targets.map(connect)).then((all) => console.log('now ' + all.join(' '))), 200)`,
      `198.18.0.2 ${door}`,
      `198.18.0.2 ${inner}`,
    ])
    await until('the door', async () => (await bot.text()).includes('now REACHED ECONNREFUSED'))
    await restart(inner)
    await until('the other door', async () => (await bot.text()).includes('now ECONNREFUSED REACHED'))
    await runtime.stop(bot.id, 0)
    await restart(door)
  })

  test('one that takes more memory than it may is ended, and that is said; its neighbour goes on', async () => {
    const neighbour = await startBot(['sh', '-c', 'echo up; exec sleep 300'])
    const bot = await startBot(['node', '-e', 'const all = []; setInterval(() => all.push(Buffer.alloc(1e7, 1)), 10)'])
    const { code, oomKilled } = await bot.exit()
    assert.deepEqual([code, oomKilled], [137, true])
    assert.equal((await runtime.list()).find(({ id }) => id === neighbour.id)?.exit, undefined)
    await runtime.stop(neighbour.id, 0)
  })

  test('memory that processes share counts once', async () => {
    const bot = await startBot([
      'python3',
      '-c',
      'import os,time\nx=bytearray(60000000)\nfor i in range(3):\n  if os.fork()==0: time.sleep(300)\nprint("up",flush=True)\ntime.sleep(1.5)\nprint("alive",flush=True)\ntime.sleep(300)',
    ])
    await until('it', async () => (await bot.text()).includes('alive'))
    await runtime.stop(bot.id, 0)
  })

  test('what a bot hides in folders that it has closed counts', async () => {
    const script =
      'mkdir -p a/b/c && head -c 5000000 /dev/zero >a/b/c/large && chmod 0 a/b/c a/b a && echo hidden; exec sleep 300'
    const bot = await startBot(['sh', '-c', script])
    await until('it', async () => (await bot.text()).includes('hidden'))
    const { usedBytes } = await runtime.disk(bot.botId)
    assert(usedBytes > 5_000_000, `${usedBytes} bytes`)
    await runtime.stop(bot.id, 0)
  })

  test('memory that is a file without a name counts', async () => {
    const script = `import os,time
fd = os.memfd_create('x')
print('up', flush=True)
for i in range(300): os.write(fd, b'x' * 1000000); time.sleep(0.005)
time.sleep(300)`
    const bot = await startBot(['python3', '-c', script])
    assert.equal((await bot.exit()).oomKilled, true)
  })

  test('bombs of processes stop at the limit, each at its own', async () => {
    const script = 'i=0; while [ $i -lt 400 ]; do sleep 300 & i=$((i + 1)); done; wait'
    const bombs = [await startBot(['sh', '-c', script]), await startBot(['sh', '-c', script])]
    for (const { id } of bombs) {
      await until('a refusal', async () => (await runtime.readOutput(id, 'stderr', 0)).includes('fork'))
    }
    const well = await startBot(['sh', '-c', 'echo up'])
    assert.equal((await well.exit()).code, 0)
    for (const { id } of bombs) await runtime.stop(id, 0)
  })

  test('a build has the same walls, and is told when it takes too much', async () => {
    const lines: string[] = []
    const workspace = await runtime.prepare({ id: newId('bot', new Date()), limits }, newId('dep', new Date()))
    const exec = (argv: string[]) =>
      workspace.exec({
        argv,
        releaseEnv: {},
        env: {},
        timeoutMs: 60_000,
        signal: new AbortController().signal,
        onLine: (line) => lines.push(line),
      })
    await exec(['node', '-e', connect, `198.18.0.2 ${door}`, `198.18.0.2 ${inner}`, `${address} ${beside}`])
    assert.deepEqual(lines.splice(0), ['REACHED', 'ECONNREFUSED', 'ECONNREFUSED'])
    await assert.rejects(exec(['node', '-e', 'const all = []; setInterval(() => all.push(Buffer.alloc(3e7, 1)), 10)']))
    assert.deepEqual(lines, ['This takes more than 1024 MB of memory, and was ended.'])
    await workspace.discard()
  })

  test('without nftables the same is closed, and so is the door', async () => {
    const found = await SlirpNetworks.open({
      allowedNets: ['10.254.0.0/16'],
      megabitsMax: 0,
      running: () => [],
      hasNft: false,
    })
    assert.match(found.problem ?? '', /our APIs are closed/)
    assert.equal(found.networks?.door, undefined)
    const { enter = [] } = (await found.networks?.enter('')) ?? {}
    const targets = [
      ...['198.18.0.2', '198.18.0.3', '198.18.0.5', address].flatMap((host) => [
        `${host} ${beside}`,
        `${host} ${inner}`,
      ]),
      ...['169.254.169.254', '168.63.129.16', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1'].map(
        (host) => `${host} 80`,
      ),
    ]
    const [command = '', ...words] = [...enter, process.execPath, '-e', connect, ...targets]
    const { stdout } = spawnSync(command, words, { env: {}, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    assert.equal(stdout.trim().split('\n').length, targets.length)
    assert.doesNotMatch(stdout, /REACHED|silent/)
  })
}

function isClosed(host: string): boolean {
  const range = findRange(host)
  return range !== undefined && isClosedRange(range)
}

function monitorOf(dataDir: string, id: string): number {
  const note = JSON.parse(readFileSync(join(dataDir, 'output', `${id}.json`), 'utf8')) as { monitor: { pid: number } }
  return note.monitor.pid
}

function childOf(dataDir: string, id: string): number {
  return Number(/"child-pid": (\d+)/.exec(readFileSync(join(dataDir, 'instances', `${id}.status`), 'utf8'))?.[1])
}

/** The program that sends the packets of the bot on. */
function helperOf(monitor: number): number {
  const pid = readdirSync('/proc')
    .map(Number)
    .find((each) => each > 0 && readTimes(each)?.parent === monitor && readProc(each, 'comm')?.startsWith('slirp'))
  assert(pid !== undefined)
  return pid
}
