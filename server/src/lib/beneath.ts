import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises'
import { pipeline, Readable, Transform } from 'node:stream'
import { AppError, validationError } from './app-error.ts'
import { removeEntry } from './beneath-remove.ts'
import { isDiskFull } from './disk-full.ts'

/*
 * Files below a folder whose owner is hostile and at work meanwhile: a name that was a folder when it was looked at
 * may be a symlink when it is used. So no path is ever given to the kernel as a whole. Each folder is opened from
 * the one above, through `/proc/self/fd`, and symlinks are refused by the kernel itself. Linux only.
 */

/** The names of a path such as `src/bot.js`. A path that could lead elsewhere is refused, not mended. */
export function splitPath(path: string): string[] {
  const names = path.split('/')
  const problem = Buffer.byteLength(path) > 4096 ? 'may have at most 4096 bytes' : names.map(findProblem).find(Boolean)
  if (problem) throw validationError([{ pointer: '/path', detail: problem }])
  return names
}

function findProblem(name: string): string | undefined {
  if (name === '') return 'has an empty name in it'
  if (name === '.' || name === '..') return 'may not hold . or ..'
  if (name.includes('\0')) return 'may not hold a NUL character'
  if (!name.isWellFormed()) return 'is not valid Unicode'
  return Buffer.byteLength(name) > 255 ? 'has a name of more than 255 bytes' : undefined
}

/** A regular file and nothing else. The caller closes the handle. */
export async function openForRead(root: string, path: string): Promise<{ handle: FileHandle; sizeBytes: number }> {
  const names = splitPath(path)
  const name = names.pop() ?? ''
  await using folder = await openFolder(root, names)
  // Without O_NONBLOCK opening a FIFO would wait for a writer for ever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
  const handle = await open(child(folder, name), flags).catch(throwNotFound)
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new AppError('not_found')
    return { handle, sizeBytes: stats.size }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * A regular file as a stream of exactly as many bytes as it has now: what is added meanwhile is left out, and if it is
 * cut short the stream fails, so that nobody waits for the rest. The caller reads or destroys it.
 */
export async function streamBeneath(root: string, path: string): Promise<{ stream: Readable; sizeBytes: number }> {
  const { handle, sizeBytes } = await openForRead(root, path)
  if (sizeBytes === 0) {
    await handle.close()
    return { stream: Readable.from([]), sizeBytes }
  }
  let missing = sizeBytes
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      missing -= chunk.length
      done(null, chunk)
    },
    flush: (done) => done(missing > 0 ? new Error('the file was cut short while it was read') : null),
  })
  const source = handle.createReadStream({ start: 0, end: sizeBytes - 1 })
  // Whoever reads learns of a failure from the stream itself.
  pipeline(source, counted, () => undefined)
  return { stream: counted, sizeBytes }
}

/** The whole file. One with more than `bytesMax` is `payload_too_large`, also if it grows while it is read. */
export async function readBeneath(root: string, path: string, options: { bytesMax: number }): Promise<Buffer> {
  const { bytesMax } = options
  const { handle, sizeBytes } = await openForRead(root, path)
  await using _ = handle
  const blocks: Buffer[] = []
  let total = 0
  while (total <= bytesMax) {
    const length = Math.min(Math.max(sizeBytes - total + 1, 4096), 1024 * 1024)
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, total)
    if (bytesRead === 0) return Buffer.concat(blocks, total)
    blocks.push(buffer.subarray(0, bytesRead))
    total += bytesRead
  }
  throw new AppError('payload_too_large', { detail: `The file has more than ${bytesMax} bytes.` })
}

/**
 * Puts a file in place as a whole, with the folders that lead to it. Whoever reads meanwhile gets the old one or the
 * new one. A symlink of that name is replaced, a folder is not.
 */
export async function writeBeneath(
  root: string,
  path: string,
  data: Buffer | AsyncIterable<Uint8Array>,
): Promise<void> {
  const names = splitPath(path)
  const name = names.pop() ?? ''
  const owner = await findOwner(root)
  await using folder = await openFolder(root, names, owner)
  const draft = child(folder, `.draft-${randomBytes(12).toString('hex')}`)
  const mode = await findMode(child(folder, name))
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const handle = await open(draft, flags, 0o600).catch(throwInTheWay)
  try {
    try {
      await handle.writeFile(data).catch(throwRefused)
      await giveTo(handle, owner)
      await handle.chmod(mode)
      await handle.datasync().catch(throwRefused) // else a crash of the machine could leave the name with an empty file
    } finally {
      await handle.close()
    }
    await rename(draft, child(folder, name)).catch(throwInTheWay)
  } catch (error) {
    await unlink(draft).catch(() => undefined) // the first error is the one to tell
    throw error
  }
}

/** A file that is replaced keeps its permissions, so that editing a script leaves it executable. */
async function findMode(path: string): Promise<number> {
  const stats = await lstat(path).catch(() => undefined)
  return stats?.isFile() ? stats.mode & 0o777 : 0o644
}

/** A file, a symlink itself, or a folder with all that is in it. False if there is nothing of that name. */
export async function removeBeneath(root: string, path: string): Promise<boolean> {
  const names = splitPath(path)
  const name = names.pop() ?? ''
  try {
    await using folder = await openFolder(root, names)
    return await removeEntry(folder, name)
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false
    throw asRefused(error)
  }
}

export interface BeneathEntry {
  name: string
  type: 'file' | 'folder' | 'other'
  sizeBytes: number
  modifiedAt: Date
}

// A hostile folder may hold millions of names, and nobody looks through more than this.
const entriesMax = 10_000

/** What a folder holds, by name; the root itself for an empty path. More than 10,000 entries are refused. */
export async function listBeneath(root: string, path: string): Promise<BeneathEntry[]> {
  await using folder = await openFolder(root, path === '' ? [] : splitPath(path))
  const names = await readdir(child(folder, '.'))
  if (names.length > entriesMax) {
    throw new AppError('invalid_state', { detail: `The folder has more than ${entriesMax} entries.` })
  }
  const entries: BeneathEntry[] = []
  for (const name of names.toSorted()) {
    const stats = await lstat(child(folder, name)).catch(() => undefined) // gone since, or its name is no UTF-8
    if (stats) entries.push({ name, type: typeOf(stats), sizeBytes: stats.size, modifiedAt: stats.mtime })
  }
  return entries
}

function typeOf(stats: Stats): BeneathEntry['type'] {
  if (stats.isFile()) return 'file'
  return stats.isDirectory() ? 'folder' : 'other'
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

async function findOwner(root: string): Promise<Owner> {
  await using folder = await openRoot(root)
  const { uid, gid } = await folder.stat()
  return { uid, gid }
}

/** Only root can give things away; everybody else owns the root folder already. */
async function giveTo(handle: FileHandle, owner: Owner): Promise<void> {
  if (process.getuid?.() === 0) await handle.chown(owner.uid, owner.gid)
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

function openRoot(root: string): Promise<FileHandle> {
  return open(root, folderFlags).catch(throwNotFound)
}

/** With an owner the folders that are missing are made, and given to it. */
async function openFolder(root: string, names: readonly string[], owner?: Owner): Promise<FileHandle> {
  let folder = await openRoot(root)
  for (const name of names) {
    await using parent = folder
    const path = child(parent, name)
    folder = await (owner ? openOrMake(path, owner) : open(path, folderFlags).catch(throwNotFound))
  }
  return folder
}

async function openOrMake(path: string, owner: Owner): Promise<FileHandle> {
  const existing = await open(path, folderFlags).catch((error: unknown) =>
    codeOf(error) === 'ENOENT' ? undefined : throwInTheWay(error),
  )
  if (existing) return existing
  const isMade = await mkdir(path, 0o755).then(
    () => true,
    (error: unknown) => (codeOf(error) === 'EEXIST' ? false : throwInTheWay(error)),
  )
  const folder = await open(path, folderFlags).catch(throwInTheWay)
  // Somebody may have put another folder there in between; only one that is still ours is given away.
  if (isMade && (await folder.stat()).uid === process.getuid?.()) {
    await giveTo(folder, owner)
    await folder.chmod(0o755)
  }
  return folder
}

function child(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}

function throwRefused(error: unknown): never {
  throw asRefused(error)
}

/** Symlinks, sockets and what is no folder are as good as not there. */
function throwNotFound(error: unknown): never {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENODEV', 'EISDIR', 'ENAMETOOLONG'].includes(codeOf(error)))
    throw new AppError('not_found', { cause: error })
  throw asRefused(error)
}

function throwInTheWay(error: unknown): never {
  if (['ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(codeOf(error)))
    throw new AppError('invalid_state', { detail: 'Something else of that name is in the way.', cause: error })
  throw asRefused(error)
}

/** A bot can take away our right to its own files, if we run as its user; and it can fill its disk. */
function asRefused(error: unknown): unknown {
  if (isDiskFull(error))
    return new AppError('limit_reached', {
      detail: 'The disk of this bot is full. Delete some of its files first.',
      cause: error,
    })
  if (!['EACCES', 'EPERM'].includes(codeOf(error))) return error
  return new AppError('invalid_state', { detail: 'The permissions of the file do not allow that.', cause: error })
}
