import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, type FileHandle, open, opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { AppError } from './app-error.ts'

type Name = string | Buffer

// Enough for whoever changes the tree by chance; who does so on purpose is told to stop first.
const triesMax = 20

/** Removes a name from a folder that is open, with all that is below it. False if it is not there. */
export async function removeEntry(folder: FileHandle, name: Name): Promise<boolean> {
  for (let tries = 0; tries < triesMax; tries++) {
    const found = await unlinkEntry(folder, name)
    if (found !== 'folder') return found === 'removed' || tries > 0
    const inner = await openToEmpty(folder, name)
    if (inner === 'gone' || inner === 'other') continue // swapped for something else since: look again
    await using _ = inner
    await empty(inner)
    if (await tryRmdir(folder, name)) return true
  }
  throw new AppError('invalid_state', { detail: 'The folder keeps changing while it is removed. Stop the bot first.' })
}

/**
 * Every folder that is not empty is first moved up to this one. So any depth needs two open folders only: a hostile
 * tree can be far deeper than there are file descriptors, or than the longest path that the kernel takes.
 */
async function empty(folder: FileHandle): Promise<void> {
  for (let isDone = false; !isDone; ) {
    isDone = true
    for await (const name of namesIn(folder)) {
      if ((await tryUnlink(folder, name)) || (await tryRmdir(folder, name))) continue
      const inner = await openToEmpty(folder, name)
      if (typeof inner === 'string') continue
      await using _ = inner
      for await (const innerName of namesIn(inner)) {
        if ((await tryUnlink(inner, innerName)) || (await tryRmdir(inner, innerName))) continue
        await moveUp(inner, innerName, folder)
        isDone = false
      }
      if (!(await tryRmdir(folder, name))) isDone = false
    }
  }
}

async function moveUp(from: FileHandle, name: Name, to: FileHandle): Promise<void> {
  const target = child(to, `.removed-${randomBytes(12).toString('hex')}`)
  try {
    await rename(child(from, name), target)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    if (!isRefusal(error)) throw error
    await allow(from, name)
    await rename(child(from, name), target)
  }
}

async function* namesIn(folder: FileHandle): AsyncGenerator<Buffer> {
  // As bytes, because names need not be UTF-8; bit by bit, because there may be millions.
  const entries = await opendir(child(folder, '.'), { encoding: 'buffer' as BufferEncoding })
  for await (const entry of entries) yield entry.name as unknown as Buffer
}

/** False if it is a folder. What is gone already counts as removed. */
async function tryUnlink(folder: FileHandle, name: Name): Promise<boolean> {
  return (await unlinkEntry(folder, name)) !== 'folder'
}

async function unlinkEntry(folder: FileHandle, name: Name): Promise<'removed' | 'gone' | 'folder'> {
  try {
    await unlink(child(folder, name))
    return 'removed'
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'gone'
    if (['EISDIR', 'EPERM'].includes(codeOf(error))) return 'folder' // EPERM is what POSIX has for folders
    throw error
  }
}

/** False if it is not empty, or no folder. */
async function tryRmdir(folder: FileHandle, name: Name): Promise<boolean> {
  try {
    await rmdir(child(folder, name))
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(codeOf(error))) return false
    throw error
  }
}

async function openToEmpty(folder: FileHandle, name: Name): Promise<FileHandle | 'gone' | 'other'> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
  try {
    const handle = await open(child(folder, name), flags).catch(async (error: unknown) => {
      if (!isRefusal(error)) throw error
      await allow(folder, name)
      return open(child(folder, name), flags)
    })
    // Its owner may have taken the right to change it from himself, which stops everybody but root.
    if (process.getuid?.() !== 0) await handle.chmod(0o700)
    return handle
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'gone'
    if (['ENOTDIR', 'ELOOP'].includes(codeOf(error))) return 'other'
    throw error
  }
}

// Not among Node's constants; the same number on x86 and ARM. It opens a thing without needing any right to it.
const O_PATH = 0o10000000

/** Gives us the right to a folder, by its handle: by its name a symlink could send us to another one. */
async function allow(folder: FileHandle, name: Name): Promise<void> {
  await using handle = await open(child(folder, name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  await chmod(`/proc/self/fd/${handle.fd}`, 0o700)
}

function child(folder: FileHandle, name: Name): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), Buffer.from(name as Buffer)])
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}

function isRefusal(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(codeOf(error))
}
