import { BotberthError, ConnectionError } from './errors.ts'
import { type Bytes, type Operations, type Problem, type Route, routes } from './generated.ts'

export interface ClientOptions {
  /** Of the server, such as `https://bots.example`; or what a hosted bot has in `BOTBERTH_API_URL` or `BOTBERTH_LIST_API_URL`. */
  readonly url: string
  /** `svc_live_…`, or `svc_list_…` for the bot list. */
  readonly apiKey?: string | undefined
  /** Of somebody who has signed in, instead of a key. A function is asked before each request. */
  readonly accessToken?: string | (() => string | Promise<string>) | undefined
  /** How often a request is made again at most: after 429 and 503, and after a lost connection if that cannot do it twice. */
  readonly retries?: number | undefined
  /** For one try. Uploads have none: how long they take is a matter of their size. */
  readonly timeoutMs?: number | undefined
  readonly fetch?: typeof fetch | undefined
  readonly userAgent?: string | undefined
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Two requests with the same one make one record. Made anew for each call otherwise. */
  readonly idempotencyKey?: string | undefined
  /** Instead of what the client was made with. */
  readonly retries?: number | undefined
}

export type Name = keyof Operations
type Part<N extends Name, K extends string> = Operations[N] extends { readonly [P in K]: infer T } ? T : undefined
type Params<N extends Name> = Part<N, 'params'>
export type Query<N extends Name> = Part<N, 'query'>
export type Body<N extends Name> = Part<N, 'body'>
export type Answer<N extends Name> = Operations[N]['answer']

export interface Input<N extends Name> {
  readonly params?: Params<N>
  readonly query?: Query<N> | undefined
  readonly body?: Body<N> | undefined
}

type Payload = string | Bytes

interface Call {
  readonly route: Route
  readonly params: unknown
  readonly retries: number
  readonly signal: AbortSignal | undefined
}

const bases = { hosting: '/api/v1', list: '/list/api' }
const defaults = { retries: 4, timeoutMs: 30_000 }
// Longer than this nobody waits without being told.
const waitMaxMs = 60_000

/** Makes requests as the routes say, and makes them again where that is safe. */
export class Transport {
  readonly #options: ClientOptions
  readonly #url: string

  constructor(options: ClientOptions) {
    if (!/^https?:/.test(options.url) || !URL.canParse(options.url))
      throw new TypeError('url is no http:// or https:// address.')
    this.#options = options
    this.#url = options.url.replace(/(\/api\/v1|\/list\/api)?\/*$/, '')
  }

  async call<N extends Name>(name: N, input: Input<N> = {}, options: CallOptions = {}): Promise<Answer<N>> {
    const answer = await this.send(name, input, options)
    const type = answer.headers.get('content-type') ?? ''
    if (type.includes('json')) return (await answer.json()) as Answer<N>
    return new Uint8Array(await answer.arrayBuffer()) as unknown as Answer<N>
  }

  /** The answer as it comes, once it is a success. */
  async send<N extends Name>(
    name: N,
    { params, query, body }: Input<N>,
    { signal, idempotencyKey, retries: most }: CallOptions = {},
    more: { readonly headers?: Record<string, string>; readonly isStream?: boolean } = {},
  ): Promise<Response> {
    const route: Route = routes[name]
    const url = this.#url + bases[route.api] + pathOf(route.path, params) + queryOf(query)
    const { body: payload, type } = payloadOf(body)
    const headers: Record<string, string> = { ...more.headers, ...(type !== undefined && { 'content-type': type }) }
    if (route.creates) headers['idempotency-key'] = idempotencyKey ?? randomKey()
    const isRepeatable = !(payload instanceof ReadableStream)
    const retries = isRepeatable ? (most ?? this.#options.retries ?? defaults.retries) : 0
    const request = { method: route.method, headers, body: payload ?? null, signal }
    return this.#repeat(() => this.#try(url, request, more.isStream), { route, params, retries, signal })
  }

  async #repeat(attempt: () => Promise<Response | ConnectionError>, call: Call): Promise<Response> {
    const { route, params, retries, signal } = call
    let isAnswerLost = false
    for (let left = retries; ; left--) {
      const tried = await attempt()
      const isAnswer = !(tried instanceof ConnectionError)
      if (isAnswer && tried.ok) return tried
      // The try whose answer was lost has done it.
      if (isAnswer && tried.status === 404 && isAnswerLost && isRemoval(route)) return Response.json(removed(params))
      isAnswerLost ||= !isAnswer
      const error = isAnswer ? await readError(tried, this.#url) : tried
      const waitMs = error instanceof BotberthError ? error.retryAfterMs : undefined
      if (left <= 0 || (waitMs ?? 0) > waitMaxMs || !isWorthAgain(error, route)) throw error
      await wait(waitMs ?? backOff(retries - left), signal)
    }
  }

  /** The answer, or why there is none. */
  async #try(
    url: string,
    request: { method: string; headers: Record<string, string>; body: Payload | null; signal: AbortSignal | undefined },
    isStream = false,
  ): Promise<Response | ConnectionError> {
    const { fetch: send = fetch, timeoutMs = defaults.timeoutMs } = this.#options
    // Before anything is sent: whoever cannot say who they are is told why, and not that nobody answers.
    const headers = checkHeaders({ ...(await this.#credentials()), ...request.headers })
    const timeout = new AbortController()
    const isUpload = request.body !== null && typeof request.body !== 'string'
    const timer = isUpload ? undefined : setTimeout(() => timeout.abort(), timeoutMs)
    const signals = [timeout.signal, ...(request.signal ? [request.signal] : [])]
    try {
      const answer = await send(url, {
        ...request,
        headers,
        // Elsewhere nobody has a right to the key, and a POST would arrive as a GET.
        redirect: 'manual',
        // A stream goes on for longer than any time limit.
        signal: AbortSignal.any(signals),
        ...(request.body instanceof ReadableStream && { duplex: 'half' }),
      } as RequestInit)
      if (isStream || !answer.body) return answer
      // All of it, as long as the time limit holds.
      const bytes = await answer.arrayBuffer()
      return new Response(bytes.byteLength > 0 ? bytes : null, answer)
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason
      const { origin } = new URL(url)
      const isLate = timeout.signal.aborted
      const message = `${origin} ${isLate ? `did not answer within ${timeoutMs} ms` : 'cannot be reached'}.`
      return new ConnectionError(message, { cause: error, origin, ...(isLate && { timeoutMs }) })
    } finally {
      clearTimeout(timer)
    }
  }

  async #credentials(): Promise<Record<string, string>> {
    const { apiKey, accessToken, userAgent } = this.#options
    const token = typeof accessToken === 'function' ? await accessToken() : accessToken
    return {
      accept: 'application/json',
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(userAgent !== undefined && { 'user-agent': userAgent }),
    }
  }
}

/** Names the header, and never shows its value: it may be a key. */
function checkHeaders(headers: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(headers))
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new TypeError(`The header ${name} cannot have this value.`)
  return headers
}

function pathOf(template: string, params: unknown): string {
  const values = (params ?? {}) as Record<string, string>
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (!value) throw new TypeError(`${name} is missing.`)
    // A path of files keeps its slashes; of everything else they are part of a name.
    const parts = name === 'path' ? value.split('/') : [value]
    // They would be taken for steps to another route: from a file to its bot, say.
    if (parts.some((part) => part === '.' || part === '..')) throw new TypeError(`${name} must not hold . or ..`)
    return parts.map(encodeURIComponent).join('/')
  })
}

/** Of what the path names at its end. */
function isRemoval({ method, path }: Route): boolean {
  return method === 'DELETE' && path.endsWith('}')
}

function removed(params: unknown): object {
  const values = (params ?? {}) as Record<string, string>
  return { id: Object.values(values).at(-1), ...values, deleted: true }
}

function randomKey(): string {
  // `crypto.randomUUID` is missing from pages on plain http.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function queryOf(query: unknown): string {
  const given = Object.entries((query ?? {}) as Record<string, unknown>).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

function payloadOf(body: unknown): { body?: Payload; type?: string } {
  if (body === undefined) return {}
  const isBytes =
    body instanceof Uint8Array || body instanceof ArrayBuffer || body instanceof Blob || body instanceof ReadableStream
  if (isBytes) return { body: body as Bytes, type: 'application/octet-stream' }
  return { body: JSON.stringify(body), type: 'application/json' }
}

async function readError(answer: Response, url: string): Promise<BotberthError> {
  const { status, type, headers } = answer
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    // A page is not told where it leads.
    const target = headers.get('location')
    const detail = `${new URL(url).origin} redirects to ${target === null ? 'another address' : new URL(target, url).href}.`
    return new BotberthError(status, { detail })
  }
  const text = await answer.text()
  const retryAfterMs = readRetryAfter(headers.get('retry-after'))
  const isProblem = headers.get('content-type')?.includes('json')
  return new BotberthError(status, isProblem ? parse(text) : {}, { retryAfterMs })
}

/** What is in between may say that it is JSON and send something else. */
function parse(text: string): Partial<Problem> {
  try {
    return (JSON.parse(text) ?? {}) as Partial<Problem>
  } catch {
    return {}
  }
}

function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** 429 and 503 are answered before anything is done; after a lost connection nobody knows. */
function isWorthAgain(error: BotberthError | ConnectionError, { method, creates }: Route): boolean {
  if (error instanceof BotberthError) return error.status === 429 || error.status === 503
  return method !== 'POST' || creates === true
}

export function backOff(tries: number): number {
  return Math.min(500 * 2 ** tries, 10_000) * (0.5 + Math.random() / 2)
}

export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
