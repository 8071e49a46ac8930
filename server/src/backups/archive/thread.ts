// What takes long and would hold up everybody, in a thread of its own. Started by `archive.ts`.
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { isDiskFull } from '../../lib/disk-full.ts'
import { Globs } from '../../source/glob.ts'
import { checkHostRoom, hostFull } from '../host-room.ts'
import type { CoverJob, Hashed, HashJob, Job, MeasureJob, Packed, PackJob, UnpackJob } from './archive.ts'
import { compressFrames, decompressFrames } from './frames.ts'
import { Packer } from './pack.ts'
import { asFailure } from './tree-error.ts'
import { measureTrees, unpackTrees } from './unpack.ts'

const chunkBytes = 512 * 1024
const writeAheadBytes = 4 * 1024 * 1024
const checkEveryBytes = 32 * 1024 * 1024

try {
  parentPort?.postMessage({ result: await run(workerData as Job) }, [])
} catch (error) {
  parentPort?.postMessage({ failure: asFailure(error) }, [])
}

function run(job: Job): Promise<unknown> {
  switch (job.kind) {
    case 'pack':
      return pack(job)
    case 'unpack':
      return unpack(job)
    case 'hash':
      return hashFile(job)
    case 'measure':
      return measure(job)
    case 'cover':
      return Promise.resolve(findCovered(job))
  }
}

/** Whole and on the disk when this resolves. */
async function pack(job: PackJob): Promise<Packed> {
  const { file, texts, trees, limits, isLenient = false, hostFreeBytes } = job
  checkHostRoom(dirname(file), hostFreeBytes)
  const packer = new Packer({ limits, isLenient })
  const hash = createHash('sha256')
  let [sizeBytes, checkedBytes] = [0, 0]
  const measure = async function* (compressed: AsyncIterable<Buffer>) {
    for await (const chunk of compressed) {
      hash.update(chunk)
      sizeBytes += chunk.length
      if (sizeBytes - checkedBytes >= checkEveryBytes) {
        checkedBytes = sizeBytes
        checkHostRoom(dirname(file), hostFreeBytes)
      }
      yield chunk
    }
  }
  try {
    const frames = compressFrames(packer.pack(texts, trees), (chunk) => packer.giveBack(chunk))
    const output = createWriteStream(file, { mode: 0o600, highWaterMark: writeAheadBytes, flush: true })
    await pipeline(frames, measure, output)
  } catch (error) {
    throw isDiskFull(error) ? hostFull(error) : error
  }
  return { sizeBytes, checksum: hash.digest('hex'), contentBytes: packer.contentBytes, skipped: packer.skipped }
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

function unpack({ file, archiveBytes = Infinity, ...options }: UnpackJob): Promise<Record<string, string>> {
  const source = createReadStream(file, { highWaterMark: chunkBytes, end: archiveBytes - 1 })
  return unpackTrees(decompressFrames(source as AsyncIterable<Buffer>), options)
}

function measure({ file }: MeasureJob): Promise<number> {
  return measureTrees(decompressFrames(createReadStream(file, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>))
}

/** A 1 for each path that is covered, in their order. */
function findCovered({ paths, globs: texts }: CoverJob): Uint8Array {
  const globs = new Globs(texts)
  const bytes = Buffer.from(paths.buffer, paths.byteOffset, paths.byteLength)
  const found: number[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0, at)
    found.push(globs.cover(bytes.toString('utf8', at, end)) ? 1 : 0)
    at = end + 1
  }
  return Uint8Array.from(found)
}
