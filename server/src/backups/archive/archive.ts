import { Worker } from 'node:worker_threads'
import { StepError } from '../../lib/step-error.ts'
import type { PackLimits } from './budget.ts'
import type { Skipped, Tree } from './pack.ts'
import { asError, type Failure } from './tree-error.ts'
import type { UnpackChanges, UnpackLimits } from './unpack.ts'

interface Timed {
  /** Then it ends with `backup_too_slow`. */
  readonly timeLimitMs?: number | undefined
}

export interface PackJob extends Timed {
  readonly kind: 'pack'
  /** To be made. */
  readonly file: string
  /** Files of ours at the top of the archive. */
  readonly texts: Readonly<Record<string, string>>
  readonly trees: readonly Tree[]
  readonly limits: PackLimits
  /** What cannot be packed is left out and told. */
  readonly isLenient?: boolean
  /** On the disk of the file, for everybody else. */
  readonly hostFreeBytes: number
}

export interface UnpackJob extends Timed, UnpackLimits, UnpackChanges {
  readonly kind: 'unpack'
  readonly file: string
  /** Of the archive in it, if something else follows. */
  readonly archiveBytes?: number | undefined
  readonly folders: Readonly<Record<string, string>>
  readonly texts: readonly string[]
}

export interface HashJob {
  readonly kind: 'hash'
  readonly file: string
  /** From its beginning; all of it otherwise. */
  readonly bytes?: number | undefined
}

export interface CoverJob extends Timed {
  readonly kind: 'cover'
  /** In UTF-8, with a zero behind each: they may be a million, which would not fit into the thread's heap as texts. */
  readonly paths: Uint8Array
  readonly globs: readonly string[]
}

export interface MeasureJob extends Timed {
  readonly kind: 'measure'
  readonly file: string
}

export type Job = PackJob | UnpackJob | HashJob | CoverJob | MeasureJob

export interface Hashed {
  readonly sizeBytes: number
  /** SHA-256 of the file, in hexadecimal. */
  readonly checksum: string
}

export interface Packed extends Hashed {
  /** What the files in it take on a disk. */
  readonly contentBytes: number
  readonly skipped: Skipped
}

// More than it needs; a hostile tree must not be able to take the server's memory.
const heapMb = 64

export const packTrees = (job: Omit<PackJob, 'kind'>, signal: AbortSignal): Promise<Packed> =>
  runInThread({ kind: 'pack', ...job }, signal)

/** Resolves with the texts that were asked for. */
export const unpackArchive = (job: Omit<UnpackJob, 'kind'>, signal: AbortSignal): Promise<Record<string, string>> =>
  runInThread({ kind: 'unpack', ...job }, signal)

export const hashArchive = (file: string, signal: AbortSignal, bytes?: number): Promise<Hashed> =>
  runInThread({ kind: 'hash', file, bytes }, signal)

/** What its content will take on a disk. */
export const measureArchive = (job: Omit<MeasureJob, 'kind'>, signal: AbortSignal): Promise<number> =>
  runInThread({ kind: 'measure', ...job }, signal)

/** Those of the paths that a glob matches, or a folder that they are in. */
export async function listCovered(
  paths: readonly string[],
  { globs, timeLimitMs }: Omit<CoverJob, 'kind' | 'paths'>,
  signal: AbortSignal,
): Promise<string[]> {
  if (globs.length === 0) return []
  const job: CoverJob = {
    kind: 'cover',
    paths: Buffer.from(paths.map((path) => `${path}\0`).join('')),
    globs,
    timeLimitMs,
  }
  const isCovered = await runInThread<Uint8Array>(job, signal)
  return paths.filter((_, index) => isCovered[index] === 1)
}

/** Rejects with a StepError for what the bot's owner can know. Aborted it stops where it is. */
async function runInThread<T>(job: Job, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  })
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  worker.once('message', (message: { result: T } | { failure: Failure }) => {
    if ('failure' in message) reject(asError(message.failure))
    else resolve(message.result)
  })
  worker.once('error', reject)
  worker.once('exit', () => reject(new Error('the thread ended')))
  const stop = () => {
    reject(signal.reason as Error)
  }
  signal.addEventListener('abort', stop)
  const timeLimitMs = 'timeLimitMs' in job ? job.timeLimitMs : undefined
  const timer = timeLimitMs === undefined ? undefined : setTimeout(() => reject(tooSlow(timeLimitMs)), timeLimitMs)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    await worker.terminate()
  }
}

function tooSlow(timeLimitMs: number): StepError {
  return new StepError(
    'backup_too_slow',
    `It was given up because it took longer than ${timeLimitMs / 60_000} minutes.`,
  )
}
