import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { execute } from './commands.ts'

interface TrialResult {
  /** Whether a bot gets to a port of the host that is open to it, and to one that is not. */
  readonly door: boolean
  readonly wall: boolean
  /** Whether the resolver answers a bot. */
  readonly resolver: boolean
}

const timeoutMs = 2_000

// Asks for the name servers of the root, which every resolver knows.
const script = `
const [door, wall, address, resolver] = process.argv.slice(1)
const connects = (port) => new Promise((resolve) => {
  const socket = require('node:net').connect({ host: address, port: Number(port) })
  const end = (result) => { clearTimeout(timer); socket.destroy(); resolve(result) }
  const timer = setTimeout(end, ${timeoutMs}, false)
  socket.once('connect', () => end(true)).once('error', () => end(false))
})
const answers = () => new Promise((resolve) => {
  const socket = require('node:dgram').createSocket('udp4')
  const end = (result) => { clearTimeout(timer); socket.close(); resolve(result) }
  const timer = setTimeout(end, ${timeoutMs}, false)
  socket.once('message', () => end(true)).once('error', () => end(false))
  socket.connect(53, resolver, (error) => error ? end(false) : socket.send(Buffer.from('0042010000010000000000000000020001', 'hex')))
})
Promise.all([connects(door), connects(wall), answers()]).then(([door, wall, resolver]) =>
  console.log(JSON.stringify({ door, wall, resolver })))`

interface Trial {
  /** Where bots find this machine; it listens there too, unless `listen` says otherwise. */
  readonly gateway: string
  readonly listen?: string
  /** As bots know it, and as this machine does if that is another. */
  readonly resolver: string
  readonly hostResolver?: string
  /** Opens a port to bots, asks with what is put in front of a bot's command, and closes it. */
  readonly withDoor: (port: number, ask: (enter: readonly string[]) => Promise<TrialResult>) => Promise<TrialResult>
}

/** What a bot really gets, and what the host gets of the same resolver. */
export async function tryNetwork(trial: Trial): Promise<{ inside: TrialResult; outside: TrialResult }> {
  const { gateway, listen = gateway, resolver, hostResolver = resolver } = trial
  const servers = [createServer((socket) => socket.destroy()), createServer((socket) => socket.destroy())]
  try {
    const ports = await Promise.all(
      servers.map(async (server) => {
        server.listen(0, listen)
        await once(server, 'listening')
        return (server.address() as AddressInfo).port
      }),
    )
    const ask = async (enter: readonly string[], given: readonly string[]) => {
      const words = [...ports.map(String), ...given]
      return JSON.parse(await execute([...enter, process.execPath, '-e', script, ...words])) as TrialResult
    }
    const [inside, outside] = await Promise.all([
      trial.withDoor(ports[0] ?? 0, (enter) => ask(enter, [gateway, resolver])),
      ask([], [listen, hostResolver]),
    ])
    return { inside, outside }
  } finally {
    for (const server of servers) server.close()
  }
}
