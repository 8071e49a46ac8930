import { closeSync, constants, type Dirent, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { StepError } from '../../lib/step-error.ts'
import { Globs } from '../../source/glob.ts'
import { Budget, diskBlockBytes, diskBytesOf, type PackLimits } from './budget.ts'
import { frameBytes } from './frames.ts'
import { entriesOf, isUnchanged, readInto, readLink, readWhole, rereadsMax, wholeBytesMax } from './read-files.ts'
import { SeenFiles } from './seen-files.ts'
import { type Entry, encodeEntry, paddingOf } from './tar-header.ts'
import { codeOf, isOfSystem } from './tree-error.ts'

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
  /** Of this tree alone; otherwise it counts with the others. */
  readonly limits?: PackLimits
}

/** One that is being packed. */
interface OpenTree extends Tree {
  readonly globs: Globs
  readonly budget: Budget
  readonly seen: SeenFiles
}

/** What a lenient one left out. */
export interface Skipped {
  readonly count: number
  /** The first of them, in words. */
  readonly first: readonly string[]
  /** The trees that something is missing of. */
  readonly prefixes: readonly string[]
}

interface Options {
  readonly limits: PackLimits
  /** What cannot be packed is left out and told, instead of ending it all: one bot must not be able to end everybody's. */
  readonly isLenient: boolean
}

type Facts = Pick<Stats, 'mode' | 'mtimeMs' | 'size' | 'uid' | 'gid'>
type Named = Pick<Entry, 'type' | 'path' | 'target'>

// What is smaller is put together with others.
const smallBytesMax = 128 * 1024
// Each level is an open folder.
const depthMax = 200
const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
// Without O_NONBLOCK opening a FIFO would wait for a writer for ever, and a file with a lease for whoever holds it.
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
  readonly #budget: Budget
  readonly #isLenient: boolean
  #chunk: Buffer = Buffer.allocUnsafe(frameBytes)
  #filled = 0
  readonly #free: Buffer[] = []
  /** What all of it will take on a disk. */
  contentBytes = 0
  #skippedCount = 0
  readonly #firstSkipped: string[] = []
  readonly #skippedPrefixes = new Set<string>()

  constructor({ limits, isLenient }: Options) {
    this.#budget = new Budget(limits)
    this.#isLenient = isLenient
  }

  get skipped(): Skipped {
    return { count: this.#skippedCount, first: this.#firstSkipped, prefixes: [...this.#skippedPrefixes] }
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
    const budget = tree.limits ? new Budget(tree.limits) : this.#budget
    // Names of one tree never lead to files of another, even if both have the same: bots stay apart.
    const open = { ...tree, globs: new Globs(tree.ignore), budget, seen: new SeenFiles() }
    const path = Buffer.from(tree.prefix)
    try {
      const fd = openSync(tree.folder, folderFlags)
      try {
        yield* this.#packFolder(open, { fd, path, depth: 0 })
      } finally {
        closeSync(fd)
      }
    } catch (error) {
      if (error instanceof StepError) this.#refuse(open, error, path)
      else this.#passOver(open, error, path)
    }
  }

  *#packFolder(tree: OpenTree, folder: { fd: number; path: Buffer; depth: number }): Generator<Buffer> {
    const { fd, path, depth } = folder
    if (depth > depthMax) {
      const message = `There are more than ${depthMax} folders within each other.`
      return this.#refuse(tree, new StepError('tree_too_deep', message), path)
    }
    yield* this.#putEntry(tree, { type: 'folder', path }, fstatSync(fd))
    for (const entry of entriesOf(fd)) {
      tree.budget.countLook()
      const name = entry.name as unknown as Buffer
      const at = Buffer.concat([path, slash, name])
      if (isLeftOut(tree, at)) continue
      try {
        yield* this.#packEntry(tree, { from: child(fd, name), path: at, depth: depth + 1 }, entry)
      } catch (error) {
        this.#passOver(tree, error, at)
      }
    }
  }

  /** By what it is when it is opened: it may have been something else when its folder was read. */
  *#packEntry(tree: OpenTree, at: { from: Buffer; path: Buffer; depth: number }, entry: Dirent): Generator<Buffer> {
    if (entry.isSymbolicLink()) yield* this.#packLink(tree, at)
    else if (entry.isDirectory()) {
      const fd = this.#tryOpen(tree, at, folderFlags)
      if (fd === undefined) return
      try {
        yield* this.#packFolder(tree, { fd, path: at.path, depth: at.depth })
      } finally {
        closeSync(fd)
      }
    } else if (entry.isFile()) {
      const fd = this.#tryOpen(tree, at, fileFlags)
      if (fd === undefined) return
      try {
        const stats = fstatSync(fd)
        if (stats.isFile()) yield* this.#packNamed(tree, { fd, path: at.path }, stats)
      } finally {
        closeSync(fd)
      }
    }
  }

  *#packLink(tree: OpenTree, { from, path }: { from: Buffer; path: Buffer }): Generator<Buffer> {
    const link = readLink(from)
    if (link) yield* this.#putEntry(tree, { type: 'link', path, target: link.target }, link.stats)
  }

  /** Of a file with several names the first has the bytes, and the others say that they are the same. */
  *#packNamed(tree: OpenTree, file: { fd: number; path: Buffer }, stats: Stats): Generator<Buffer> {
    const { fd, path } = file
    const target = stats.nlink > 1 ? tree.seen.find(fd) : undefined
    if (target) return yield* this.#putEntry(tree, { type: 'name', path, target }, stats)
    const refusal = tree.budget.takeFile(stats)
    if (refusal) return this.#refuse(tree, refusal, path)
    this.contentBytes += diskBytesOf(stats)
    yield* this.#packFile(tree, file, stats)
    if (stats.nlink > 1) tree.seen.add(fd, path, stats.nlink)
  }

  *#packFile(tree: OpenTree, { fd, path }: { fd: number; path: Buffer }, stats: Stats): Generator<Buffer> {
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
    yield* this.#putFrom(tree, { fd, path }, stats.size)
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
      this.#count(tree)
      return
    }
  }

  /** As many bytes as were announced: what is added meanwhile is left out, what was cut off is zeros. */
  *#putFrom(tree: OpenTree, { fd, path }: { fd: number; path: Buffer }, sizeBytes: number): Generator<Buffer> {
    for (let at = 0; at < sizeBytes; ) {
      const length = Math.min(sizeBytes - at, this.#chunk.length - this.#filled)
      const count = this.#read(tree, { fd, path }, { length, at })
      if (count === 0) return yield* this.#putZeros(sizeBytes - at)
      this.#filled += count
      at += count
      if (this.#filled === this.#chunk.length) yield this.#takeChunk()
    }
  }

  /** 0 also where it cannot be read, because it is announced by then. */
  #read(tree: OpenTree, file: { fd: number; path: Buffer }, { length, at }: { length: number; at: number }): number {
    try {
      return readSync(file.fd, this.#chunk, this.#filled, length, at)
    } catch (error) {
      this.#passOver(tree, error, file.path)
      return 0
    }
  }

  *#putEntry(tree: OpenTree, entry: Named, stats: Facts): Generator<Buffer> {
    this.#count(tree)
    yield* this.#put(this.#encode(tree, entry, stats))
  }

  #count({ budget }: OpenTree): void {
    budget.countEntry()
    this.contentBytes += diskBlockBytes
  }

  #encode(tree: OpenTree, entry: Named, stats: Facts): Buffer {
    const sizeBytes = entry.type === 'file' ? stats.size : 0
    const owner = tree.hasOwners ? stats : undefined
    return encodeEntry({ ...entry, mode: stats.mode & 0o777, modifiedAt: stats.mtimeMs / 1000, sizeBytes, owner })
  }

  #refuse({ prefix }: OpenTree, error: StepError, path: Buffer): void {
    if (!this.#isLenient) throw error
    this.#skippedCount++
    this.#skippedPrefixes.add(prefix)
    if (this.#firstSkipped.length >= skippedMax) return
    const name = printable(path)
    this.#firstSkipped.push(error.message.includes(name) ? error.message : `${name}: ${error.message}`)
  }

  /** What the system says of one entry does not end all the others. */
  #passOver(tree: OpenTree, error: unknown, path: Buffer): void {
    if (!this.#isLenient || !isOfSystem(error)) throw error
    this.#refuse(tree, unreadable(path, `cannot be read, or not all of it (${codeOf(error)})`), path)
  }

  /** Undefined: gone since, or something else by now. */
  #tryOpen(tree: OpenTree, { from, path }: { from: Buffer; path: Buffer }, flags: number): number | undefined {
    try {
      return openSync(from, flags)
    } catch (error) {
      const code = codeOf(error)
      if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENODEV', 'EISDIR'].includes(code)) return undefined
      const why = reasons[code]
      if (why === undefined) throw error
      this.#refuse(tree, unreadable(path, why), path)
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

/** What a bot can do to its own files. */
const reasons: Readonly<Record<string, string>> = {
  EACCES: 'has permissions that do not let it be read',
  EAGAIN: 'is held by a program of the bot, which keeps others from reading it',
}

function unreadable(path: Buffer, why: string): StepError {
  return new StepError('file_unreadable', `The file ${printable(path)} ${why}.`)
}

/** Names are the bot's, and somebody's terminal may show them. */
function printable(path: Buffer): string {
  return path.toString().replaceAll(/[\p{Cc}\p{Cf}]/gu, '?')
}

function factsOf({ mode, mtimeMs, size, uid, gid }: Stats): Facts {
  return { mode, mtimeMs, size, uid, gid }
}

function isLeftOut({ ignore, globs, without, prefix }: OpenTree, path: Buffer): boolean {
  if (ignore.length + without.length === 0) return false
  const inTree = path.toString().slice(prefix.length + 1)
  return without.includes(inTree) || globs.match(inTree)
}

function child(fd: number, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name])
}
