import { type ChildProcess, spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../../lib/app-error.ts'
import { environment } from './git.ts'

// A push of that size over loopback takes seconds; what takes longer has stopped.
const timeoutMs = 240_000
const headMax = 16 * 1024
const atOnceMax = 32
export const bodyMax = 128 * 1024 * 1024

const settings = [
  ['uploadpack.allowAnySHA1InWant', 'true'], // the commit that was pushed is fetched, wherever its branch is by then
  ['uploadpack.allowFilter', 'true'],
  ['http.getanyfile', 'false'],
  ['http.receivepack', 'true'], // who may is decided before
  ['receive.maxInputSize', String(bodyMax)], // unpacked by HTTP, a body may be far larger than it came
  ['receive.autogc', 'false'],
  ['receive.fsckObjects', 'true'],
] as const

export interface GitRequest {
  /** A bare repository of ours. */
  readonly folder: string
  readonly method: 'GET' | 'POST'
  /** Below the repository. */
  readonly path: 'info/refs' | 'git-upload-pack' | 'git-receive-pack'
  readonly service?: string
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly protocol?: string
  readonly body?: AsyncIterable<Uint8Array>
  /** Before git gets to see it. */
  readonly beforehand?: () => Promise<void>
  /** When git has ended, before the client is told so, and also if there is no client any more. */
  readonly afterwards?: () => Promise<void>
}

export interface GitAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Readable
}

let running = 0

/** Lets git's own CGI program answer a request, as it comes and as it goes: no more than a buffer is held of either. */
export async function answerGit(request: GitRequest): Promise<GitAnswer> {
  if (running >= atOnceMax) throw new AppError('unavailable', { headers: { 'retry-after': '1' } })
  running++
  try {
    await request.beforehand?.()
  } catch (error) {
    running--
    throw error
  }
  const child = spawn('git', ['http-backend'], {
    env: cgiEnvironment(request),
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const timer = setTimeout(() => killGroup(child), timeoutMs).unref()
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', () => resolve()) // told below: then there is no answer
  }).finally(() => {
    clearTimeout(timer)
    running--
  })
  const done = ended.then(() => request.afterwards?.())
  done.catch(() => {}) // told to the client, if there still is one
  const feeding = feed(child, request)
  const head = await readHead(child)
  if (head === undefined) {
    killGroup(child)
    await ended
    throw (await feeding) ?? new AppError('internal', { cause: new Error('git http-backend gave no answer') })
  }
  const rest = relay(child, { first: head.rest, done, feeding })
  return { status: head.status, headers: head.headers, body: Readable.from(rest) }
}

function cgiEnvironment({ folder, method, path, service, ...request }: GitRequest): Record<string, string> {
  return {
    ...environment(settings),
    GIT_PROJECT_ROOT: dirname(folder),
    GIT_HTTP_EXPORT_ALL: '1',
    REQUEST_METHOD: method,
    PATH_INFO: `${folder.slice(dirname(folder).length)}/${path}`,
    QUERY_STRING: service === undefined ? '' : `service=${service}`,
    CONTENT_TYPE: request.contentType ?? '',
    ...(request.contentEncoding !== undefined && { HTTP_CONTENT_ENCODING: request.contentEncoding }),
    GIT_PROTOCOL: request.protocol ?? '',
    REMOTE_ADDR: '127.0.0.1',
  }
}

/** Resolves with what was wrong with the body; git may answer before it has read all of it, which is nothing wrong. */
async function feed(child: ChildProcess, { body }: GitRequest): Promise<AppError | undefined> {
  if (!child.stdin) return undefined
  try {
    await pipeline(body ?? Readable.from([]), child.stdin)
    return undefined
  } catch (error) {
    if (!(error instanceof AppError)) return undefined
    killGroup(child)
    return error
  }
}

interface Head {
  readonly status: number
  readonly headers: Record<string, string>
  readonly rest: Buffer
}

/** A CGI answer is its header lines, one of them `Status:`, an empty line, and the body. */
async function readHead({ stdout }: ChildProcess): Promise<Head | undefined> {
  let text = Buffer.alloc(0)
  for await (const chunk of stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text = Buffer.concat([text, chunk as Buffer])
    const end = text.indexOf('\r\n\r\n')
    if (end !== -1) return { ...parseHead(text.subarray(0, end).toString('latin1')), rest: text.subarray(end + 4) }
    if (text.length > headMax) return undefined
  }
  return undefined
}

function parseHead(text: string): Omit<Head, 'rest'> {
  const fields = text.split('\r\n').map((line) => /^([^:]+): *(.*)$/.exec(line))
  const headers = Object.fromEntries(fields.map((field) => [(field?.[1] ?? '').toLowerCase(), field?.[2] ?? '']))
  const { status = '200', ...rest } = headers
  return { status: Number.parseInt(status, 10), headers: rest }
}

async function* relay(
  child: ChildProcess,
  { first, done, feeding }: { first: Buffer; done: Promise<void>; feeding: Promise<unknown> },
): AsyncGenerator<Buffer> {
  try {
    if (first.length > 0) yield first
    for await (const chunk of child.stdout ?? []) yield chunk as Buffer
    await done
    await feeding
  } finally {
    killGroup(child) // whoever asked is gone, or it has ended anyway
  }
}

/** With the programs that it has started. */
function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
