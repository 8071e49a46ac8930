import { type Dir, type Dirent, fstatSync, lstatSync, opendirSync, readlinkSync, readSync, type Stats } from 'node:fs'
import { codeOf } from './tree-error.ts'

/** What is smaller is read as a whole, and once more if it changed meanwhile: a bot writes as we read. */
export const wholeBytesMax = 4 * 1024 * 1024
export const rereadsMax = 3

/** Bit by bit, because there may be millions; as bytes, because names need not be UTF-8. */
export function* entriesOf(fd: number): Generator<Dirent> {
  let folder: Dir
  try {
    folder = opendirSync(`/proc/self/fd/${fd}`, { encoding: 'buffer' as BufferEncoding, bufferSize: 256 })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return // removed since
    throw error
  }
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) yield entry
  } finally {
    folder.closeSync()
  }
}

export function readLink(path: Buffer): { target: Buffer; stats: Stats } | undefined {
  try {
    const stats = lstatSync(path)
    return stats.isSymbolicLink() ? { target: readlinkSync(path, { encoding: 'buffer' }), stats } : undefined
  } catch (error) {
    if (['ENOENT', 'EINVAL'].includes(codeOf(error))) return undefined
    throw error
  }
}

/** As it was at one moment, if it rests for as long as it takes to read it. */
export function readWhole(fd: number, first: Stats): { bytes: Buffer; stats: Stats } {
  let stats = first
  for (let tries = 0; ; tries++) {
    const bytes = readSome(fd, stats.size)
    const after = fstatSync(fd)
    const isSame = isUnchanged(stats, after) && bytes.length === stats.size
    if (isSame || tries >= rereadsMax || after.size > wholeBytesMax) return { bytes, stats }
    stats = after
  }
}

export function isUnchanged(before: Stats, after: Stats): boolean {
  return after.size === before.size && after.mtimeMs === before.mtimeMs
}

function readSome(fd: number, sizeBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(sizeBytes)
  return bytes.subarray(0, readInto(fd, bytes))
}

/** Returns how much there was. */
export function readInto(fd: number, bytes: Buffer): number {
  let at = 0
  while (at < bytes.length) {
    const count = readSync(fd, bytes, at, bytes.length - at, at)
    if (count === 0) break
    at += count
  }
  return at
}
