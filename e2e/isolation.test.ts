// Hostile bots against a real server that runs as root: what they try, and that they do not get it.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startGitServer } from '../server/test/git-server.ts'
import { until } from '../server/test/until.ts'
import { Host } from './host.ts'
import { beforeEnd, loadPerProcessor, machineAddress } from './server.ts'

// What nobody but this machine itself should get to.
const inner = createServer((_request, response) => response.end('inner')).listen(0, '127.0.0.1')
const outer = createServer((_request, response) => response.end('outer')).listen(0)
const portOf = (server: typeof inner) => (server.address() as AddressInfo).port

const git = await startGitServer()
const host = new Host()
await host.start()
beforeEnd(async () => {
  await host.close()
  await git.close()
  inner.close()
  outer.close()
})

const skip = await host.findMissingWalls()

const startBot = (name: string, script: string, files: Record<string, string> = {}) =>
  host.startScript(git, name, { 'index.js': script, ...files })
const printed = (botId: string, word: string) => host.printed(botId, word)

const connectAll = `
const net = require('net')
const connect = (host, port) => new Promise((resolve) => {
  const socket = net.connect({ host, port, timeout: 2000 })
  const end = (word) => { socket.destroy(); resolve(host + ':' + port + ' ' + word) }
  socket.once('connect', () => end('REACHED')).once('error', (error) => end(error.code)).once('timeout', () => end('silent'))
})`

// They mostly wait, for releases to have stayed up.
describe('isolation', { concurrency: 4 }, () => {
  test('a bot reaches both APIs, and no other service of this machine, no private address and no other bot', {
    skip,
  }, async () => {
    const neighbour = await startBot(
      'neighbour',
      `
    const server = require('net').createServer().listen(7777, '0.0.0.0', () => {
      const addresses = Object.values(require('os').networkInterfaces()).flat().filter(({ internal, family }) => !internal && family === 'IPv4')
      console.log('address ' + addresses[0].address)
    })`,
    )
    const address = await printed(neighbour, 'address')
    const targets = [
      ['127.0.0.1', portOf(inner)],
      [machineAddress(), portOf(outer)],
      [machineAddress(), Number(new URL(host.running.url).port)],
      ['127.0.0.1', Number(new URL(host.running.url).port)],
      [address, 7777],
      ['169.254.169.254', 80],
      ['168.63.129.16', 80],
      ['10.0.0.1', 80],
      ['172.16.0.1', 80],
      ['192.168.0.1', 80],
    ]
    const bot = await startBot(
      'prober',
      `${connectAll}
    ;(async () => {
      const door = new URL(process.env.BOTBERTH_API_URL)
      const status = async (url) => (await fetch(url)).status
      console.log('apis ' + await status(door + '/version') + ' ' + await status(process.env.BOTBERTH_LIST_API_URL + '/openapi.json'))
      console.log('pages ' + await status(door.origin + '/metrics') + ' ' + await status(door.origin + '/'))
      const targets = ${JSON.stringify(targets)}
      targets.push([door.hostname, ${portOf(outer)}], [door.hostname, ${Number(new URL(host.running.url).port)}])
      console.log('network ' + (await Promise.all(targets.map(([host, port]) => connect(host, port)))).join(', '))
      setInterval(() => {}, 1000)
    })()`,
    )
    assert.equal(await printed(bot, 'apis'), '200 200')
    assert.equal(await printed(bot, 'pages'), '404 404')
    const network = await printed(bot, 'network')
    assert.doesNotMatch(network, /REACHED|silent/)
    assert.equal(network.split(', ').length, targets.length + 2)
    const resources = await host.stateOf(bot)
    assert(Number(resources['networkTxBytes']) > 0, 'what it sent is counted')
  })

  test('a bot and its build see no file, process or variable of others', { skip }, async () => {
    const look = `
    const fs = require('fs')
    const paths = [${JSON.stringify(host.dataDir)}, '/etc/shadow', '/root', '/home', '/var', '/run', '/sys', '/proc/1/root/etc/shadow', '/proc/1/environ', '/bot/../../etc/shadow']
    const seen = paths.filter((path) => { try { fs.accessSync(path, fs.constants.R_OK); return true } catch { return false } })
    const write = ['/', '/usr', '/etc', '/dev', '/proc/sys/kernel', '/opt'].filter((path) => { try { fs.writeFileSync(path + '/x', ''); return true } catch { return false } })
    const others = fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).length
    const secrets = Object.keys(process.env).filter((key) => /SECRET|DATABASE|BOOTSTRAP/.test(key))`
    const report = `JSON.stringify({ seen, write, isAlone: others < 15, secrets, user: process.getuid() })`
    const bot = await startBot(
      'viewer',
      `${look}
    console.log('build ' + fs.readFileSync('build.json', 'utf8'))
    console.log('bot ' + ${report})
    setInterval(() => {}, 1000)`,
      {
        'package.json': JSON.stringify({ name: 'viewer', scripts: { build: 'node look.js' } }),
        'look.js': `${look}
      fs.writeFileSync('build.json', ${report})`,
      },
    )
    for (const word of ['build', 'bot']) {
      const { seen, ...rest } = JSON.parse(await printed(bot, word)) as Record<string, unknown>
      assert.deepEqual(rest, { write: [], isAlone: true, secrets: [], user: 1000 }, word)
      assert.deepEqual(
        (seen as string[]).filter((path) => path !== '/proc/1/environ'),
        [],
        word,
      )
    }
  })

  test('bombs end alone: memory, processes and a build’s memory; a good bot beats on, and owners are told why', {
    skip,
  }, async () => {
    const [good, memory, forks] = await Promise.all([
      startBot(
        'good',
        `let last = Date.now(), worst = 0
      setInterval(() => { worst = Math.max(worst, Date.now() - last); last = Date.now() }, 50)
      setInterval(() => console.log('late ' + worst), 500)`,
      ),
      startBot('memory', `setTimeout(() => { const all = []; for (;;) all.push(Buffer.alloc(1e7, 1)) }, 4000)`),
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
    await printed(forks, 'refused')
    assert(Number((await host.stateOf(forks))['processes']) <= 256)
    const { url } = await git.addRepo('greedy', {
      'index.js': 'setInterval(() => {}, 1000)',
      'package.json': JSON.stringify({
        name: 'greedy',
        scripts: { build: 'node -e "for (const all = []; ; ) all.push(Buffer.alloc(1e7, 1))"' },
      }),
    })
    const build = await host.deploy(await host.makeBot({ type: 'git', gitUrl: url, language: 'javascript' }))
    assert.equal(build['status'], 'failed')
    assert.equal((await host.stateOf(good))['restarts'], 0)
    const lines = (await host.linesOf(good)).filter((line) => line.startsWith('late '))
    assert(Number(lines.at(-1)?.slice(5)) < 2_000 * Math.max(1, loadPerProcessor()), lines.at(-1))
  })

  test('a bot that fills its disk, with bytes or with files, gets an error; its owner is told, and the machine loses nothing', {
    skip,
  }, async () => {
    const script = `const fs = require('fs')
    const until = (work) => { try { for (let i = 0; i < 1e6; i++) work(i) } catch (error) { return error.code } }
    setTimeout(() => {
      fs.mkdirSync('many')
      console.log('files ' + until((i) => fs.writeFileSync('many/' + i, '')))
      fs.rmSync('many', { recursive: true })
      console.log('bytes ' + until(() => fs.appendFileSync('big', Buffer.alloc(1e6))))
    }, 4000)
    setInterval(() => {}, 1000)`
    const { url } = await git.addRepo('filler', { 'index.js': script })
    const botId = await host.makeBot({ type: 'git', gitUrl: url, language: 'javascript' })
    assert.equal((await host.ask(`PATCH /bots/${botId}`, { limits: { diskMb: 64 } })).status, 200)
    assert.equal((await host.deploy(botId))['status'], 'succeeded')
    assert.deepEqual([await printed(botId, 'files'), await printed(botId, 'bytes')], ['ENOSPC', 'ENOSPC'])
    const isTold = async () =>
      (await host.linesOf(botId)).some((line) => line.startsWith('The disk of this bot is full (64 MB)'))
    await until('the line for its owner', isTold)
    const { state, diskBytes } = await host.stateOf(botId)
    assert.deepEqual([state, Number(diskBytes) <= 70 * 1024 * 1024], ['running', true])
    const image = join(host.dataDir, 'images', botId)
    assert.equal((await host.ask(`DELETE /bots/${botId}/files/big`)).status, 200)
    await until('its room to be given back', () => statSync(image).blocks * 512 < 30 * 1024 * 1024)
    await host.ask(`DELETE /bots/${botId}`)
    assert(!existsSync(image) && !readFileSync('/proc/mounts', 'utf8').includes(botId))
  })
})
