import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

interface Load {
  readonly url: string
  readonly headers: Record<string, string>
  readonly connections: number
  readonly seconds: number
}

/**
 * GET requests a second over connections that each send the next one when the last was answered. It knows no more of
 * HTTP than that: a client that does what clients do costs more than the servers that it measures, and leaves them idle.
 */
export async function load({ url, headers, connections, seconds }: Load): Promise<number> {
  const { hostname, port, pathname, host } = new URL(url)
  const fields = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = Buffer.from(`GET ${pathname} HTTP/1.1\r\n${fields.join('')}\r\n`)
  const count = { answers: 0, isOver: false }
  const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname))
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  const begin = performance.now()
  const ended = Promise.all(sockets.map((socket) => ask(socket, request, count)))
  await Promise.race([ended, sleep(seconds * 1000)]) // a wrong answer ends it early
  count.isOver = true
  const rate = count.answers / ((performance.now() - begin) / 1000)
  await ended
  return rate
}

/** Asks again and again until it is over; then its connection is closed. */
function ask(socket: Socket, request: Buffer, count: { answers: number; isOver: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing = 0
    socket.on('data', (chunk: Buffer) => {
      if (missing === 0) {
        const end = chunk.indexOf('\r\n\r\n') + 4
        const head = chunk.toString('latin1', 0, end)
        const length = /^HTTP\/1\.1 200 [^]*\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1]
        if (!length) return reject(new Error(`an unexpected answer: ${head}`))
        missing = end + Number(length)
      }
      missing -= chunk.length
      if (missing > 0) return
      count.answers++
      if (!count.isOver) socket.write(request)
      else socket.destroy()
    })
    socket.once('error', reject)
    socket.once('close', () => resolve())
    socket.write(request)
  })
}
