import diagnostics from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { Agent, buildConnector } from 'undici'
import type { AddressGuard } from './address-guard.ts'

const connectTimeoutMs = 5_000
const keepAliveMs = 4_000
const headerBytesMax = 16 * 1024

/** How an outgoing connection was used, for whoever has to know what its end means. */
interface Use {
  requests: number
  bytesBefore: number
}

const uses = new WeakMap<object, Use>()
/** By both of their ends. */
const sockets = new Map<string, Socket>()

type Ends = Partial<Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>>

const endsOf = ({ localAddress, localPort, remoteAddress, remotePort }: Ends) =>
  [localAddress, localPort, remoteAddress, remotePort].join(' ')

diagnostics.subscribe('undici:client:sendHeaders', (message) => {
  const { socket } = message as { socket: Socket }
  const use = uses.get(socket)
  if (!use) return
  use.requests++
  use.bytesBefore = socket.bytesRead
})

/**
 * For requests to addresses that strangers name. The guard decides on the very address that is connected to: names by
 * the look-up of the connection itself, addresses before it, both once more when it stands. Follows no redirects.
 */
export function makeOutgoingAgent(guard: AddressGuard): Agent {
  const connect = buildConnector({ lookup: guard.lookup, timeout: connectTimeoutMs, allowH2: false })
  return new Agent({
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    maxHeaderSize: headerBytesMax,
    // Whoever asks has a time limit of its own, for all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    connect: (options, callback) => {
      try {
        guard.checkHost(options.hostname)
      } catch (error) {
        callback(error as Error, null)
        return
      }
      connect(options, (...result) => {
        const [, socket] = result
        if (socket && !guard.isAllowed(socket.remoteAddress ?? '')) {
          socket.destroy()
          callback(new Error(`connected to ${socket.remoteAddress}, which is not allowed`), null)
          return
        }
        if (socket) watch(socket)
        callback(...result)
      })
    },
  })
}

function watch(socket: Socket): void {
  const ends = endsOf(socket)
  uses.set(socket, { requests: 0, bytesBefore: 0 })
  sockets.set(ends, socket)
  socket.once('close', () => {
    if (sockets.get(ends) === socket) sockets.delete(ends)
  })
  // The error itself does not say whose it is.
  socket.on('error', (error) => Object.assign(error, { ends }))
}

/**
 * Whether a request met the end of a connection that had served others before and gave not a byte to this one: the
 * other side had closed it already, and never saw the request.
 */
export function wasStale(error: unknown): boolean {
  const { ends, socket: info } = error as { ends?: string; socket?: Ends }
  const socket = sockets.get(info ? endsOf(info) : (ends ?? ''))
  const use = socket && uses.get(socket)
  return use !== undefined && use.requests > 1 && socket?.bytesRead === use.bytesBefore
}
