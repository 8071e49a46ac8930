import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs'

interface Span {
  readonly start: number
  readonly end: number
}

const blockBytes = 64 * 1024
const lineFeed = 0x0a

/** The lines of a part of a file in blocks, in the order in which they stand. A file that is gone has none. */
export function* readLinesForward(file: string, { start, end }: Span): Generator<string[]> {
  using handle = open(file)
  if (!handle) return
  let rest: Buffer = Buffer.alloc(0)
  let position = start
  while (position < end) {
    const block = read(handle.fd, position, Math.min(blockBytes, end - position))
    if (block.length === 0) return
    position += block.length
    const bytes = Buffer.concat([rest, block])
    const whole = bytes.lastIndexOf(lineFeed) + 1
    rest = bytes.subarray(whole)
    if (whole > 0) yield bytes.toString('utf8', 0, whole - 1).split('\n')
  }
}

/** The same from the end on: the newest line comes first, and nothing before the last line asked for is read. */
export function* readLinesBackward(file: string, span: Span): Generator<string[]> {
  for (const { bytes } of readBlocksBackward(file, span)) {
    yield bytes
      .toString('utf8', 0, bytes.length - 1)
      .split('\n')
      .toReversed()
  }
}

/** Whole lines with where they begin, last block first. What stands behind the last line feed is left out. */
export function* readBlocksBackward(file: string, { start, end }: Span): Generator<{ at: number; bytes: Buffer }> {
  using handle = open(file)
  if (!handle) return
  let rest: Buffer = Buffer.alloc(0)
  let position = end
  while (position > start) {
    const length = Math.min(blockBytes, position - start)
    position -= length
    const bytes = Buffer.concat([read(handle.fd, position, length), rest])
    const first = position > start ? bytes.indexOf(lineFeed) + 1 : 0
    const isInsideLine = position > start && first === 0
    rest = isInsideLine ? bytes : bytes.subarray(0, first)
    const last = bytes.lastIndexOf(lineFeed) + 1
    if (!isInsideLine && last > first) yield { at: position + first, bytes: bytes.subarray(first, last) }
  }
}

/** Where the first line with this seq or a greater one begins, found by halving; the size if there is none. */
export function offsetOfSeq(file: string, size: number, seq: number): number {
  using handle = open(file)
  if (!handle) return size
  let [low, high] = [0, size]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const line = findNumberedLine(handle.fd, middle, size)
    if (!line || line.seq >= seq) high = middle
    else low = line.at + 1
  }
  return findNumberedLine(handle.fd, low, size)?.at ?? size
}

const probeBytes = 4096

/** The first line that begins at `from` or later and has a seq. */
function findNumberedLine(fd: number, from: number, size: number): { at: number; seq: number } | undefined {
  let at = from === 0 ? 0 : nextLine(fd, from - 1, size)
  while (at < size) {
    const seq = /^\{"seq":(\d+),/.exec(read(fd, at, Math.min(32, size - at)).toString('latin1'))?.[1]
    if (seq !== undefined) return { at, seq: Number(seq) }
    at = nextLine(fd, at, size)
  }
  return undefined
}

function nextLine(fd: number, from: number, size: number): number {
  for (let position = from; position < size; position += probeBytes) {
    const found = read(fd, position, Math.min(probeBytes, size - position)).indexOf(lineFeed)
    if (found !== -1) return position + found + 1
  }
  return size
}

function open(file: string): (Disposable & { fd: number }) | undefined {
  try {
    const fd = openSync(file, 'r')
    return { fd, [Symbol.dispose]: () => closeSync(fd) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function read(fd: number, position: number, length: number): Buffer {
  const block = Buffer.allocUnsafe(length)
  return block.subarray(0, readSync(fd, block, 0, length, position))
}

export function fileSize(file: string): number {
  return statSync(file).size
}

/** The kernel may take less than all at a time, as on a disk that is nearly full. */
export function writeAll(fd: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, position + done)
}
