// What takes long and would hold up everybody, in a thread of its own. Started by `archive.ts`.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { PassThrough, type TransformOptions } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { constants, createZstdCompress, createZstdDecompress, type ZstdCompress, type ZstdOptions } from 'node:zlib'
import { isDiskFull } from '../../lib/disk-full.ts'
import { StepError } from '../../lib/step-error.ts'
import type { Hashed, HashJob, Job, Packed, PackJob, UnpackJob } from './archive.ts'
import { Packer } from './pack.ts'
import { asFailure } from './tree-error.ts'
import { unpackTrees } from './unpack.ts'

const chunkBytes = 512 * 1024
const readAheadBytes = 4 * 1024 * 1024
const writeAheadBytes = 4 * 1024 * 1024
// Twice as fast as the default one in the zstd that comes with Node.js, for archives of nearly the same size.
const level = 1
const checkEveryBytes = 32 * 1024 * 1024

try {
  parentPort?.postMessage({ result: await run(workerData as Job) }, [])
} catch (error) {
  parentPort?.postMessage({ failure: asFailure(error) }, [])
}

function run(job: Job): Promise<unknown> {
  if (job.kind === 'pack') return pack(job)
  return job.kind === 'unpack' ? unpack(job) : hashFile(job)
}

/** Whole and on the disk when this resolves. */
async function pack({ file, texts, trees, limits, hostFreeBytes }: PackJob): Promise<Packed> {
  const packer = new Packer(limits)
  const hash = createHash('sha256')
  let [sizeBytes, checkedBytes] = [0, 0]
  const measure = async function* (compressed: AsyncIterable<Buffer>) {
    for await (const chunk of compressed) {
      hash.update(chunk)
      sizeBytes += chunk.length
      if (sizeBytes - checkedBytes >= checkEveryBytes) {
        checkedBytes = sizeBytes
        checkHost(file, hostFreeBytes)
      }
      yield chunk
    }
  }
  try {
    const options: ZstdOptions & TransformOptions = {
      chunkSize: chunkBytes,
      writableHighWaterMark: readAheadBytes,
      params: { [constants.ZSTD_c_compressionLevel]: level },
    }
    const zstd = createZstdCompress(options)
    const output = createWriteStream(file, { mode: 0o600, highWaterMark: writeAheadBytes, flush: true })
    await Promise.all([feed(zstd, packer, packer.pack(texts, trees)), pipeline(zstd, measure, output)])
  } catch (error) {
    throw isDiskFull(error) ? hostFull(error) : error
  }
  return { sizeBytes, checksum: hash.digest('hex'), contentBytes: packer.contentBytes, skipped: packer.skipped }
}

/**
 * Between two chunks whoever compresses gets to fetch the next one. It does that in a thread of its own, which would
 * wait for us otherwise, and it is what takes longest.
 */
async function feed(zstd: ZstdCompress, packer: Packer, chunks: Iterable<Buffer>): Promise<void> {
  try {
    for (const chunk of chunks) {
      const hasRoom = zstd.write(chunk, () => packer.giveBack(chunk))
      await (hasRoom ? setImmediate() : once(zstd, 'drain'))
    }
    zstd.end()
  } catch (error) {
    zstd.destroy(error as Error)
    throw error
  }
}

function checkHost(file: string, hostFreeBytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(file))
  if (bavail * bsize < hostFreeBytes) throw hostFull()
}

function hostFull(cause?: unknown): StepError {
  return new StepError('host_full', 'The disk of this server is nearly full. Its operator can make room.', { cause })
}

async function hashFile({ file, bytes = Infinity }: HashJob): Promise<Hashed> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  for await (const chunk of createReadStream(file, {
    highWaterMark: chunkBytes,
    end: bytes - 1,
  }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    sizeBytes += chunk.length
  }
  return { sizeBytes, checksum: hash.digest('hex') }
}

async function unpack({ file, archiveBytes = Infinity, ...options }: UnpackJob): Promise<Record<string, string>> {
  const source = createReadStream(file, { highWaterMark: chunkBytes, end: archiveBytes - 1 })
  const plain = new PassThrough({ highWaterMark: chunkBytes })
  const reading = pipeline(source, createZstdDecompress({ chunkSize: chunkBytes }), plain)
  try {
    const texts = await unpackTrees(plain as AsyncIterable<Buffer>, options)
    if (options.isHeadOnly) {
      source.destroy()
      await reading.catch(() => undefined) // cut by us
      return texts
    }
    plain.resume() // what follows the end of an archive is of no interest, but has to be whole
    await reading
    return texts
  } catch (error) {
    plain.destroy()
    const cause = await reading.then(
      () => undefined,
      (failed: unknown) => failed,
    )
    throw asBroken(cause) ?? error
  }
}

/** What zstd does not understand was no archive of ours, or is not whole. */
function asBroken(error: unknown): StepError | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? ''
  return /^(Z|ZSTD)_/.test(code)
    ? new StepError('backup_invalid', 'The backup is broken: it cannot be decompressed.', { cause: error })
    : undefined
}
