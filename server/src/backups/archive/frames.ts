import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { StepError } from '../../lib/step-error.ts'

/*
 * An archive is a row of zstd frames, each of which stands for itself: so several are compressed at once, and nobody waits
 * for the one who reads. Every `zstd` reads them as one stream; the one in Node.js stops after the first, so they are
 * taken apart here.
 */

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

// Twice as fast as the default one in the zstd that comes with Node.js, for archives of nearly the same size.
const level = 1
/** Before it is compressed. Four times as much would save 1 in 1000. */
export const frameBytes = 1024 * 1024
const compressedMax = frameBytes + frameBytes / 8
const frameMagic = 0xfd2fb528
const rle = 1
// The machine's other work goes on beside it.
const atOnce = 3

export async function* compressFrames(
  chunks: Iterable<Buffer>,
  giveBack: (chunk: Buffer) => void,
): AsyncGenerator<Buffer> {
  yield* inOrder(chunks, async (chunk) => {
    // All of it at once: each part would be a way to another thread and back.
    const frame = await compress(chunk, {
      chunkSize: compressedMax,
      params: { [constants.ZSTD_c_compressionLevel]: level },
    })
    giveBack(chunk)
    return frame
  })
}

/** Rejects with a StepError where something is not as we made it. */
export async function* decompressFrames(archive: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* inOrder(splitFrames(archive), (frame) =>
    decompress(frame, { chunkSize: frameBytes, maxOutputLength: frameBytes }).catch((error: unknown) => {
      throw broken(error)
    }),
  )
}

/** Some at once; each result in its turn. */
async function* inOrder<T>(
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<Buffer>,
): AsyncGenerator<Buffer> {
  const under: Promise<Buffer>[] = []
  for await (const item of items) {
    const result = work(item)
    result.catch(() => undefined) // told in its turn
    under.push(result)
    const first = under.length < atOnce ? undefined : under.shift()
    if (first) yield await first
  }
  for (const result of under) yield await result
}

async function* splitFrames(archive: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of archive) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let length = frameLength(rest); length !== undefined; length = frameLength(rest)) {
      yield rest.subarray(0, length)
      rest = rest.subarray(length)
    }
    if (rest.length > compressedMax) throw broken()
  }
  if (rest.length > 0) throw broken()
}

/** Of the first one; undefined: not all of it is there. As RFC 8878 has it: a head, blocks, perhaps a checksum. */
function frameLength(bytes: Buffer): number | undefined {
  if (bytes.length < 5) return undefined
  if (bytes.readUInt32LE(0) !== frameMagic) throw broken()
  const flags = bytes.readUInt8(4)
  const isSingle = (flags & 0x20) !== 0
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0
  const dictionaryId = [0, 1, 2, 4][flags & 3] ?? 0
  let at = 5 + (isSingle ? 0 : 1) + dictionaryId + contentSize
  for (let isLast = false; !isLast; ) {
    if (bytes.length < at + 3) return undefined
    const block = bytes.readUIntLE(at, 3)
    isLast = (block & 1) === 1
    at += 3 + (((block >> 1) & 3) === rle ? 1 : block >> 3)
  }
  const end = at + ((flags & 4) === 0 ? 0 : 4)
  return bytes.length < end ? undefined : end
}

function broken(cause?: unknown): StepError {
  return new StepError('backup_invalid', 'The backup is broken: it cannot be decompressed.', { cause })
}
