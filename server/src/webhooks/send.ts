import type { Dispatcher } from 'undici'
import { AppError } from '../lib/app-error.ts'
import { wasStale } from '../lib/outgoing.ts'
import { StepError } from '../lib/step-error.ts'

// Look-up, connection, request and the header of the answer, together.
const timeoutMs = 10_000
// For what follows the header.
const answerTimeoutMs = 2_000
const answerBytesMax = 4 * 1024
// As many connections as one receiver can have idle.
const staleMax = 8

type SendError = 'timeout' | 'dns' | 'connection' | 'tls' | 'http_status' | 'protocol' | 'blocked_address'

export interface Outcome {
  /** Null: accepted. */
  readonly error: SendError | null
  readonly statusCode: number | null
  readonly answer: string | null
  readonly durationMs: number
}

interface Post {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: Buffer
}

/** This machine has no connection left to give: nothing was sent, and the receiver knows nothing of it. */
export class NoConnectionLeft extends Error {}

/** One attempt: always comes to an end, within 12 seconds. */
export async function send(agent: Dispatcher, post: Post): Promise<Outcome> {
  const from = performance.now()
  for (let staleLeft = staleMax; ; staleLeft--) {
    const exchange = new Exchange(from)
    const ended = await exchange.run(agent, post)
    if (isOurShortage(ended.error)) throw new NoConnectionLeft('no connection left', { cause: ended.error })
    // The other side had closed the connection already: it saw nothing of this.
    if (ended.error === undefined || staleLeft === 0 || !wasStale(ended.error)) return ended.outcome
  }
}

interface Ended {
  readonly outcome: Outcome
  /** Why there was no answer. */
  readonly error?: unknown
}

/**
 * A request and the beginning of its answer. On undici's own callbacks: streams and abort signals for each request
 * would cost half as much again.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #from: number
  readonly #ended = Promise.withResolvers<Ended>()
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status: number | undefined
  #answeredMs = 0
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout

  constructor(from: number) {
    this.#from = from
    this.#timer = setTimeout(() => this.#giveUp(), timeoutMs - (performance.now() - from))
  }

  run(agent: Dispatcher, { url, headers, body }: Post): Promise<Ended> {
    const { origin, pathname, search } = new URL(url)
    try {
      agent.dispatch({ origin, path: pathname + search, method: 'POST', headers, body }, this)
    } catch (error) {
      this.onResponseError(undefined, error as Error)
    }
    return this.#ended.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(new Error('too late'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return // more is to come
    this.#status = status
    this.#answeredMs = performance.now()
    clearTimeout(this.#timer)
    // What is answered is only shown: a receiver that drips it has had its time.
    this.#timer = setTimeout(() => this.#giveUp(), answerTimeoutMs)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes >= answerBytesMax) this.#giveUp()
  }

  onResponseEnd(): void {
    this.#end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#end(error)
  }

  #isOver = false

  /** Ends the connection, wherever it is. */
  #giveUp(): void {
    const status = this.#status
    this.#end(status === undefined ? timedOut : undefined)
    this.#controller?.abort(new Error('given up'))
  }

  /** An answer counts by its header: whatever becomes of the rest changes nothing. */
  #end(error?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    const statusCode = this.#status
    if (statusCode === undefined) {
      const durationMs = Math.round(performance.now() - this.#from)
      const name = error === timedOut ? 'timeout' : nameError(error)
      this.#ended.resolve({ outcome: { error: name, statusCode: null, answer: null, durationMs }, error })
      return
    }
    const durationMs = Math.round(this.#answeredMs - this.#from)
    const isSuccess = statusCode >= 200 && statusCode <= 299
    const outcome = { error: isSuccess ? null : ('http_status' as const), statusCode, answer: this.#text(), durationMs }
    this.#ended.resolve({ outcome })
  }

  #text(): string | null {
    if (this.#bytes === 0) return null
    // The database takes every character but this one.
    return Buffer.concat(this.#chunks).subarray(0, answerBytesMax).toString('utf8').replaceAll('\0', '\ufffd')
  }
}

const timedOut = new Error('no answer in time')

const tlsCodes =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH|INVALID_CA|CRL_|ERR_OSSL)/
const protocolCodes = /^(HPE_|UND_ERR_HEADERS_OVERFLOW)/

interface Failure {
  readonly code?: string
  readonly name: string
  readonly message: string
  readonly cause?: unknown
  readonly errors?: readonly unknown[]
}

const shortageCodes = /^(EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)$/

function isOurShortage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '', cause, errors = [] } = error as Failure
  return shortageCodes.test(code) || [cause, ...errors].some(isOurShortage)
}

/** A word for the owner. Not the error itself: what it says of a network behind this server is nobody's business. */
function nameError(error: unknown): SendError {
  if (error instanceof AppError) return 'blocked_address'
  if (error instanceof StepError) return 'dns'
  const { code = '', name, message, cause, errors } = error as Failure
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns'
  if (tlsCodes.test(code)) return 'tls'
  if (name === 'HTTPParserError' || protocolCodes.test(code) || /^bad (response|upgrade)$/.test(message))
    return 'protocol'
  const inner = cause ?? errors?.[0]
  return inner === undefined ? 'connection' : nameError(inner)
}
