import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'

export interface RunOptions {
  readonly cwd?: string
  /** All that the child gets: nothing of our own environment is handed on. */
  readonly env: Record<string, string>
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Descriptors of ours that the child gets as 3, 4 and so on. */
  readonly fds?: readonly (number | 'ignore')[]
  /** What the child, or a child of it, can read once from the descriptor after those: what nobody else is to see. */
  readonly secretInput?: string
  /** Of output that is read in a tenth of a second; the child waits when it writes more. */
  readonly bytesMax?: number
  /** Called for each line without its ending; one longer than 8 KiB comes in pieces. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void
  /** It runs: with its pid, which leads a group. */
  readonly onStart?: (pid: number) => void
  /** Secrets: each stands as *** in lines, in the output kept and in errors. */
  readonly masks?: readonly string[]
}

interface RunResult {
  /** The last 64 Ki characters. */
  readonly stdout: string
  readonly stderr: string
  readonly durationMs: number
}

const keptMax = 64 * 1024
const lineMax = 8 * 1024
const lastLinesMax = 20
const windowMs = 100
/** For output that is still in the pipes when the program has ended. */
const drainMs = 1_000
/** For the rest of a killed group; a signal takes effect within milliseconds. */
const groupMs = 250

/**
 * Runs a program and waits for its end. It leads a process group of its own, and on time-out or abort the whole group is
 * killed, so that no helper of it goes on writing. Any end but exit code 0 throws a `RunError`.
 */
export async function run(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  const masked = maskWith(options.masks ?? [])
  const startedAt = performance.now()
  const lines: string[] = []
  const fail = (reason: RunError['reason'], ended: Partial<Ended> = {}) =>
    new RunError({
      argv: argv.map(masked.all),
      reason,
      exitCode: ended.exitCode ?? null,
      signal: ended.signal ?? null,
      durationMs: Math.round(performance.now() - startedAt),
      lines,
    })
  if (options.signal?.aborted) throw fail('aborted')

  const child = start(argv, options, masked.all)
  if (options.secretInput !== undefined) giveInput(child, options)
  if (child.pid !== undefined) options.onStart?.(child.pid)
  const guard = watch(child, options)
  const take = (stream: 'stdout' | 'stderr') =>
    readLines(child, { stream, bytesMax: options.bytesMax ?? Number.POSITIVE_INFINITY }, masked, (line) => {
      lines.push(line)
      if (lines.length > lastLinesMax) lines.shift()
      guard.call(() => options.onLine?.(line, stream))
    })
  const [stdout, stderr] = [take('stdout'), take('stderr')]
  const ended = await waitForEnd(child)
  await guard.release()
  if (ended.error) {
    if (isMissing(ended.error, options.cwd)) throw fail('missing')
    throw startError(argv, ended.error, masked.all)
  }
  if (guard.thrown) throw guard.thrown.error
  if (guard.killedFor) throw fail(guard.killedFor, ended)
  if (ended.exitCode !== 0) throw fail('exit', ended)
  return { stdout: stdout.kept(), stderr: stderr.kept(), durationMs: Math.round(performance.now() - startedAt) }
}

interface Ended {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** Why it did not even start. */
  readonly error?: NodeJS.ErrnoException
}

/** How a child process failed. Secrets that were given as masks stand nowhere in it. */
export class RunError extends Error {
  readonly argv: readonly string[]
  /** `missing`: there is no such program, or none that may be run. */
  readonly reason: 'exit' | 'timeout' | 'aborted' | 'missing'
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly durationMs: number
  /** The last 20 of both streams, in the order in which they came. */
  readonly lines: readonly string[]

  constructor(facts: Pick<RunError, 'argv' | 'reason' | 'exitCode' | 'signal' | 'durationMs' | 'lines'>) {
    const how = {
      exit: `ended with ${facts.signal ?? `exit code ${facts.exitCode}`}`,
      timeout: 'took too long',
      aborted: 'was aborted',
      missing: 'could not be found',
    }[facts.reason]
    super([`${facts.argv.join(' ').slice(0, 1000)} ${how} after ${facts.durationMs} ms`, ...facts.lines].join('\n'))
    this.name = 'RunError'
    this.argv = facts.argv
    this.reason = facts.reason
    this.exitCode = facts.exitCode
    this.signal = facts.signal
    this.durationMs = facts.durationMs
    this.lines = facts.lines
  }
}

function start(
  argv: readonly string[],
  { cwd, env, fds = [], secretInput }: RunOptions,
  mask: (text: string) => string,
): ChildProcess {
  const [file = '', ...args] = argv
  try {
    return spawn(file, args, {
      ...(cwd !== undefined && { cwd }),
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', ...fds, ...(secretInput === undefined ? [] : ['pipe' as const])],
    })
  } catch (error) {
    throw startError(argv, error as NodeJS.ErrnoException, mask)
  }
}

/** Through a socket that has no name: it is in no file, and on no command line. */
function giveInput(child: ChildProcess, { fds = [], secretInput = '' }: RunOptions): void {
  const input = child.stdio[3 + fds.length] as Socket | null | undefined
  input?.on('error', () => {}) // one that does not read it may have ended already
  input?.end(secretInput)
}

/** Without Node's own error as its cause, because that carries all arguments, secrets included. */
function startError(argv: readonly string[], error: NodeJS.ErrnoException, mask: (text: string) => string): Error {
  return new Error(`${mask(argv[0] ?? '')} could not be started: ${error.code ?? error.name}`)
}

function isMissing({ code }: NodeJS.ErrnoException, cwd: string | undefined): boolean {
  // A folder that is not there is reported with the same code as a program that is not there.
  return (code === 'ENOENT' || code === 'EACCES') && (cwd === undefined || existsSync(cwd))
}

/** Kills the group of the child when its time is up, when nobody wants it any more or when a callback throws. */
function watch(child: ChildProcess, { timeoutMs, signal }: RunOptions) {
  const state = {
    killedFor: undefined as 'timeout' | 'aborted' | undefined,
    thrown: undefined as { error: unknown } | undefined,
    call(callback: () => void): void {
      try {
        callback()
      } catch (error) {
        state.thrown ??= { error }
        killGroup(child)
      }
    },
    async release(): Promise<void> {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      if (state.killedFor || state.thrown) await waitForGroup(child)
    },
  }
  const end = (reason: 'timeout' | 'aborted') => {
    state.killedFor ??= reason
    killGroup(child)
  }
  const abort = () => end('aborted')
  const timer = setTimeout(() => end('timeout'), timeoutMs)
  signal?.addEventListener('abort', abort, { once: true })
  return state
}

/** False: there is none any more, or none of ours. */
function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals | 0 = 'SIGKILL'): boolean {
  if (pid === undefined) return false
  try {
    return process.kill(-pid, signal)
  } catch (error) {
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** Bounded, because a dead process whose parent never asks for it stays in its group for ever. */
async function waitForGroup(child: ChildProcess): Promise<void> {
  const until = performance.now() + groupMs
  while (killGroup(child, 0) && performance.now() < until) await sleep(5)
}

/** Until the program has ended and its output is read, which something it left behind may hold open no longer than this. */
function waitForEnd(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ exitCode: null, signal: null, error }))
    child.once('exit', () => {
      const timer = setTimeout(() => {
        killGroup(child)
        child.stdout?.destroy()
        child.stderr?.destroy()
      }, drainMs)
      child.once('close', () => clearTimeout(timer))
    })
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal }))
  })
}

interface Masked {
  readonly all: (text: string) => string
  readonly longest: number
}

function maskWith(masks: readonly string[]): Masked {
  // The longest first: one secret may be the beginning of another.
  const secrets = masks.filter((mask) => mask !== '').toSorted((a, b) => b.length - a.length)
  return {
    all: (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text),
    longest: secrets[0]?.length ?? 0,
  }
}

function readLines(
  child: ChildProcess,
  { stream, bytesMax }: { stream: 'stdout' | 'stderr'; bytesMax: number },
  masked: Masked,
  take: (line: string) => void,
) {
  const decoder = new StringDecoder('utf8')
  let pending = ''
  let kept = ''
  const give = (text: string, ending: string) => {
    kept = (kept + text + ending).slice(-keptMax)
    take(ending && text.endsWith('\r') ? text.slice(0, -1) : text)
  }
  const cut = () => {
    // As much again as the longest secret is waited for, so that none is cut in two and slips through.
    while (pending.length > lineMax + masked.longest) {
      pending = masked.all(pending)
      give(pending.slice(0, lineMax), '')
      pending = pending.slice(lineMax)
    }
  }
  const add = (text: string) => {
    const parts = text.split('\n')
    const rest = parts.pop() ?? ''
    for (const part of parts) {
      pending += part
      cut()
      give(masked.all(pending), '\n')
      pending = ''
    }
    pending += rest
    cut()
  }
  let room = bytesMax
  child[stream]?.on('data', (chunk: Buffer) => {
    add(decoder.write(chunk))
    room -= chunk.length
    if (room > 0) return
    child[stream]?.pause()
    setTimeout(() => {
      room = bytesMax
      child[stream]?.resume()
    }, windowMs)
  })
  child[stream]?.on('end', () => {
    add(decoder.end())
    if (pending !== '') give(masked.all(pending), '')
    pending = ''
  })
  return { kept: () => kept }
}
