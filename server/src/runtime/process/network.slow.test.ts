// Networks of the real kernel, which takes its time.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type Attempt, hostState, NetworkLab, shell, world } from '../../../test/network-lab.ts'
import { until, withinLimit } from '../../../test/until.ts'
import { ownNets } from './network/ranges.ts'
import { Network, type NetworkOptions } from './network.ts'
import { findProgram } from './toolchain.ts'

const canDoIt =
  process.getuid?.() === 0 &&
  ['ip', 'tc', 'nft', 'nsenter', 'setpriv'].every((program) => findProgram(program) !== undefined) &&
  spawnSync('unshare', ['--net', 'sh', '-c', 'nft list tables && ip link add name one type veth peer name two'])
    .status === 0
// In a network of its own: others on this machine change theirs meanwhile, and servers take nets.
if (canDoIt && !process.env['NETWORK_LAB']) {
  const alone = 'mount -t sysfs none /sys && mount -t tmpfs none /run && ip link set lo up && exec "$@"'
  const node = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const { status } = spawnSync('unshare', ['--net', '--mount', 'sh', '-c', alone, 'sh', ...node], {
    env: { ...process.env, NETWORK_LAB: '1' },
    stdio: 'inherit',
  })
  process.exit(status ?? 1)
}
const tag = `t${(process.pid % 46_656).toString(36)}`
const lab = canDoIt ? new NetworkLab(tag) : undefined

/** A test on the real kernel; where that cannot be, it says so. */
function real(title: string, work: (lab: NetworkLab) => Promise<void>): void {
  test(title, { timeout: 900_000 }, async (t: TestContext) => {
    if (lab) await work(lab)
    else t.diagnostic('NOT TESTED: this needs root, iproute2, nftables and a kernel with them')
  })
}

/** By tag; all are destroyed in the end, whatever fails. */
const opened = new Map<string, Network>()

async function open(options: Partial<NetworkOptions> = {}): Promise<Network> {
  const found = await Network.open({ tag, allowedNets: [], megabitsMax: 0, resolvers: [world.resolver], ...options })
  assert.deepEqual([found.problem, found.remedy], [undefined, undefined])
  assert.ok(found.network)
  opened.set(options.tag ?? tag, found.network)
  return found.network
}

const tcp = (host: string, port: number): Attempt => ({ kind: 'tcp', host, port })
const udp = (host: string, port: number): Attempt => ({ kind: 'udp', host, port })
const botAddress = (network: Network, index: number) => network.gateway.replace(/\.0\.1$/, `.0.${index + 2}`)

describe('a network for each bot', () => {
  const servers: Server[] = []
  let stateBefore = ''
  let network: Network
  let bot: readonly string[]

  async function listen(address: string): Promise<number> {
    const server = createServer((socket) => socket.on('error', () => undefined).end('hello'))
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, address, resolve))
    return (server.address() as AddressInfo).port
  }

  async function reaches(attempt: Attempt, enter = bot): Promise<boolean> {
    const { results } = (await lab?.attempt(enter, [attempt])) ?? {}
    return results?.[0] === 'reached'
  }

  before(async () => {
    if (!lab) return
    stateBefore = hostState()
    await lab.make()
    network = await open()
    bot = (await network.ensure(0)).enter
  })

  after(async () => {
    for (const server of servers) server.close()
    for (const each of opened.values()) await each.destroy()
    await lab?.remove()
    if (lab) assert.equal(hostState(), stateBefore)
  })

  real('a bot reaches the internet by TCP, UDP and HTTP, and its resolver', async (lab) => {
    const { results } = await lab.attempt(bot, [
      tcp(world.public, 8080),
      udp(world.public, 9999),
      { kind: 'http', host: world.public, port: 80 },
      tcp(world.resolver, 53),
    ])
    assert.deepEqual(results, ['reached', 'reached', 'hello', 'reached'])
    const look = `
      const resolver = new (require('node:dns').promises.Resolver)({ timeout: 1000 })
      resolver.setServers([process.argv[1]])
      resolver.resolve4('bot.example').then(console.log, console.log)`
    assert.match(await lab.script(bot, look, [world.resolver]), /93\.184\.216\.34/)
    assert.equal(network.resolvConf, `nameserver ${world.resolver}\n`)
  })

  real('what cannot be put up leaves nothing behind, its bridge too', async () => {
    const broken = `${tag.slice(0, 6)}x`
    const { network: none, problem = '' } = await Network.open({
      tag: broken,
      allowedNets: [],
      megabitsMax: 0,
      resolvers: ['no-address'],
    })
    assert.equal(none, undefined)
    assert.match(problem, /^the rules for bots cannot be written/)
    assert.doesNotMatch(spawnSync('ip', ['-brief', 'link']).stdout.toString(), new RegExp(`bb${broken}`))
  })

  real('what is left of an instance that is no more is removed by the next that starts; what lives stays', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'botberth-'))
    const tags = { gone: `${tag.slice(0, 6)}g`, there: `${tag.slice(0, 6)}h`, inhabited: `${tag.slice(0, 6)}i` }
    for (const [name, own] of Object.entries(tags)) {
      writeFileSync(join(folder, name), `${own} 1:2`)
      await (await open({ tag: own, owner: join(folder, name) })).ensure(0)
    }
    const { enter } = (await opened.get(tags.inhabited)?.ensure(0)) ?? { enter: [] }
    const living = spawn(enter[0] ?? '', [...enter.slice(1), 'sleep', '1000'])
    rmSync(join(folder, 'gone'))
    rmSync(join(folder, 'inhabited'))
    const all = () =>
      ['ip -brief link', 'ip netns list', 'nft list tables']
        .map((command) => spawnSync('sh', ['-c', command]).stdout.toString())
        .join('')
    for (const own of Object.values(tags)) assert.match(all(), new RegExp(`bb${own}`))
    await open({ tag })
    assert.doesNotMatch(all(), new RegExp(`bb${tags.gone}|botberth[-_]${tags.gone}`))
    for (const own of [tags.there, tags.inhabited])
      for (const name of [`bb${own}`, `botberth-${own}-0`, `table inet botberth_${own}`])
        assert(all().includes(name), name)
    living.kill('SIGKILL')
    await once(living, 'exit')
    await open({ tag })
    assert(!all().includes(tags.inhabited))
    rmSync(folder, { recursive: true })
  })

  real('where all nets are taken that is what is said, and nothing is left', async () => {
    const full = `${tag.slice(0, 6)}f`
    const routes = ownNets.map((net) => `route add unreachable ${net} metric 4000`)
    const batch = (commands: readonly string[]) =>
      spawnSync('ip', ['-force', '-batch', '-'], { input: `${commands.join('\n')}\n` })
    batch(routes)
    try {
      const found = await Network.open({ tag: full, allowedNets: [], megabitsMax: 0, resolvers: [world.resolver] })
      assert.match(found.problem ?? '', /all \d+ nets that bots could have are taken/)
      assert.match(found.remedy ?? '', /ip link delete/)
    } finally {
      batch(routes.map((route) => route.replace('add', 'delete')))
    }
    assert.doesNotMatch(spawnSync('ip', ['-brief', 'link']).stdout.toString(), new RegExp(`bb${full}`))
  })

  real('one bot cannot take all places at the door, and the others have theirs', async (lab) => {
    const keeping = createServer((socket) => socket.on('error', () => undefined).resume())
    servers.push(keeping)
    await new Promise<void>((resolve) => keeping.listen(0, network.gateway, resolve))
    const { port } = keeping.address() as AddressInfo
    await network.openDoor(port)
    const { enter: other } = await network.ensure(1)
    const flood = `
      const { connect } = require('node:net')
      let [reached, refused] = [0, 0]
      for (let i = 0; i < 100; i++)
        connect(Number(process.argv[2]), process.argv[1]).once('connect', () => reached++).once('error', () => refused++)
      setInterval(() => reached + refused === 100 && process.exit(console.log(reached, refused)), 10)`
    const both = [bot, other].map((enter) => lab.script(enter, flood, [network.gateway, String(port)]))
    assert.deepEqual(
      (await Promise.all(both)).map((text) => text.trim()),
      ['64 36', '64 36'],
    )
    await until('room again', () => reaches(tcp(network.gateway, port)))
    await network.remove(1)
  })

  real('a bot reaches no host, no other bot and no private network, and learns it at once', async (lab) => {
    const uplink = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)
    const everywhere = await listen('0.0.0.0')
    const loopback = await listen('127.0.0.1')
    const { enter: other } = await network.ensure(1)
    const listening = lab.listen(other, 8080)
    await until('the other bot', () => reaches(tcp('127.0.0.1', 8080), other))
    assert.equal(await reaches(tcp(botAddress(network, 1), 8080), []), true, 'the host reaches it')
    const closed = [
      tcp('127.0.0.1', loopback),
      tcp('127.0.0.1', everywhere),
      tcp(network.gateway, everywhere),
      tcp(uplink?.address ?? '', everywhere),
      tcp(world.host, everywhere),
      tcp(botAddress(network, 1), 8080),
      tcp(world.lan, 8080),
      udp(world.lan, 9999),
      tcp(world.metadata, 80),
      udp(world.metadata, 9999),
      tcp(world.wireServer, 80),
      udp(world.wireServer, 9999),
      tcp(world.resolver, 8080),
      udp(world.resolver, 9999),
      tcp(world.public, 25),
    ]
    for (const attempt of closed.slice(6)) assert.equal(await reaches(attempt, []), true, `${attempt.host} is there`)
    const refusals = ['ECONNREFUSED', 'EHOSTUNREACH']
    // Datagrams apart and first, because the kernel sends one machine only a few notes about such things a second.
    for (const kind of ['udp', 'tcp']) {
      const tried = closed.filter((attempt) => attempt.kind === kind)
      const { results } = await lab.attempt(bot, tried) // which waits 2.5 seconds for each
      results.forEach((result, at) => {
        assert.ok(refusals.includes(result), `${kind} ${tried[at]?.host} ${tried[at]?.port}: ${result}`)
      })
    }
    // Not past the gateway either. Only root could choose that way.
    const pair = [botAddress(network, 0), botAddress(network, 1)]
    const direct = (verb: string) =>
      [other, bot].forEach((enter, at) => shell([...enter, 'ip', 'route', verb, pair[at] ?? '', 'dev', 'eth0']))
    direct('add')
    const { results: alone } = await lab.attempt(bot, [tcp(botAddress(network, 1), 8080)])
    assert.deepEqual(alone, ['no answer'], 'nobody is there, not even to refuse it')
    direct('delete')
    await listening.end()
  })

  real('a bot has no IPv6', async (lab) => {
    const interfaces = await lab.script(bot, `console.log(JSON.stringify(require('node:os').networkInterfaces()))`)
    assert.ok(interfaces.includes('IPv4'))
    assert.ok(!interfaces.includes('IPv6'), interfaces)
  })

  real('the door is open once it is opened, on the gateway only', async () => {
    const port = await listen('0.0.0.0')
    assert.equal(await reaches(tcp(network.gateway, port)), false)
    await network.openDoor(port)
    assert.equal(await reaches(tcp(network.gateway, port)), true)
    assert.equal(await reaches(tcp(world.host, port)), false)
    await network.repair()
    assert.equal(await reaches(tcp(network.gateway, port)), true)
  })

  real('an allowed net is open with exactly its addresses and its port', async (lab) => {
    const host = await listen('0.0.0.0')
    const [service, elsewhere] = [`${world.lan}/32:8080`, `${world.lanNeighbour}/32`]
    const attempts = [
      tcp(world.lan, 8080),
      tcp(world.lan, 80),
      tcp(world.lanNeighbour, 8080),
      tcp(world.lanNeighbour, 80),
      tcp(world.metadata, 80),
      tcp(world.host, host),
    ]
    const opens = async (allowedNets: string[]) => {
      await open({ allowedNets })
      return (await lab.attempt(bot, attempts)).results.map((result) => result === 'reached')
    }
    assert.deepEqual(await opens([service]), [true, false, false, false, false, false])
    assert.deepEqual(await opens([elsewhere]), [false, false, true, true, false, false])
    // The net of the host's own address opens its neighbours, not the host.
    assert.deepEqual(await opens(['172.29.77.0/24', `172.29.77.0/24:${host}`]), Array(6).fill(false))
    assert.deepEqual(await opens([`${world.host}/32:${host}`]), [false, false, false, false, false, true])
    assert.deepEqual(await opens([]), Array(6).fill(false))
  })

  real('what says that it comes from another address goes nowhere', async (lab) => {
    await network.ensure(1)
    const send = `
      const [text, address, from] = process.argv.slice(1)
      const socket = require('node:dgram').createSocket('udp4')
      socket.bind(0, from, () => socket.send(text, 9999, address, () => socket.close()))`
    const foreign = ['5.5.5.5', botAddress(network, 1)]
    for (const from of [...foreign, botAddress(network, 0)]) {
      // Only root can take an address. It is the rules that are tried here, not the lack of rights.
      if (foreign.includes(from)) shell([...bot, 'ip', 'address', 'add', `${from}/32`, 'dev', 'eth0'])
      await lab.script(bot, send, [`as-${from}`, world.public, from], true)
    }
    await until('the honest one', () => Promise.resolve(lab.datagrams.includes(`as-${botAddress(network, 0)}`)))
    for (const from of foreign) assert.ok(!lab.datagrams.includes(`as-${from}`), lab.datagrams)
    // What it says about other machines' hardware addresses is not believed either.
    for (const from of foreign) shell([...bot, 'ip', 'address', 'delete', `${from}/32`, 'dev', 'eth0'])
  })

  real('nobody outside reaches a bot, or uses this machine as a router', async (lab) => {
    const listening = lab.listen(bot, 8081)
    await until('the bot', () => reaches(tcp(botAddress(network, 0), 8081), []))
    assert.equal(await reaches(tcp(world.other, 8080), []), true)
    assert.equal(await reaches(tcp(world.other, 8080)), true)
    const { results } = await lab.attempt(lab.outside, [
      { ...tcp(botAddress(network, 0), 8081), from: world.public }, // to which a bot may answer
      tcp(world.other, 8080),
    ])
    assert.deepEqual(results, ['no answer', 'no answer'])
    await listening.end()
  })

  real('counters tell what a bot received and sent', async (lab) => {
    const earlier = network.counters(0)
    await lab.script(bot, `require('node:net').connect(9000, '${world.public}').resume()`)
    const later = network.counters(0)
    const received = (later?.rxBytes ?? 0) - (earlier?.rxBytes ?? 0)
    const sent = (later?.txBytes ?? 0) - (earlier?.txBytes ?? 0)
    assert.ok(received > 5_000_000 && received < 6_000_000, `${received}`)
    assert.ok(sent > 500 && sent < 1_000_000, `${sent}`)
    assert.equal(network.counters(77), undefined)
  })

  real('a cap holds both ways, also for a bot that runs already', async (lab) => {
    const down = `require('node:net').connect(9000, '${world.public}').resume()`
    const up = `require('node:net').connect(9001, '${world.public}').resume().write(Buffer.alloc(5_000_000))`
    const time = async (code: string, limitMs: number) => {
      const startedAt = performance.now()
      await withinLimit('5 MB', lab.script(bot, code), limitMs)
      return performance.now() - startedAt
    }
    await time(down, 1_000)
    const capped = await open({ megabitsMax: 6 }) // and what comes at once of the 5 MB is 3.75
    const inode = shell(['stat', '-L', '-c', '%i', bot[1]?.replace('--net=', '') ?? ''])
    assert.deepEqual((await capped.ensure(0)).enter, bot)
    assert.equal(shell(['stat', '-L', '-c', '%i', bot[1]?.replace('--net=', '') ?? '']), inode)
    for (const way of [down, up]) {
      const ms = await time(way, 8_000)
      assert.ok(ms > 1_500, `${ms} ms`)
    }
    const free = await open()
    await free.ensure(0)
    await time(up, 1_000)
  })

  real('a bot that opens connections without end is refused, and no other', async (lab) => {
    const { enter: other } = await network.ensure(1)
    // One that has had none before: those are counted for a while.
    const { enter: flooder } = await network.ensure(5)
    const flood = `
      const net = require('node:net'), counts = {}
      let open = 2500
      const end = (name) => { counts[name] = (counts[name] ?? 0) + 1; if (--open === 0) { console.log(JSON.stringify(counts)); process.exit() } }
      for (let i = 0; i < 2500; i++) net.connect(8080, process.argv[1]).once('connect', function () { this.destroy(); end('reached') }).once('error', ({ code }) => end(code))`
    const counts = JSON.parse(await lab.script(flooder, flood, [world.public])) as Record<string, number>
    assert.ok((counts['ECONNREFUSED'] ?? 0) > 100, JSON.stringify(counts))
    assert.ok((counts['reached'] ?? 0) >= 900, JSON.stringify(counts))
    assert.equal(await reaches(tcp(world.public, 8080), other), true)
    await until('the bot is let out again', () => reaches(tcp(world.public, 8080), flooder))
    await network.remove(5)
  })

  real('opening it again changes nothing, and mends what was removed by hand', async () => {
    const bridge = `bb${tag}`
    const breakages = [
      [],
      ['nft', 'delete', 'table', 'inet', `botberth_${tag}`],
      ['nft', 'delete', 'table', 'bridge', `botberth_${tag}`],
      ['ip', 'link', 'delete', bridge],
      ['ip', 'link', 'set', bridge, 'down'],
      ['ip', 'address', 'flush', 'dev', bridge],
      ['ip', 'route', 'delete', network.gateway.replace(/1$/, '0/16'), 'dev', bridge],
      ['sh', '-c', `echo 0 >/proc/sys/net/ipv4/conf/${bridge}/forwarding`],
      ['ip', 'link', 'set', `${bridge}-0`, 'nomaster'],
    ]
    for (const breakage of breakages) {
      if (breakage.length > 0) shell(breakage)
      const again = await open()
      assert.equal(again.gateway, network.gateway)
      const { enter } = await again.ensure(0)
      assert.equal(await reaches(tcp(world.public, 8080), enter), true, breakage.join(' '))
      assert.equal(await reaches(tcp(world.lan, 8080), enter), false, breakage.join(' '))
    }
    assert.deepEqual(network.list(), [0, 1])
  })

  real('the network of a bot is made anew when it was removed by hand or only half made', async () => {
    const [namespace, device] = [`botberth-${tag}-2`, `bb${tag}-2`]
    const breakages = [
      ['ip', 'netns', 'delete', namespace],
      ['ip', 'link', 'delete', device],
      ['umount', `/run/netns/${namespace}`],
      ['sh', '-c', `: >/sys/class/net/${device}/ifalias`],
      ['sh', '-c', `ip netns delete ${namespace} && ip netns add ${namespace}`],
      ['ip', 'link', 'set', device, 'down'],
      ['nft', 'flush', 'set', 'bridge', `botberth_${tag}`, 'bots'],
    ]
    await network.ensure(2)
    for (const breakage of breakages) {
      shell(breakage)
      if (breakage[0] === 'nft') await network.repair()
      const { enter } = await network.ensure(2)
      assert.equal(await reaches(tcp(world.public, 8080), enter), true, breakage.join(' '))
    }
    shell(['nft', 'delete', 'table', 'inet', `botberth_${tag}`])
    shell(['nft', 'delete', 'table', 'bridge', `botberth_${tag}`])
    const { enter } = await network.ensure(3)
    assert.equal(await reaches(tcp(world.public, 8080), enter), true)
    assert.equal(await reaches(tcp(world.lan, 8080), enter), false)
    await network.remove(3)
    await network.remove(3)
    await network.remove(2)
    assert.deepEqual(network.list(), [0, 1])
    assert.ok(!existsSync(`/run/netns/${namespace}`) && !existsSync(`/sys/class/net/${device}`))
  })

  real('many calls at once for one bot make one network', async () => {
    const all = await Promise.all([1, 2, 3].map(() => network.ensure(4)))
    assert.equal(await reaches(tcp(world.public, 8080), all[0]?.enter), true)
    await network.remove(4)
  })

  real('two servers on one machine have nets of their own, and one goes without the other', async () => {
    const another = await open({ tag: `${tag}x` })
    assert.notEqual(another.gateway, network.gateway)
    const { enter } = await another.ensure(0)
    assert.equal(await reaches(tcp(world.public, 8080), enter), true)
    assert.equal(await reaches(tcp(botAddress(network, 0), 8080), enter), false)
    await another.destroy()
    assert.equal(await reaches(tcp(world.public, 8080)), true)
  })

  real('a machine that cannot do it is told why, and how to mend it', async () => {
    assert.match((await Network.open({ tag: 'too-long', allowedNets: [], megabitsMax: 0 })).problem ?? '', /tag/)
    assert.match((await Network.open({ tag, allowedNets: ['10/8'], megabitsMax: 0 })).problem ?? '', /10\/8/)
    const getuid = process.getuid
    process.getuid = () => 1000
    try {
      assert.match((await Network.open({ tag, allowedNets: [], megabitsMax: 0 })).problem ?? '', /root/)
    } finally {
      if (getuid) process.getuid = getuid
    }
  })
})
