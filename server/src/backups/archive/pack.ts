import {
  closeSync,
  constants,
  type Dir,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs'
import { StepError } from '../../lib/step-error.ts'
import { Globs } from '../../source/glob.ts'
import { frameBytes } from './frames.ts'
import { type Entry, encodeEntry, paddingOf } from './tar-header.ts'
import { codeOf } from './tree-error.ts'

export interface Tree {
  /** What its entries begin with. */
  readonly prefix: string
  readonly folder: string
  /** Paths and globs that are left out. */
  readonly ignore: readonly string[]
  /** Paths that are left out, whatever they are. */
  readonly without: readonly string[]
  /** Whose everything is goes with it. */
  readonly hasOwners?: boolean
}

interface OpenTree extends Tree {
  readonly globs: Globs
}

export interface PackLimits {
  /** Of all files, as long as they say they are: a hostile one may be mostly holes. */
  readonly bytesMax: number
  readonly entriesMax: number
  /** What cannot be packed is left out and told, instead of ending it all: one bot must not be able to end everybody's. */
  readonly isLenient?: boolean
}

type Facts = Pick<Stats, 'mode' | 'mtimeMs' | 'size' | 'uid' | 'gid'>

// What is smaller is read as a whole, and once more if it changed meanwhile: a bot writes as we read.
const wholeBytesMax = 4 * 1024 * 1024
// What is smaller is put together with others.
const smallBytesMax = 128 * 1024
const rereadsMax = 3
// Each level is an open folder.
const depthMax = 200
const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
// Without O_NONBLOCK opening a FIFO would wait for a writer for ever.
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
// Of those that are told.
const skippedMax = 100
const slash = Buffer.from('/')

/**
 * The bytes of a tar archive of trees whose owners are hostile and at work meanwhile. As in `lib/beneath.ts` each folder
 * is opened from the one above and links are refused by the kernel, so whatever is moved where meanwhile, nothing from
 * outside gets in. Everything is synchronous: it runs in a thread of its own, where that takes a third of the time.
 */
export class Packer {
  readonly #limits: PackLimits
  #chunk: Buffer = Buffer.allocUnsafe(frameBytes)
  #filled = 0
  readonly #free: Buffer[] = []
  /** What the files take on a disk. */
  contentBytes = 0
  #announcedBytes = 0
  #entries = 0
  /** What was left out, and why; the first of them. */
  readonly skipped: string[] = []

  constructor(limits: PackLimits) {
    this.#limits = limits
  }

  *pack(texts: Readonly<Record<string, string>>, trees: readonly Tree[]): Generator<Buffer> {
    const now = Date.now() / 1000
    for (const [name, text] of Object.entries(texts)) {
      const bytes = Buffer.from(text)
      const path = Buffer.from(name)
      yield* this.#put(encodeEntry({ type: 'file', path, mode: 0o600, modifiedAt: now, sizeBytes: bytes.length }))
      yield* this.#put(bytes)
      yield* this.#putZeros(paddingOf(bytes.length))
    }
    for (const tree of trees) yield* this.#packRoot(tree)
    yield* this.#putZeros(1024)
    if (this.#filled > 0) yield this.#chunk.subarray(0, this.#filled)
  }

  *#packRoot(tree: Tree): Generator<Buffer> {
    const fd = openSync(tree.folder, folderFlags)
    try {
      const open = { ...tree, globs: new Globs(tree.ignore) }
      yield* this.#packFolder(open, { fd, path: Buffer.from(tree.prefix), depth: 0 })
    } finally {
      closeSync(fd)
    }
  }

  *#packFolder(tree: OpenTree, folder: { fd: number; path: Buffer; depth: number }): Generator<Buffer> {
    const { fd, path, depth } = folder
    if (depth > depthMax)
      return this.#refuse(
        new StepError('tree_too_deep', `There are more than ${depthMax} folders within each other.`),
        path,
      )
    yield* this.#putEntry(tree, { type: 'folder', path }, fstatSync(fd))
    for (const entry of entriesOf(fd)) {
      const name = entry.name as unknown as Buffer
      const at = Buffer.concat([path, slash, name])
      if (isLeftOut(tree, at)) continue
      yield* this.#packEntry(tree, { from: child(fd, name), path: at, depth: depth + 1 }, entry)
    }
  }

  /** By what it is when it is opened: it may have been something else when its folder was read. */
  *#packEntry(tree: OpenTree, at: { from: Buffer; path: Buffer; depth: number }, entry: Dirent): Generator<Buffer> {
    if (entry.isSymbolicLink()) yield* this.#packLink(tree, at)
    else if (entry.isDirectory()) {
      const fd = this.#tryOpen(at, folderFlags)
      if (fd === undefined) return
      try {
        yield* this.#packFolder(tree, { fd, path: at.path, depth: at.depth })
      } finally {
        closeSync(fd)
      }
    } else if (entry.isFile()) {
      const fd = this.#tryOpen(at, fileFlags)
      if (fd === undefined) return
      try {
        const stats = fstatSync(fd)
        if (stats.isFile()) yield* this.#packFile(tree, { fd, path: at.path }, stats)
      } finally {
        closeSync(fd)
      }
    }
  }

  *#packLink(tree: OpenTree, { from, path }: { from: Buffer; path: Buffer }): Generator<Buffer> {
    const link = readLink(from)
    if (link) yield* this.#putEntry(tree, { type: 'link', path, target: link.target }, link.stats)
  }

  *#packFile(tree: OpenTree, { fd, path }: { fd: number; path: Buffer }, stats: Stats): Generator<Buffer> {
    const { bytesMax, isLenient } = this.#limits
    if ((isLenient ? 0 : this.#announcedBytes) + stats.size > bytesMax)
      return this.#refuse(
        new StepError(
          'backup_too_large',
          `The files are more than ${Math.floor(bytesMax / 1024 / 1024)} MB in all, holes in them included. Name what can be left out in ignore of botberth.json.`,
        ),
        path,
      )
    this.contentBytes += Math.min(stats.size, stats.blocks * 512)
    this.#announcedBytes += stats.size
    if (stats.size <= smallBytesMax) {
      yield* this.#putSmall(tree, { fd, path }, stats)
      return
    }
    if (stats.size <= wholeBytesMax) {
      const { bytes, stats: read } = readWhole(fd, stats)
      yield* this.#putEntry(tree, { type: 'file', path }, { ...factsOf(read), size: bytes.length })
      yield* this.#put(bytes)
      yield* this.#putZeros(paddingOf(bytes.length))
      return
    }
    yield* this.#putEntry(tree, { type: 'file', path }, stats)
    yield* this.#putFrom(fd, stats.size)
    yield* this.#putZeros(paddingOf(stats.size))
  }

  /** Most files are: straight to where they belong, without a buffer for each. */
  *#putSmall(tree: OpenTree, { fd, path }: { fd: number; path: Buffer }, first: Stats): Generator<Buffer> {
    let stats = first
    for (let tries = 0; ; tries++) {
      const head = this.#encode(tree, { type: 'file', path }, stats)
      const length = head.length + stats.size + paddingOf(stats.size)
      if (length > this.#chunk.length - this.#filled) yield this.#takeChunk()
      const at = this.#filled + head.length
      const count = readInto(fd, this.#chunk.subarray(at, at + stats.size))
      const after = fstatSync(fd)
      const isSame = isUnchanged(stats, after) && count === stats.size
      if (!isSame && tries < rereadsMax && after.size <= smallBytesMax) {
        stats = after
        continue
      }
      head.copy(this.#chunk, this.#filled)
      // What was cut off meanwhile is zeros, as the rest of the last block.
      this.#chunk.fill(0, at + count, this.#filled + length)
      this.#filled += length
      this.#count()
      return
    }
  }

  /** As many bytes as were announced: what is added meanwhile is left out, what was cut off is zeros. */
  *#putFrom(fd: number, sizeBytes: number): Generator<Buffer> {
    for (let at = 0; at < sizeBytes; ) {
      const length = Math.min(sizeBytes - at, this.#chunk.length - this.#filled)
      const count = readSync(fd, this.#chunk, this.#filled, length, at)
      if (count === 0) return yield* this.#putZeros(sizeBytes - at)
      this.#filled += count
      at += count
      if (this.#filled === this.#chunk.length) yield this.#takeChunk()
    }
  }

  *#putEntry(tree: OpenTree, entry: Pick<Entry, 'type' | 'path' | 'target'>, stats: Facts): Generator<Buffer> {
    this.#count()
    yield* this.#put(this.#encode(tree, entry, stats))
  }

  #count(): void {
    if (++this.#entries > this.#limits.entriesMax)
      throw new StepError('too_many_files', `There are more than ${this.#limits.entriesMax} files and folders.`)
  }

  #encode(tree: OpenTree, entry: Pick<Entry, 'type' | 'path' | 'target'>, stats: Facts): Buffer {
    const sizeBytes = entry.type === 'file' ? stats.size : 0
    const owner = tree.hasOwners ? stats : undefined
    return encodeEntry({ ...entry, mode: stats.mode & 0o777, modifiedAt: stats.mtimeMs / 1000, sizeBytes, owner })
  }

  #refuse(error: StepError, path: Buffer): void {
    if (!this.#limits.isLenient) throw error
    if (this.skipped.length < skippedMax) this.skipped.push(`${path.toString()}: ${error.message}`)
  }

  /** Undefined: gone since, or something else by now. */
  #tryOpen({ from, path }: { from: Buffer; path: Buffer }, flags: number): number | undefined {
    try {
      return openSync(from, flags)
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENODEV', 'EISDIR'].includes(codeOf(error))) return undefined
      if (codeOf(error) !== 'EACCES') throw error
      this.#refuse(
        new StepError('file_unreadable', `The permissions of ${path.toString()} do not let it be read.`),
        path,
      )
      return undefined
    }
  }

  *#put(bytes: Buffer): Generator<Buffer> {
    for (let at = 0; at < bytes.length; ) {
      const count = bytes.copy(this.#chunk, this.#filled, at)
      this.#filled += count
      at += count
      if (this.#filled === this.#chunk.length) yield this.#takeChunk()
    }
  }

  *#putZeros(count: number): Generator<Buffer> {
    for (let left = count; left > 0; ) {
      const length = Math.min(left, this.#chunk.length - this.#filled)
      this.#chunk.fill(0, this.#filled, this.#filled + length)
      this.#filled += length
      left -= length
      if (this.#filled === this.#chunk.length) yield this.#takeChunk()
    }
  }

  /** Whoever takes it may keep it until it gives it back. */
  #takeChunk(): Buffer {
    const full = this.#chunk.subarray(0, this.#filled)
    this.#chunk = this.#free.pop() ?? Buffer.allocUnsafe(frameBytes)
    this.#filled = 0
    return full
  }

  /** To be filled again: what is made and thrown away so often keeps the collector busy. */
  giveBack(chunk: Buffer): void {
    this.#free.push(Buffer.from(chunk.buffer, 0, frameBytes))
  }
}

/** Bit by bit, because there may be millions; as bytes, because names need not be UTF-8. */
function* entriesOf(fd: number): Generator<Dirent> {
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

function factsOf({ mode, mtimeMs, size, uid, gid }: Stats): Facts {
  return { mode, mtimeMs, size, uid, gid }
}

function readLink(path: Buffer): { target: Buffer; stats: Stats } | undefined {
  try {
    const stats = lstatSync(path)
    return stats.isSymbolicLink() ? { target: readlinkSync(path, { encoding: 'buffer' }), stats } : undefined
  } catch (error) {
    if (['ENOENT', 'EINVAL'].includes(codeOf(error))) return undefined
    throw error
  }
}

/** As it was at one moment, if it rests for as long as it takes to read it. */
function readWhole(fd: number, first: Stats): { bytes: Buffer; stats: Stats } {
  let stats = first
  for (let tries = 0; ; tries++) {
    const bytes = readSome(fd, stats.size)
    const after = fstatSync(fd)
    const isSame = isUnchanged(stats, after) && bytes.length === stats.size
    if (isSame || tries >= rereadsMax || after.size > wholeBytesMax) return { bytes, stats }
    stats = after
  }
}

function isUnchanged(before: Stats, after: Stats): boolean {
  return after.size === before.size && after.mtimeMs === before.mtimeMs
}

function readSome(fd: number, sizeBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(sizeBytes)
  return bytes.subarray(0, readInto(fd, bytes))
}

/** Returns how much there was. */
function readInto(fd: number, bytes: Buffer): number {
  let at = 0
  while (at < bytes.length) {
    const count = readSync(fd, bytes, at, bytes.length - at, at)
    if (count === 0) break
    at += count
  }
  return at
}

function isLeftOut({ ignore, globs, without, prefix }: OpenTree, path: Buffer): boolean {
  if (ignore.length + without.length === 0) return false
  const inTree = path.toString().slice(prefix.length + 1)
  return without.includes(inTree) || globs.match(inTree)
}

function child(fd: number, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name])
}
