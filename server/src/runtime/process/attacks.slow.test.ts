// What hostile bots and builds try: each attack is stopped by each of its walls alone, and gets through where they are
// left out, which shows that the wall is what stops it and that this test would notice if it did not.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { attackFiles, attacks, type Targets } from '../../../test/attacks.ts'
import { until } from '../../../test/until.ts'
import { newId } from '../../lib/ids.ts'
import type { InstanceSpec, Wall } from '../runtime.ts'
import { ProcessRuntime } from './process-runtime.ts'
import { findProgram } from './toolchain.ts'

const limits = { memoryMb: 256, cpus: 0.5, diskMb: 64 }
const programs = ['bwrap', 'nft', 'ip', 'perl', 'setpriv', 'unshare', 'mkfs.ext4']
const missing = programs.filter((program) => findProgram(program) === undefined)
const skip =
  process.getuid?.() !== 0
    ? 'THE WALLS ARE NOT TESTED: only root can put them all up'
    : missing.length > 0 && `THE WALLS ARE NOT TESTED: ${missing.join(', ')} is missing`

// Bubblewrap is what sets the filter for calls; a bot's number as a user is what its network is counted by; and root could
// do with a disk whatever it likes.
const leftOut: readonly (readonly Wall['name'][])[] = [
  [],
  ['calls'],
  ['limits'],
  ['network'],
  ['disk'],
  ['users', 'network', 'disk'],
  ['files', 'calls'],
  ['files', 'calls', 'users', 'network', 'disk'],
]

// Two at once: they mostly wait.
describe('hostile bots', { skip, concurrency: 2 }, () => {
  const servers: Server[] = []
  const abstract = `botberth-hostile-${process.pid}`
  let hostPort = ''

  before(async () => {
    const server = await listen({ host: '0.0.0.0', port: 0, backlog: 4096 })
    hostPort = String((server.address() as AddressInfo).port)
    await listen({ path: `\0${abstract}` })
  })
  after(() => {
    for (const server of servers) server.close()
  })

  async function listen(at: object): Promise<Server> {
    const server = createServer((socket) => socket.on('error', () => undefined))
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(at, resolve))
    return server
  }

  for (const without of leftOut) {
    const title = without.length === 0 ? 'with all walls' : `without ${without.join(', ')}`

    test(`${title}: exactly those attacks get through that only these walls stop`, { timeout: 900_000 }, async () => {
      const outer = mkdtempSync(join(tmpdir(), 'botberth-hostile-'))
      const [dataDir, open] = [join(outer, 'data'), join(outer, 'open')]
      for (const folder of [dataDir, open]) mkdirSync(folder)
      for (const [folder, mode] of [
        [outer, 0o711],
        [dataDir, 0o711],
        [open, 0o777],
      ] as const)
        chmodSync(folder, mode)
      writeFileSync(join(dataDir, 'ours'), 'secret', { mode: 0o600 })
      const socket = await listen({ path: join(dataDir, 'socket') })
      chmodSync(join(dataDir, 'socket'), 0o600)
      const runtime = new ProcessRuntime({ dataDir, without })
      const victims: ChildProcess[] = []
      try {
        const network = await runtime.openNetwork({ allowedNets: [] })
        await network?.openDoor(Number(hostPort))
        for (const { name, state, detail } of runtime.walls)
          assert(without.includes(name) ? state !== 'on' : state !== 'off', `${name} is ${state}: ${detail}`)
        const neighbour = await startNeighbour(runtime)
        const target = (): Targets => {
          const victim = spawn('sleep', ['98765'])
          victims.push(victim)
          return {
            DATA: dataDir,
            OPEN: open,
            VICTIM: String(victim.pid),
            NEIGHBOUR: join(dataDir, 'bots', neighbour.botId, 'home'),
            NEIGHBOUR_ADDRESS: neighbour.address,
            NEIGHBOUR_PORT: neighbour.port,
            HOST: hostAddress(),
            HOST_PORT: hostPort,
            DOOR: network?.door?.host ?? '127.0.0.1',
            ABSTRACT: abstract,
            FORKS: '600',
            MEGABYTES: '300',
            DISK_MEGABYTES: String(limits.diskMb * 2),
          }
        }
        const expected = attacks.map(({ what, stoppedBy }) => [
          what,
          stoppedBy.every((name) => without.includes(name)) ? 'through' : 'stopped',
        ])
        const more = { FORKS: '1200', MEGABYTES: '1200' }
        // The server's own folders, npm among them, are closed to a bot's user who has no view of its own.
        const canInstall = without.includes('users') || !without.includes('files')
        const [asBot, asBuild, burnt] = await Promise.all([
          attackAsBot(runtime, target()),
          attackAsBuild(runtime, { ...target(), ...more }, canInstall ? install : ['sh', 'all.sh']),
          burn(runtime),
        ])
        assert.deepEqual(asBot, expected, 'as a bot')
        assert.deepEqual(asBuild, expected, 'as a build')
        assert.equal(burnt > 0.38, without.includes('limits'), `${burnt} seconds of processor time`)
      } finally {
        for (const victim of victims) victim.kill('SIGKILL')
        for (const { botId } of await runtime.list()) await runtime.remove(botId)
        await runtime.close()
        socket.close()
        rmSync(outer, { recursive: true })
      }
    })
  }
})

test('what a bot is refused is known: once for each of its walls, until it is refused again', { skip }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'botberth-refused-'))
  const runtime = new ProcessRuntime({ dataDir })
  try {
    const network = await runtime.openNetwork({ allowedNets: [] })
    const script = `
      ${attacks.find(({ what }) => what.includes('processes'))?.script}
      for port in 5432 5433; do perl connect.pl 10.0.0.1 $port; done
      echo tried; exec sleep 300`
    const { id, botId } = await startBot(runtime, { argv: ['sh', '-c', script], env: { FORKS: '600' } })
    const calm = await startBot(runtime, { argv: ['sleep', '300'] })
    await until('it', async () => (await runtime.readOutput(id, 'stdout', 0)).includes('tried'))
    await network?.repair() // which writes all rules anew, and what they noted with them
    const told = await runtime.takeRefusals()
    assert.deepEqual(
      told.map(({ wall, text, ...whose }) => [whose, wall, text]),
      [
        [
          { instanceId: id, botId },
          'limits',
          'The bot reached its limit of 256 processes and threads: it cannot start more.',
        ],
        [
          { instanceId: id, botId },
          'network',
          'A connection of the bot to 10.0.0.1:5432 was refused: bots reach the public internet and the APIs of this host only.',
        ],
      ],
    )
    assert.deepEqual(await runtime.takeRefusals(), [])
    assert.equal((await runtime.list()).find((instance) => instance.id === calm.id)?.exit, undefined)
  } finally {
    for (const { botId } of await runtime.list()) await runtime.remove(botId)
    await runtime.close()
    rmSync(dataDir, { recursive: true })
  }
})

async function startNeighbour(runtime: ProcessRuntime): Promise<{ botId: string; address: string; port: string }> {
  const script = 'echo mine >secret; exec perl neighbour.pl'
  const { id, botId } = await startBot(runtime, { argv: ['sh', '-c', script], env: { TOKEN: 'of-the-neighbour' } })
  const [, address = '', port = ''] = await until('the neighbour', async () => {
    const text = (await runtime.readOutput(id, 'stdout', 0)).toString()
    return /^listens (\S+) (\d+)/.exec(text) ?? undefined
  })
  assert.equal((await runtime.stats(id))?.processes, 1, 'what keeps it is not counted as its own')
  return { botId, address, port }
}

async function attackAsBot(runtime: ProcessRuntime, targets: Targets) {
  const { id } = await startBot(runtime, { argv: ['sh', 'all.sh'], env: { ...targets } })
  const text = await until(
    'the end of the attacks',
    async () => {
      const output = (await runtime.readOutput(id, 'stdout', 0)).toString()
      return output.endsWith('end\n') && output
    },
    90_000,
  )
  return outcomes(text.split('\n'))
}

/** How much a bot gets within six seconds that may have a twentieth of a processor, and wants 0.4 seconds of one. */
async function burn(runtime: ProcessRuntime): Promise<number> {
  const { id } = await startBot(runtime, { argv: ['perl', 'burn.pl'], limits: { ...limits, cpus: 0.05 } })
  return until('the end of the burning', async () => {
    const [, seconds] = /^(\S+) seconds/.exec((await runtime.readOutput(id, 'stdout', 0)).toString()) ?? []
    return seconds !== undefined && Number(seconds)
  })
}

async function startBot(runtime: ProcessRuntime, fields: Partial<InstanceSpec> & Pick<InstanceSpec, 'argv'>) {
  const [id, botId, releaseId] = [newId('ins', new Date()), newId('bot', new Date()), newId('dep', new Date())]
  const workspace = await runtime.prepare({ id: botId, limits }, releaseId)
  putAttacks(workspace.folder)
  await workspace.keep()
  await runtime.start({ id, botId, releaseId, releaseEnv: {}, env: {}, limits, ...fields })
  return { id, botId }
}

const install = ['npm', 'install', '--offline', '--foreground-scripts', '--no-audit', '--no-fund']

/** What the script of a package would do. */
async function attackAsBuild(runtime: ProcessRuntime, targets: Targets, argv: readonly string[]) {
  const botId = newId('bot', new Date())
  const workspace = await runtime.prepare({ id: botId, limits }, newId('dep', new Date()))
  putAttacks(workspace.folder)
  writeFileSync(
    join(workspace.folder, 'package.json'),
    JSON.stringify({ name: 'hostile', scripts: { postinstall: 'sh all.sh' } }),
  )
  const lines: string[] = []
  await workspace.exec({
    argv,
    releaseEnv: {},
    env: { ...targets },
    timeoutMs: 90_000,
    signal: new AbortController().signal,
    onLine: (line) => lines.push(line),
  })
  await workspace.discard()
  await runtime.remove(botId)
  return outcomes(lines)
}

function putAttacks(folder: string): void {
  mkdirSync(join(folder, 'attacks'))
  for (const [name, text] of Object.entries(attackFiles)) writeFileSync(join(folder, name), text)
  for (const [index, { script }] of attacks.entries())
    writeFileSync(join(folder, 'attacks', String(index).padStart(2, '0')), script)
}

function outcomes(lines: readonly string[]): unknown[] {
  return lines.flatMap((line) => {
    const [, index, outcome] = /^(\d\d) (through|stopped)$/.exec(line) ?? []
    return index === undefined ? [] : [[attacks[Number(index)]?.what, outcome]]
  })
}

function hostAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1'
}
