import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

/** One attempt, as the receiver saw it. */
export interface Hit {
  readonly path: string
  readonly delivery: string
  readonly event: string
  readonly attempt: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly at: number
  /** When it was answered, or given up by the sender; undefined while it is under way. */
  endedAt?: number
  status?: number
}

type Answer = (hit: Hit, response: ServerResponse) => number | undefined | Promise<number | undefined>

/** Takes deliveries and writes them into a ledger. The answer is a status; undefined: the script answers itself. */
export class Receiver {
  readonly hits: Hit[] = []
  answer: Answer
  readonly #server: Server

  constructor(server: Server, answer: Answer) {
    this.#server = server
    this.answer = answer
    server.on('request', (request, response) => void this.#take(request, response))
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  url(path = '/'): string {
    return `http://127.0.0.1:${this.port}${path}`
  }

  /** Those of one path. */
  at(path: string): Hit[] {
    return this.hits.filter((hit) => hit.path === path)
  }

  /** How many were under way at once, at most. */
  most(path = '/'): number {
    const edges = this.at(path).flatMap(({ at, endedAt }) => [
      { at, step: 1 },
      { at: endedAt ?? Number.POSITIVE_INFINITY, step: -1 },
    ])
    let [now, most] = [0, 0]
    for (const { step } of edges.toSorted((a, b) => a.at - b.at || a.step - b.step)) {
      now += step
      most = Math.max(most, now)
    }
    return most
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const header = (name: string) => String(request.headers[name])
    const hit: Hit = {
      path: request.url ?? '',
      delivery: header('x-service-delivery'),
      event: header('x-service-event'),
      attempt: Number(header('x-service-attempt')),
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      at: performance.now(),
    }
    this.hits.push(hit)
    response.on('close', () => (hit.endedAt = performance.now()))
    const status = await this.answer(hit, response)
    if (status === undefined) return
    hit.status = status
    response.writeHead(status).end()
  }
}

/** On a port of this machine; closed at the end of the test file. */
export async function startReceiver(answer: Answer = () => 200): Promise<Receiver> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver = new Receiver(server, answer)
  after(() => receiver.close())
  return receiver
}

export function isSignedWith(secret: string, { headers, body }: Hit): boolean {
  return headers['x-service-signature'] === `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}
