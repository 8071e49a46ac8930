import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/*
 * The door: where hosted bots find our APIs from behind their walls. It stands on an address of its own and leads to the
 * APIs alone, and whoever comes through it is a stranger, however near the address it comes from looks.
 */

const isComer = Symbol('isComer')
type Comer = Socket & { [isComer]?: true }

/** All that connects to it comes through the door. */
export function makeDoor(server: Server): void {
  server.on('connection', (socket: Comer) => {
    socket[isComer] = true
  })
  // Where bots are seen from the loopback, a proxy that is trusted may be there too. Nobody speaks for others here.
  server.prependListener('request', ({ headers }) => {
    for (const name of ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']) delete headers[name]
  })
}

export function isFromDoor(socket: Comer): boolean {
  return socket[isComer] === true
}
