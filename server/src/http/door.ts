import type { IncomingMessage, Server } from 'node:http'
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
}

/**
 * Before a request is routed, whichever event it comes with. Where bots are seen from the loopback, a proxy that is trusted
 * may be there too: nobody speaks for others here.
 */
export function forgetForwarding({ headers }: IncomingMessage): void {
  for (const name of Object.keys(headers)) if (isForwardingField(name)) delete headers[name]
}

/** Whatever proxies write to say for whom they ask. */
export function isForwardingField(name: string): boolean {
  return name.includes('forwarded') || name === 'via' || name.endsWith('-ip') || name.startsWith('x-original-')
}

export function isFromDoor(socket: Comer): boolean {
  return socket[isComer] === true
}
