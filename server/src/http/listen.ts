import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { StartError } from '../lib/data-dir.ts'
import { readOpenFilesLimit } from '../lib/proc.ts'
import { forgetForwarding, isFromDoor, makeDoor } from './door.ts'
import { closeIdle } from './idle.ts'

/** The open ports of a server. Closing the server closes them all. */
export interface Listening {
  readonly port: number
  /** Another one, for hosted bots, who reach nothing else of this machine. Returns its port: the wanted one if it is free. */
  openDoor(wanted: { host: string; port: number }): Promise<number>
  /** Does not wait for requests that are under way. */
  cutConnections(): void
}

/**
 * Listens on one address, or for `localhost` on both loopback addresses: browsers try ::1 first, and another program
 * must not be able to answer there in our name.
 */
export async function listen(
  server: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<Listening> {
  const isLocalhost = host.toLowerCase() === 'localhost'
  const servers: Server[] = [server.server]
  const sibling = isLocalhost ? siblingOf(server) : undefined
  const most = connectionsMax()
  if (sibling) servers.push(sibling)
  for (const one of servers) one.maxConnections = most
  server.addHook('preClose', async () => {
    await Promise.all(servers.slice(1).map(closeServer))
  })
  try {
    await server.listen({
      host: isLocalhost ? '127.0.0.1' : host,
      port,
      listenTextResolver: (address) => `listening on ${address}`,
    })
    const { port: chosen } = server.server.address() as AddressInfo
    if (sibling) await listenIfPossible(sibling, chosen)
    return {
      port: chosen,
      openDoor: (wanted) => {
        const door = siblingOf(server)
        servers.push(door)
        door.maxConnections = Math.floor(most / 2) // whatever bots do, others get in
        return openDoor(door, wanted)
      },
      cutConnections: () => servers.forEach((one) => one.closeAllConnections()),
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') {
      throw new StartError(
        `Port ${port} on ${host} is taken by another program. Stop it, or set PORT to another one (0 picks a free one).`,
      )
    }
    throw new StartError(`Cannot listen on ${host}, port ${port}: ${message}`, { cause: error })
  }
}

async function openDoor(door: Server, { host, port }: { host: string; port: number }): Promise<number> {
  makeDoor(door)
  await listenOn(door, { host, port }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    return listenOn(door, { host, port: 0 }) // a program that listens on all addresses has the port
  })
  return (door.address() as AddressInfo).port
}

/** A second listener with everything that the first one has. */
function siblingOf(server: FastifyInstance): Server {
  const { server: first } = server
  const sibling = createServer({
    ServerResponse: server.answerClass,
    headersTimeout: first.headersTimeout,
    requestTimeout: first.requestTimeout,
    connectionsCheckingInterval: 5_000,
    requireHostHeader: false,
  })
  closeIdle(sibling)
  // One with `Expect` comes by an event of its own.
  for (const event of ['request', 'checkExpectation'] as const)
    sibling.on(event, (request, response) => {
      if (isFromDoor(request.socket)) forgetForwarding(request)
      server.routing(request, response)
    })
  for (const handler of first.listeners('clientError')) sibling.on('clientError', handler as (error: Error) => void)
  return sibling
}

/** A machine without IPv6 is no reason not to start. */
async function listenIfPossible(server: Server, port: number): Promise<void> {
  await listenOn(server, { host: '::1', port }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRNOTAVAIL' && error.code !== 'EAFNOSUPPORT') throw error
  })
}

async function listenOn(server: Server, address: { host: string; port: number }): Promise<void> {
  server.listen(address)
  await once(server, 'listening') // rejects with its error
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
}

// For the database, the log, and whatever else needs a file while clients hold connections open.
const reservedFiles = 64

/** More connections than there are file descriptors would leave none for the database. */
function connectionsMax(): number {
  if (process.platform !== 'linux') return 10_000
  return Math.max(16, readOpenFilesLimit().soft - reservedFiles)
}
