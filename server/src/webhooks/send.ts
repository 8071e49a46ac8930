import { type Dispatcher, request } from 'undici'
import { AppError } from '../lib/app-error.ts'
import { wasStale } from '../lib/outgoing.ts'
import { StepError } from '../lib/step-error.ts'

// Look-up, connection, request and the header of the answer, together.
const timeoutMs = 10_000
// What was answered is only shown: a receiver that drips it has had its time.
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

/** One attempt: always comes to an end, within 12 seconds. */
export async function send(agent: Dispatcher, post: Post): Promise<Outcome> {
  const from = performance.now()
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), timeoutMs)
  try {
    const { statusCode, body } = await ask(agent, post, abort.signal)
    const durationMs = Math.round(performance.now() - from)
    clearTimeout(timer)
    const answer = await readAnswer(body)
    return { error: isSuccess(statusCode) ? null : 'http_status', statusCode, answer, durationMs }
  } catch (error) {
    const durationMs = Math.round(performance.now() - from)
    return { error: abort.signal.aborted ? 'timeout' : nameError(error), statusCode: null, answer: null, durationMs }
  } finally {
    clearTimeout(timer)
  }
}

/** Past connections that the other side has closed meanwhile: it saw nothing of this request on them. */
async function ask(agent: Dispatcher, { url, headers, body }: Post, signal: AbortSignal) {
  for (let staleLeft = staleMax; ; staleLeft--) {
    try {
      return await request(url, { dispatcher: agent, method: 'POST', headers, body, signal })
    } catch (error) {
      if (staleLeft === 0 || !wasStale(error)) throw error
    }
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/** Its first bytes as text. The answer counts by its header: whatever becomes of the rest changes nothing. */
async function readAnswer(body: Dispatcher.ResponseData['body']): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  const timer = setTimeout(() => body.destroy(), answerTimeoutMs)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= answerBytesMax) break // ends the connection
    }
  } catch {
    // Cut off by us or by them: what came is what is shown.
  } finally {
    clearTimeout(timer)
  }
  if (bytes === 0) return null
  // The database takes every character but this one.
  return Buffer.concat(chunks).subarray(0, answerBytesMax).toString('utf8').replaceAll('\0', '\ufffd')
}

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
