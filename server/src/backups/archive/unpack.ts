import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { StepError } from '../../lib/step-error.ts'
import { diskBlockBytes } from './budget.ts'
import { blockBytes, decodeBlock, type Head, type Owner, paddingOf } from './tar-header.ts'
import { codeOf } from './tree-error.ts'

export interface UnpackLimits {
  /** Of the blocks that are written, holes left out. */
  readonly diskBytesMax: number
  readonly entriesMax: number
}

export interface UnpackChanges {
  /** Everything is given to whom it belonged, but for what was this user's, which is ours. */
  readonly owners?: Owner | undefined
  /** Links that lead below the first folder lead below the second. */
  readonly movedLinks?: { readonly from: string; readonly to: string } | undefined
  /** Only the texts, which stand at the beginning. */
  readonly isHeadOnly?: boolean | undefined
}

interface Options extends UnpackLimits, UnpackChanges {
  /** By what the paths begin with; what begins otherwise is refused. */
  readonly folders: Readonly<Record<string, string>>
  /** Files of ours at the top, given as texts. */
  readonly texts: readonly string[]
}

const textBytesMax = 64 * 1024 * 1024
const longBytesMax = 64 * 1024
const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const fileFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const pieceBytesMax = 64 * 1024
const zeros = Buffer.alloc(diskBlockBytes)

interface Opened {
  readonly name: Buffer
  readonly fd: number
  /** What its entry said, for when all is in it: without the right to write nothing could be put there. */
  head: Pick<Head, 'mode' | 'modifiedAt' | 'owner'> | undefined
}

/**
 * Puts what an archive holds into folders that nobody else can reach, and returns the texts. The archive is taken for
 * hostile all the same: nothing is written through a link, and nothing outside of the folders.
 */
export async function unpackTrees(archive: AsyncIterable<Buffer>, options: Options): Promise<Record<string, string>> {
  const reader = new Reader(archive)
  const texts: Record<string, string> = {}
  const trees = new Map(
    Object.entries(options.folders).map(([prefix, folder]) => [prefix, new TreeWriter(prefix, folder, options)]),
  )
  let entries = 0
  const room = new Room(options.diskBytesMax)
  try {
    for (let head = await readHead(reader); head; head = await readHead(reader)) {
      if (++entries > options.entriesMax + options.texts.length) throw invalid('it has too many entries')
      const [prefix = '', ...names] = splitPath(head.path)
      const tree = trees.get(prefix)
      if (options.isHeadOnly && !options.texts.includes(prefix)) break
      if (tree) await tree.put(names, head, { reader, room })
      else if (names.length === 0 && head.flag === '0' && options.texts.includes(prefix))
        texts[prefix] = (await reader.take(Math.min(head.sizeBytes, textBytesMax))).toString()
      else throw invalid('it holds something that does not belong there')
      await reader.skip(paddingOf(head.sizeBytes))
    }
    if (options.isHeadOnly) return texts
    await reader.drain() // what follows the end of an archive is of no interest, but has to be whole
    for (const tree of trees.values()) tree.finish()
  } finally {
    for (const tree of trees.values()) tree.close()
  }
  return texts
}

/** What all of it will take on a disk. */
export async function measureTrees(archive: AsyncIterable<Buffer>): Promise<number> {
  const reader = new Reader(archive)
  const room = new Room(Infinity)
  let entries = 0
  for (let head = await readHead(reader); head; head = await readHead(reader)) {
    entries++
    await new FileContent(undefined, room).putAll(reader, head.sizeBytes)
    await reader.skip(paddingOf(head.sizeBytes))
  }
  return room.takenBytes + entries * diskBlockBytes
}

/** With the names that are too long for it, which stand before. */
async function readHead(reader: Reader): Promise<Head | undefined> {
  const long: { L?: Buffer; K?: Buffer } = {}
  for (;;) {
    const head = decode(await reader.take(blockBytes))
    if (!head) return undefined
    if (head.flag !== 'L' && head.flag !== 'K')
      return { ...head, path: withoutSlash(long.L ?? head.path), target: long.K ?? head.target }
    if (head.sizeBytes > longBytesMax) throw invalid('it has a name that is too long')
    long[head.flag] = (await reader.take(head.sizeBytes)).subarray(0, -1)
    await reader.skip(paddingOf(head.sizeBytes))
  }
}

function decode(block: Buffer): Head | undefined {
  try {
    return decodeBlock(block)
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error))
  }
}

function withoutSlash(path: Buffer): Buffer {
  return path.at(-1) === 0x2f ? path.subarray(0, -1) : path
}

/** As text of one byte a character, because names need not be UTF-8. */
function splitPath(path: Buffer): string[] {
  const names = path.toString('latin1').split('/')
  if (names.some((name) => name === '' || name === '.' || name === '..' || name.includes('\0') || name.length > 255))
    throw invalid('it has a path that leads elsewhere')
  return names
}

/** Writes one tree. The folders on the way to the last entry stay open, so that each is opened once. */
class TreeWriter {
  readonly #prefix: string
  readonly #open: Opened[]
  readonly #changes: UnpackChanges

  constructor(prefix: string, folder: string, changes: UnpackChanges) {
    this.#prefix = prefix
    this.#changes = changes
    this.#open = [{ name: Buffer.alloc(0), fd: openSync(folder, folderFlags), head: undefined }]
  }

  get #last(): Opened {
    const last = this.#open.at(-1)
    if (!last) throw new Error('the tree is closed')
    return last
  }

  async put(names: readonly string[], head: Head, { reader, room }: { reader: Reader; room: Room }): Promise<void> {
    const name = names.at(-1)
    if (head.flag === '5') return this.#putFolder(names, head)
    if (name === undefined) throw invalid('it has a file where a folder should be')
    this.#enter(names.slice(0, -1))
    const path = child(this.#last.fd, bytesOf(name))
    if (head.flag === '1') return this.#putName(path, head)
    if (head.flag === '2') return putLink(path, head, this.#changes)
    if (head.flag !== '0') throw invalid('it holds something that is neither a file nor a folder nor a link')
    await putFile(path, head, { reader, room, owner: ownerOf(head, this.#changes) })
  }

  /** One of the same name is that one; anything else of that name goes, as the later entry is the newer one. */
  #putFolder(names: readonly string[], head: Head): void {
    const name = names.at(-1)
    if (name !== undefined) {
      this.#enter(names.slice(0, -1))
      const { fd } = this.#last
      const path = child(fd, bytesOf(name))
      try {
        mkdirSync(path, 0o700)
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
        replaceByFolder(path)
      }
      this.#enter(names)
    } else this.#enter([])
    this.#last.head = head
  }

  /** Another name of a file of this tree, found anew from the top. */
  #putName(path: Buffer, { path: own, target }: Head): void {
    const [prefix, ...names] = splitPath(target)
    const name = names.pop()
    const [top] = this.#open
    if (prefix !== this.#prefix || name === undefined || !top) throw invalid('it has a file that belongs elsewhere')
    if (own.equals(target)) return // the bot moved it while it was packed, and it came twice
    const opened: number[] = []
    try {
      for (const folder of names) {
        const fd = openIfFolder(child(opened.at(-1) ?? top.fd, bytesOf(folder)))
        if (fd === undefined) return
        opened.push(fd)
      }
      linkFile(child(opened.at(-1) ?? top.fd, bytesOf(name)), path)
    } finally {
      for (const fd of opened) closeSync(fd)
    }
  }

  #enter(names: readonly string[]): void {
    let same = 0
    while (same < names.length && this.#open[same + 1]?.name.toString('latin1') === names[same]) same++
    while (this.#open.length > same + 1) this.#leave()
    for (const name of names.slice(same)) {
      const bytes = bytesOf(name)
      this.#open.push({ name: bytes, fd: openFolder(child(this.#last.fd, bytes)), head: undefined })
    }
  }

  #leave(): void {
    const last = this.#open.pop()
    if (!last) return
    if (last.head) {
      const owner = ownerOf(last.head, this.#changes)
      if (owner) fchownSync(last.fd, owner.uid, owner.gid)
      fchmodSync(last.fd, last.head.mode)
      futimesSync(last.fd, last.head.modifiedAt, last.head.modifiedAt)
    }
    closeSync(last.fd)
  }

  finish(): void {
    while (this.#open.length > 0) this.#leave()
  }

  close(): void {
    for (const { fd } of this.#open.splice(0)) closeSync(fd)
  }
}

function openFolder(path: Buffer): number {
  const fd = openIfFolder(path)
  if (fd === undefined) throw invalid('it writes through what is no folder')
  return fd
}

function openIfFolder(path: Buffer): number | undefined {
  try {
    return openSync(path, folderFlags)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error))) return undefined
    throw error
  }
}

/**
 * If it is still one: the bot may have put something else in its place while it was packed, and that must not keep it, or
 * all others, from coming back.
 */
function linkFile(file: Buffer, path: Buffer): void {
  const isFile = () => lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? false
  if (!isFile()) return
  rmSync(path, { recursive: true, force: true }) // as in `replacing`
  if (isFile()) linkSync(file, path)
}

function replaceByFolder(path: Buffer): void {
  try {
    closeSync(openSync(path, folderFlags))
  } catch (error) {
    if (!['ENOTDIR', 'ELOOP'].includes(codeOf(error))) throw error
    rmSync(path)
    mkdirSync(path, 0o700)
  }
}

/** Undefined: they stay ours. */
function ownerOf({ owner }: Pick<Head, 'owner'>, { owners: server }: UnpackChanges): Owner | undefined {
  if (!server) return undefined
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()]
  return { uid: owner.uid === server.uid ? uid : owner.uid, gid: owner.gid === server.gid ? gid : owner.gid }
}

function putLink(path: Buffer, head: Head, changes: UnpackChanges): void {
  const { modifiedAt } = head
  const target = movedTarget(head.target, changes.movedLinks)
  if (target.length === 0 || target.includes(0)) throw invalid('it has a link that leads nowhere')
  replacing(path, () => symlinkSync(target, path))
  const owner = ownerOf(head, changes)
  if (owner) lchownSync(path, owner.uid, owner.gid)
  lutimesSync(path, modifiedAt, modifiedAt)
}

function movedTarget(target: Buffer, moved: UnpackChanges['movedLinks']): Buffer {
  const before = Buffer.from(`${moved?.from}/`)
  if (!moved || !target.subarray(0, before.length).equals(before)) return target
  return Buffer.concat([Buffer.from(`${moved.to}/`), target.subarray(before.length)])
}

/** A name may come twice, if the bot moved it while it was packed: the later one is the newer one. */
function replacing<T>(path: Buffer, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    rmSync(path, { recursive: true })
    return make()
  }
}

async function putFile(
  path: Buffer,
  { sizeBytes, mode, modifiedAt }: Head,
  { reader, room, owner }: { reader: Reader; room: Room; owner: Owner | undefined },
): Promise<void> {
  const fd = replacing(path, () => openSync(path, fileFlags, 0o600))
  try {
    await new FileContent(fd, room).putAll(reader, sizeBytes)
    ftruncateSync(fd, sizeBytes)
    if (owner) fchownSync(fd, owner.uid, owner.gid)
    fchmodSync(fd, mode)
    futimesSync(fd, modifiedAt, modifiedAt)
  } finally {
    closeSync(fd)
  }
}

/** Writes what is not zeros, block by block: else a file that is mostly holes would not fit again where it came from. */
class FileContent {
  readonly #fd: number | undefined
  readonly #room: Room
  /** The last one that was written to. */
  #block = -1

  /** Without a file it is only measured. */
  constructor(fd: number | undefined, room: Room) {
    this.#fd = fd
    this.#room = room
  }

  async putAll(reader: Reader, sizeBytes: number): Promise<void> {
    for (let at = 0; at < sizeBytes; ) {
      const piece = await reader.some(sizeBytes - at)
      this.#put(piece, at)
      at += piece.length
    }
  }

  #put(piece: Buffer, at: number): void {
    let written = 0
    for (let from = 0; from < piece.length; ) {
      const to = Math.min(piece.length, from + diskBlockBytes - ((at + from) % diskBlockBytes))
      if (isZeros(piece, from, to)) {
        this.#write(piece.subarray(written, from), at + written)
        written = to
      } else this.#take(Math.floor((at + from) / diskBlockBytes))
      from = to
    }
    this.#write(piece.subarray(written), at + written)
  }

  #take(block: number): void {
    if (block === this.#block) return
    this.#block = block
    this.#room.takeBlock()
  }

  #write(bytes: Buffer, at: number): void {
    if (this.#fd !== undefined) writeAll(this.#fd, bytes, at)
  }
}

class Room {
  readonly #bytesMax: number
  takenBytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  takeBlock(): void {
    this.takenBytes += diskBlockBytes
    if (this.takenBytes > this.#bytesMax)
      throw new StepError('disk_full', 'The files of the backup are more than the bot may have.')
  }
}

function isZeros(piece: Buffer, from: number, to: number): boolean {
  return piece[from] === 0 && piece.compare(zeros, 0, to - from, from, to) === 0
}

function writeAll(fd: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done)
}

function bytesOf(name: string): Buffer {
  return Buffer.from(name, 'latin1')
}

function child(fd: number, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name])
}

function invalid(why: string): StepError {
  return new StepError('backup_invalid', `The backup is broken: ${why}.`)
}

/** Pieces of a stream of bytes, of whatever length they are wanted. */
class Reader {
  readonly #chunks: AsyncIterator<Buffer>
  #chunk: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  /** At least one byte, and at most so many. */
  async some(bytesMax: number): Promise<Buffer> {
    while (this.#chunk.length === 0) {
      const next = await this.#chunks.next()
      if (next.done) throw invalid('it ends in the middle')
      this.#chunk = next.value
    }
    const piece = this.#chunk.subarray(0, Math.min(bytesMax, pieceBytesMax))
    this.#chunk = this.#chunk.subarray(piece.length)
    return piece
  }

  async take(bytes: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    for (let left = bytes; left > 0; ) {
      const piece = await this.some(left)
      pieces.push(piece)
      left -= piece.length
    }
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
  }

  async drain(): Promise<void> {
    while (!(await this.#chunks.next()).done);
  }

  async skip(bytes: number): Promise<void> {
    for (let left = bytes; left > 0; ) left -= (await this.some(left)).length
  }
}
