// Hostile bots against a real server that runs as an ordinary user: what they try, and that they do not get it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startGitServer } from '../server/test/git-server.ts'
import { openTo } from '../server/test/open-to.ts'
import { until, withinLimit } from '../server/test/until.ts'
import { beating, Host } from './host.ts'
import { beforeEnd, isAlive, machineAddress, postmasterPid, userIds } from './server.ts'

const inner = createServer((_request, response) => response.end('inner')).listen(0, '127.0.0.1')
const outer = createServer((_request, response) => response.end('outer')).listen(0)
const opened = createServer((_request, response) => response.end('opened')).listen(0)
const portOf = (server: typeof inner) => (server.address() as AddressInfo).port

const git = await startGitServer()
const [uid] = process.getuid?.() === 0 ? userIds('www-data') : []
const host = new Host(openTo(`${machineAddress()}/32:${portOf(opened)}`), uid === undefined ? {} : { uid })
await host.start()
beforeEnd(async () => {
  await host.close()
  await git.close()
  for (const server of [inner, outer, opened]) server.close()
})

const { body: machine } = await host.ask('GET /operator/host')
const walls = machine['walls'] as { name: string; state: string }[]
const skip = await host.findMissingWalls()

const startBot = (name: string, script: string, files: Record<string, string> = {}) =>
  host.startScript(git, name, { 'index.js': script, ...files })
const printed = (botId: string, word: string) => host.printed(botId, word)

/** The programs of this user that send packets on for bots. */
function helpers(): number[] {
  const ofUser = new RegExp(`^Uid:\\s+${uid ?? process.getuid?.()}\\s`, 'm')
  return host.processesWith('slirp4netns').filter((pid) => isAlive(pid) && ofUser.test(readStatus(pid)))
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return '' // gone meanwhile
  }
}

const ownPort = Number(new URL(host.running.url).port)
const targets = [
  ...[portOf(inner), portOf(outer), ownPort, 5432].flatMap((port) => [
    ['127.0.0.1', port],
    [machineAddress(), port],
    ['198.18.0.2', port],
    ['198.18.0.3', port],
  ]),
  ['198.18.0.100', 7777],
  ['198.18.0.1', 80],
  ['169.254.169.254', 80],
  ['168.63.129.16', 80],
  ['10.0.0.1', 80],
  ['10.0.2.2', ownPort],
  ['172.16.0.1', 80],
  ['192.168.0.1', 80],
  ['100.64.0.1', 80],
]
const connectAll = `
const connect = (host, port) => new Promise((resolve) => {
  const socket = require('net').connect({ host, port, timeout: 2000 })
  const end = (word) => { socket.destroy(); resolve(host + ':' + port + ' ' + word) }
  socket.once('connect', () => end('REACHED')).once('error', (error) => end(error.code)).once('timeout', () => end('silent'))
})
const connectAll = async (targets) => (await Promise.all(targets.map(([host, port]) => connect(host, port)))).join(', ')`

test('the walls are those that an ordinary user can have', { skip }, () => {
  assert.deepEqual(
    walls.filter(({ name }) => name !== 'disk').map(({ name, state }) => `${name} ${state}`),
    ['files on', 'users soft', 'calls on', 'limits soft', 'network on'],
  )
})

// They mostly wait, for releases to have stayed up.
describe('an ordinary user’s bots', { concurrency: 3 }, () => {
  test('a bot reaches both APIs, names and what was opened, and nothing else of this machine or near it', {
    skip,
  }, async () => {
    await startBot('neighbour', `require('net').createServer().listen(7777, '0.0.0.0')`)
    const bot = await startBot(
      'prober',
      `${connectAll}
    ;(async () => {
      const door = new URL(process.env.BOTBERTH_API_URL)
      const status = async (url, options) => (await fetch(url, options)).status
      console.log('apis ' + await status(door + '/version') + ' ' + await status(process.env.BOTBERTH_LIST_API_URL + '/openapi.json'))
      const forged = { headers: { host: 'localhost', 'x-forwarded-for': '127.0.0.1' } }
      console.log('pages ' + await status(door.origin + '/metrics', forged) + ' ' + await status(door.origin + '/', forged))
      console.log('login ' + await status(door + '/auth/chat/login?prompt=none&login_hint=x', { redirect: 'manual' }))
      console.log('opened ' + await (await fetch('http://${machineAddress()}:${portOf(opened)}')).text())
      console.log('name ' + await require('dns').promises.lookup('registry.npmjs.org').then(() => 'found', (error) => error.code))
      console.log('network ' + await connectAll(${JSON.stringify(targets)}))
      setInterval(() => {}, 1000)
    })()`,
    )
    assert.equal(await printed(bot, 'apis'), '200 200')
    assert.equal(await printed(bot, 'pages'), '404 404')
    assert.notEqual(await printed(bot, 'login'), '302') // whoever comes through the door is not this machine
    assert.equal(await printed(bot, 'opened'), 'opened')
    const isFoundHere = openTo()['BOT_ALLOWED_NETS'] !== undefined
    assert.equal((await printed(bot, 'name')) === 'found', isFoundHere)
    const network = await printed(bot, 'network')
    assert.doesNotMatch(network, /REACHED|silent/)
    assert.equal(network.split(', ').length, targets.length)
    await until('what it sent to be counted', async () => Number((await host.stateOf(bot))['networkTxBytes']) > 0)
  })

  test('a bot and a hostile postinstall script see and touch nothing of others', { skip }, async () => {
    const victim = await startBot('victim', beating('victim'), { 'secret.txt': 'secret' })
    const pids = [host.running.child.pid, postmasterPid(host.dataDir), ...host.processesWith(victim)]
    const look = `${connectAll}
    const fs = require('fs')
    const can = (work) => { try { work(); return true } catch { return false } }
    const paths = [${JSON.stringify(host.dataDir)}, ${JSON.stringify(join(host.dataDir, 'bots', victim))}, ${JSON.stringify(join(host.dataDir, 'secret.key'))},
      '/etc/shadow', '/etc/passwd', '/root', '/home', '/var', '/run', '/sys', '/proc/1/root/etc/shadow', '/proc/1/cwd/etc/shadow', '/bot/../../etc/shadow',
      ...${JSON.stringify(pids)}.flatMap((pid) => ['/proc/' + pid + '/environ', '/proc/' + pid + '/root'])]
    const seen = paths.filter((path) => can(() => fs.accessSync(path, fs.constants.R_OK)))
    const write = ['/', '/usr', '/etc', '/dev', '/proc/sys/kernel', '/opt', '/run'].filter((path) => can(() => fs.writeFileSync(path + '/x', '')))
    const settings = can(() => fs.writeFileSync('/proc/sys/net/ipv4/ip_forward', '1'))
    const killed = ${JSON.stringify(pids)}.filter((pid) => can(() => process.kill(pid, 'SIGKILL')))
    const traced = require('child_process').spawnSync('python3', ['-c', 'import ctypes; print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))']).stdout.toString().trim()
    const secrets = Object.keys(process.env).filter((key) => /SECRET|DATABASE|BOOTSTRAP/.test(key))
    const report = async () => JSON.stringify({ seen, write, settings, killed, traced, secrets, user: process.getuid(),
      network: (await connectAll(${JSON.stringify(targets)})).split(', ').filter((line) => /REACHED|silent/.test(line)) })`
    const bot = await startBot(
      'viewer',
      `${look}
    console.log('build ' + fs.readFileSync('build.json', 'utf8'))
    report().then((text) => console.log('bot ' + text))
    setInterval(() => {}, 1000)`,
      {
        'package.json': JSON.stringify({ name: 'viewer', scripts: { postinstall: 'node look.js' } }),
        'look.js': `${look}
      report().then((text) => fs.writeFileSync('build.json', text))`,
      },
    )
    const nothing = {
      seen: [],
      write: [],
      settings: false,
      killed: [],
      traced: '-1',
      secrets: [],
      user: 1000,
      network: [],
    }
    for (const word of ['build', 'bot']) assert.deepEqual(JSON.parse(await printed(bot, word)), nothing, word)
    assert.equal((await host.stateOf(victim))['restarts'], 0)
  })

  test('bombs end alone, owners are told why, and the server stays well', { skip }, async () => {
    const [memory, forks] = await Promise.all([
      startBot(
        'memory',
        `setTimeout(() => { const all = []; setInterval(() => all.push(Buffer.alloc(2e7, 1)), 5) }, 4000)`,
      ),
      startBot(
        'forks',
        `const { spawn } = require('child_process')
      let refused = 0
      const bomb = () => { for (let i = 0; i < 20; i++) spawn('sleep', ['300']).on('error', () => refused++) ; if (refused > 100) console.log('refused ' + refused); setTimeout(bomb, 20) }
      setTimeout(bomb, 4000)`,
      ),
    ])
    await until('the memory bomb to end', async () => {
      const exit = (await host.stateOf(memory))['lastExit'] as { oomKilled: boolean } | null
      return exit?.oomKilled === true
    })
    await until('its owner to be told', async () =>
      (await host.linesOf(memory)).some((line) => line.includes('ran out of memory')),
    )
    await printed(forks, 'refused')
    assert(Number((await host.stateOf(forks))['processes']) <= 256)
    assert.equal((await withinLimit('an answer', host.ask('GET /bots'), 2_000)).status, 200)
    const { url } = await git.addRepo('greedy', {
      'index.js': 'setInterval(() => {}, 1000)',
      'package.json': JSON.stringify({
        name: 'greedy',
        scripts: { build: 'node -e "const all = []; setInterval(() => all.push(Buffer.alloc(3e7, 1)), 5)"' },
      }),
    })
    const build = await host.deploy(await host.makeBot({ type: 'git', gitUrl: url, language: 'javascript' }))
    assert.equal(build['status'], 'failed')
  })
})

test('a bot outlives its server with its network, and leaves nothing of it when it ends', { skip }, async () => {
  await host.removeBots()
  await until('no helper', () => helpers().length === 0)
  const bot = await startBot(
    'lasting',
    beating(
      'lasting',
      `let count = 0
      setInterval(() => fetch(process.env.BOTBERTH_API_URL + '/version').then(({ status }) => console.log('api ' + status + ' ' + ++count), () => {}), 200)`,
    ),
  )
  await printed(bot, 'api 200')
  assert.equal(helpers().length, 1)
  await host.kill()
  await host.start()
  const count = async () => Number((await host.linesOf(bot)).findLast((line) => line.startsWith('api 200'))?.slice(8))
  const before = await count()
  await until('the door to be open again', async () => (await count()) > before + 5)
  assert.equal(host.runsOf(bot).length, 1)
  assert.equal((await host.stateOf(bot))['state'], 'running')
  await host.ask(`POST /servers/${bot}/power`, { signal: 'stop' })
  await host.untilState(bot, 'offline')
  await until('the helper to end', () => helpers().length === 0)
})
