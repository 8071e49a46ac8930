import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

interface Load {
  readonly url: string
  readonly headers: Record<string, string>
  readonly connections: number
  readonly seconds: number
  /** Never sleeps, so that nobody pays for waking it. For servers that need one processor of two, and leave it the other. */
  readonly isAwake?: boolean
}

/**
 * GET requests a second over connections that each send the next one when the last was answered. It knows no more of
 * HTTP than that: a client that does what clients do costs more than the servers that it measures, and leaves them idle.
 */
export function load({ url, headers, ...rest }: Load): Promise<number> {
  const { pathname, search, origin } = new URL(url)
  const request = requestBytes(origin, { path: pathname + search, headers })
  return loadAll({ url, requests: [request], ...rest })
}

interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

export function requestBytes(origin: string, { method = 'GET', path, headers = {}, body = '' }: Sent): Buffer {
  const length = body === '' ? {} : { 'content-type': 'application/json', 'content-length': String(body.length) }
  const fields = Object.entries({ host: new URL(origin).host, ...headers, ...length })
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

/** The same for requests of any kind, in turn: of 20 connections the first sends the 1st, the 21st, the 41st. */
export async function loadAll({
  url,
  requests,
  connections,
  seconds,
  isAwake = false,
}: Omit<Load, 'headers'> & { requests: readonly Buffer[] }): Promise<number> {
  const { hostname, port } = new URL(url)
  const count = { answers: 0, isOver: false }
  const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname))
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  const turns = (turn: number) => () => {
    const request = requests[turn % requests.length]
    turn += connections
    return request ?? Buffer.alloc(0)
  }
  const begin = performance.now()
  if (isAwake) stayAwake(count)
  const ended = Promise.all(sockets.map((socket, index) => ask(socket, turns(index), count)))
  await Promise.race([ended, sleep(seconds * 1000)]) // a wrong answer ends it early
  count.isOver = true
  const rate = count.answers / ((performance.now() - begin) / 1000)
  await ended
  return rate
}

/**
 * A client that sleeps has to be woken by whoever answers it, which in a virtual machine can cost as much as the answer
 * did; and the faster server of two would find it awake more often.
 */
function stayAwake(count: { readonly isOver: boolean }): void {
  if (!count.isOver) setImmediate(stayAwake, count)
}

/** Asks again and again until it is over; then its connection is closed. */
function ask(socket: Socket, next: () => Buffer, count: { answers: number; isOver: boolean }): Promise<void> {
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
      if (!count.isOver) socket.write(next())
      else socket.destroy()
    })
    socket.once('error', reject)
    socket.once('close', () => resolve())
    socket.write(next())
  })
}
