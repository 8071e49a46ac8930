import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

// Longer than proxies before us keep one: they are to let go first, or a request of theirs may meet a closed connection.
const idleMaxMs = 72_000
const sweepMs = 12_000

type Connection = Socket & { readonly _httpMessage?: ServerResponse | null }

/**
 * Closes connections of a server on which nobody has asked for anything for a while. Node has a timer of each connection
 * for this, which it sets and clears at each request: a twentieth of what a small one costs.
 */
export function closeIdle(server: Server, { idleMs = idleMaxMs, everyMs = sweepMs } = {}): void {
  server.keepAliveTimeout = 0
  const seen = new Map<Connection, { bytesRead: number; at: number }>()
  server.on('connection', (socket: Connection) => {
    seen.set(socket, { bytesRead: 0, at: performance.now() })
    socket.once('close', () => seen.delete(socket))
  })
  const timer = setInterval(() => {
    const now = performance.now()
    for (const [socket, last] of seen) {
      const { bytesRead, _httpMessage: underWay } = socket
      if (underWay || bytesRead !== last.bytesRead) seen.set(socket, { bytesRead, at: now })
      else if (now - last.at >= idleMs) socket.destroySoon()
    }
  }, everyMs).unref()
  server.once('close', () => clearInterval(timer))
}
