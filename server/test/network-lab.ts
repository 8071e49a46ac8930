import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, constants, copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { until } from './until.ts'

/** Addresses of the world outside, all behind one cable, to which the host has ways. */
export const world = {
  public: '93.184.216.34',
  metadata: '169.254.169.254',
  /** Of a cloud too, although it looks public. */
  wireServer: '168.63.129.16',
  lan: '10.77.0.5',
  lanNeighbour: '10.77.0.6',
  resolver: '10.77.0.53',
  /** The host's own address on that cable. */
  host: '172.29.77.1',
  /** A public one behind another cable. */
  other: '45.33.32.156',
} as const

export interface Attempt {
  readonly kind: 'tcp' | 'udp' | 'http'
  readonly host: string
  readonly port: number
  /** One of the own addresses; of TCP only. */
  readonly from?: string
}

/** Runs on both sides. Answers all TCP with a page, and UDP with the address that it came from; a resolver knows one name. */
const serve = `
const net = require('node:net'), dgram = require('node:dgram')
const page = 'HTTP/1.1 200 OK\\r\\ncontent-length: 5\\r\\nconnection: close\\r\\n\\r\\nhello'
for (const port of [25, 53, 80, 8080]) net.createServer((socket) => { socket.on('error', () => {}); socket.end(page); socket.resume() }).listen(port, '0.0.0.0')
net.createServer((socket) => { socket.on('error', () => {}); socket.end(Buffer.alloc(5_000_000)); socket.resume() }).listen(9000, '0.0.0.0')
net.createServer((socket) => { let bytes = 0; socket.on('error', () => {}); socket.on('data', (data) => { bytes += data.length; if (bytes >= 5_000_000) socket.end('done') }) }).listen(9001, '0.0.0.0')
// One for each address, because an answer has to come from where the question went.
for (const address of process.argv.slice(1)) {
  const udp = dgram.createSocket('udp4')
  udp.on('message', (text, from) => { console.log('datagram ' + text + ' from ' + from.address); udp.send(from.address, from.port, from.address) })
  udp.bind(9999, address)
}
const names = dgram.createSocket('udp4')
names.on('message', (query, from) => {
  const answer = Buffer.concat([query, Buffer.from('c00c000100010000003c00045db8d822', 'hex')])
  answer.writeUInt16BE(0x8180, 2); answer.writeUInt16BE(1, 6)
  names.send(answer, from.port, from.address)
})
names.bind(53, '${world.resolver}', () => console.log('ready'))
names.on('error', () => console.log('ready'))
`

const attempt = `
const tries = {
  tcp: ({ host, port, from }, end) => require('node:net').connect({ host, port, localAddress: from }, () => end('reached')).on('error', (error) => end(error.code)),
  http: ({ host, port }, end) => require('node:http').get({ host, port }, (reply) => reply.on('data', (data) => end(String(data)))).on('error', (error) => end(error.code)),
  udp: ({ host, port }, end) => {
    const socket = require('node:dgram').createSocket('udp4')
    socket.on('message', () => end('reached')).on('error', (error) => end(error.code))
    socket.connect(port, host, (error) => error ? end(error.code) : socket.send('hello'))
  },
}
Promise.all(JSON.parse(process.argv[1]).map((one) => new Promise((resolve) => {
  setTimeout(resolve, 2500, 'no answer')
  tries[one.kind](one, resolve)
}))).then((all) => { console.log(JSON.stringify(all)); process.exit() })
`

/** A world outside of this machine, made of namespaces. Whoever makes one has to `remove` it. */
export class NetworkLab {
  readonly #tag: string
  readonly #servers: ChildProcess[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'botberth-'))
  readonly #node = join(this.#folder, 'node')
  #output = ''

  constructor(tag: string) {
    this.#tag = tag
  }

  async make(): Promise<void> {
    // Where everybody may read it, also a bot's user.
    chmodSync(this.#folder, 0o755)
    copyFileSync(process.execPath, this.#node, constants.COPYFILE_FICLONE)
    const { public: _, host, other, ...rest } = world
    this.#cable('a', `${host}/30`, '172.29.77.2', [world.public, ...Object.values(rest)])
    this.#cable('b', '172.29.77.5/30', '172.29.77.6', [other])
    await this.#serve(this.#side('a'), [world.public, ...Object.values(rest)])
    await this.#serve(this.#side('b'), [other])
  }

  #side(side: string): string {
    return `lab-${this.#tag}-${side}`
  }

  #cable(side: string, host: string, there: string, addresses: readonly string[]): void {
    const [namespace, device] = [this.#side(side), `lab${this.#tag}${side}`]
    const inside = ['ip', '-n', namespace]
    shell(['ip', 'netns', 'add', namespace])
    shell(['ip', 'link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace])
    shell(['ip', 'address', 'add', host, 'dev', device])
    shell(['ip', 'link', 'set', device, 'up'])
    shell([...inside, 'address', 'add', `${there}/30`, 'dev', 'eth0'])
    for (const name of ['lo', 'eth0']) shell([...inside, 'link', 'set', name, 'up'])
    shell([...inside, 'route', 'add', 'default', 'via', host.replace('/30', '')])
    for (const address of addresses) {
      shell([...inside, 'address', 'add', `${address}/32`, 'dev', 'lo'])
      shell(['ip', 'route', 'add', `${address}/32`, 'via', there])
    }
  }

  async #serve(namespace: string, addresses: readonly string[]): Promise<void> {
    const server = spawn('nsenter', [`--net=/run/netns/${namespace}`, '--', this.#node, '-e', serve, ...addresses], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#servers.push(server)
    let output = ''
    server.stdout.on('data', (data: Buffer) => {
      output += data.toString()
      this.#output += data.toString()
    })
    await until('the servers of the lab', () => Promise.resolve(output.includes('ready')))
  }

  /** Every datagram that came out, with where it said that it is from. */
  get datagrams(): string {
    return this.#output
  }

  /** The way in to the world outside. */
  get outside(): readonly string[] {
    return ['nsenter', `--net=/run/netns/${this.#side('a')}`, '--']
  }

  /** What each attempt came to. */
  async attempt(enter: readonly string[], all: readonly Attempt[]): Promise<{ results: string[] }> {
    const output = await this.script(enter, attempt, [JSON.stringify(all)])
    return { results: JSON.parse(output) as string[] }
  }

  /** As a user without rights, as bots are; `isRoot` for what no bot could do. */
  async script(enter: readonly string[], code: string, args: readonly string[] = [], isRoot = false): Promise<string> {
    const user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
    const child = this.#start([...enter, ...(isRoot ? [] : user)], code, args)
    let output = ''
    child.stdout.on('data', (data: Buffer) => (output += data.toString()))
    await once(child, 'close')
    return output
  }

  /** Something that listens there until it is ended. */
  listen(enter: readonly string[], port: number): { end(): Promise<void> } {
    const child = this.#start(enter, `require('node:net').createServer().listen(${port})`)
    const end = async () => {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
    return { end }
  }

  #start(
    enter: readonly string[],
    code: string,
    args: readonly string[] = [],
  ): ChildProcessByStdio<null, Readable, null> {
    const [file = '', ...rest] = [...enter, this.#node, '-e', code, ...args]
    return spawn(file, rest, { stdio: ['ignore', 'pipe', 'inherit'], env: {}, cwd: '/', timeout: 60_000 })
  }

  async remove(): Promise<void> {
    for (const server of this.#servers) {
      const isEnded = server.exitCode !== null || server.signalCode !== null
      server.kill('SIGKILL')
      if (!isEnded) await once(server, 'exit')
    }
    for (const side of ['a', 'b']) {
      spawnSync('ip', ['link', 'delete', `lab${this.#tag}${side}`])
      spawnSync('ip', ['netns', 'delete', this.#side(side)])
    }
    rmSync(this.#folder, { recursive: true })
  }
}

/** Runs a command to its end, and throws what it says if it fails. */
export function shell(argv: readonly string[]): string {
  const [file = '', ...args] = argv
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', timeout: 20_000 })
  if (status !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
  return stdout
}

/** All that a network could leave behind. */
export function hostState(): string {
  const commands = [
    ['ip', '-brief', 'link'],
    ['ip', 'netns', 'list'],
    ['ip', '-4', 'route', 'show', 'table', 'all'],
    ['nft', 'list', 'tables'],
  ]
  const settings = shell(['sh', '-c', 'grep . /proc/sys/net/ipv4/conf/*/forwarding'])
  return [...commands.map(shell), settings, readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8')].join('\n')
}
