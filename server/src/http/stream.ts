import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const tickMs = 1_000
const heartbeatMs = 15_000
/** More than this is not kept for a client that does not read. */
const waitingMax = 1024 * 1024
const stuckMs = 60_000
/** How long the last events may take to go out. */
const farewellMs = 1_000
const retryMs = 1_000

/** All open streams of server-sent events, with one clock for all of them. They end when the server does. */
export class EventStreams {
  readonly #open = new Set<EventStream>()
  #isClosing = false

  constructor(server: FastifyInstance) {
    const timer = setInterval(() => this.#tick(), tickMs).unref()
    // A connection that is in use would hold up the stop of the server.
    server.addHook('preClose', (done) => {
      this.#isClosing = true
      for (const stream of this.#open) stream.finish()
      clearInterval(timer)
      // Whatever the clock says by then: nobody looks again.
      setTimeout(() => this.#tick(Number.POSITIVE_INFINITY), farewellMs).unref()
      done()
    })
  }

  /** The answer to a request; `id` is where the stream begins, for a client that loses it before the first event. */
  open(request: FastifyRequest, reply: FastifyReply, id: string): EventStream {
    reply.headers({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      connection: 'close',
    })
    const stream = new EventStream(reply.raw)
    stream.push(`retry: ${retryMs}\nid: ${id}\n\n`)
    this.#open.add(stream)
    stream.once('close', () => this.#open.delete(stream))
    // Whoever asked has gone meanwhile, or asked for the head alone.
    if (reply.raw.destroyed) stream.destroy()
    else if (this.#isClosing || request.method === 'HEAD') stream.finish()
    return stream
  }

  #tick(now = Date.now()): void {
    for (const stream of this.#open) stream.check(now)
  }
}

interface Event {
  readonly name: string
  /** One line of JSON. */
  readonly data: string
  /** Where a client that got this goes on. */
  readonly id?: string
}

/** One stream of server-sent events. Knows how to frame them, and how much of them waits. */
export class EventStream extends Readable {
  /** Called when a stream that was full takes events again. */
  drained: () => void = () => {}
  readonly #response: ServerResponse
  #sentAt = Date.now()
  #fullSince: number | undefined
  #finishedAt: number | undefined

  constructor(response: ServerResponse) {
    super({ highWaterMark: 64 * 1024, encoding: undefined })
    this.#response = response
  }

  /** The client reads slower than events come: what can be had again later should not be sent now. */
  get isFull(): boolean {
    return this.#fullSince !== undefined
  }

  get isOver(): boolean {
    return this.destroyed || this.#finishedAt !== undefined
  }

  send({ name, data, id }: Event): void {
    if (this.isOver) return
    this.push(`event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`)
    this.#sentAt = Date.now()
    if (this.#waiting > waitingMax) this.#fullSince ??= this.#sentAt
  }

  /** Ends it; what waits goes out if the client takes it soon. */
  finish(): void {
    if (this.isOver) return
    this.#finishedAt = Date.now()
    this.push(null)
  }

  /** To be called every second. */
  check(now: number): void {
    const isStuck = this.#fullSince !== undefined && now - this.#fullSince >= stuckMs
    const isLate = this.#finishedAt !== undefined && now - this.#finishedAt >= farewellMs
    if (isStuck || isLate || this.#response.destroyed) {
      this.#response.destroy()
      this.destroy()
    } else if (!this.isOver && now - this.#sentAt >= heartbeatMs && this.#waiting === 0) {
      this.push(': \n\n')
      this.#sentAt = now
    }
  }

  get #waiting(): number {
    return this.readableLength + this.#response.writableLength
  }

  override _read(): void {
    if (this.#fullSince === undefined) return
    this.#fullSince = undefined
    // Not from within the reading of what waits.
    setImmediate(() => this.drained())
  }
}
