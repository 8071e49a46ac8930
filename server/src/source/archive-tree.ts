import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../lib/app-error.ts'

interface Limits {
  readonly bytesMax: number
  readonly entriesMax: number
}

interface Link {
  readonly names: readonly string[]
  readonly target: string
}

/**
 * The tree that an archive is unpacked to. Symlinks are made last of all: until then there are only folders and files
 * that this very object has made, so nothing can be written through a link. System calls are synchronous, because
 * for thousands of small files waiting for each would take longer than the work; between chunks others get a turn.
 */
export class ArchiveTree {
  readonly #into: string
  readonly #limits: Limits
  readonly #kinds = new Map<string, 'file' | 'folder' | 'link'>()
  /** Of files, by their paths. */
  readonly #sizes = new Map<string, number>()
  readonly #links = new Map<string, Link>()
  #entries = 0
  #sizeBytes = 0

  constructor(into: string, limits: Limits) {
    this.#into = into
    this.#limits = limits
  }

  addFolder(name: string): void {
    this.#countEntry()
    const names = splitName(name)
    if (names.length > 0) this.#makeFolder(names, { isImplied: false })
  }

  async addFile(
    name: string,
    options: { isExecutable: boolean; declaredBytes: number },
    data: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    this.#countEntry()
    if (options.declaredBytes > this.#limits.bytesMax - this.#sizeBytes) this.#refuseSize()
    const names = splitName(name)
    const path = this.#claim(name, names, 'file')
    const before = this.#sizeBytes
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
    const fd = openSync(path, flags, 0o600)
    try {
      for await (const chunk of data) {
        this.#countBytes(chunk.length)
        for (let done = 0; done < chunk.length; ) done += writeSync(fd, chunk, done)
      }
      fchmodSync(fd, options.isExecutable ? 0o755 : 0o644)
    } finally {
      closeSync(fd)
    }
    this.#sizes.set(names.join('/'), this.#sizeBytes - before)
  }

  addSymlink(name: string, target: string): void {
    this.#countEntry()
    const names = splitName(name)
    this.#claim(name, names, 'link')
    this.#links.set(names.join('/'), { names, target })
  }

  /** It counts as what it leads to: whoever copies the tree makes a file of each. */
  addHardLink(name: string, target: string): void {
    this.#countEntry()
    const original = splitName(target).join('/')
    const names = splitName(name)
    if (this.#kinds.get(original) !== 'file' || original === names.join('/')) {
      refuse(`${quote(name)} is a hard link to ${quote(target)}, which is no file of the archive before it.`)
    }
    const sizeBytes = this.#sizes.get(original) ?? 0
    this.#countBytes(sizeBytes)
    link(join(this.#into, original), this.#claim(name, names, 'file'))
    this.#sizes.set(names.join('/'), sizeBytes)
  }

  /** Takes off the outer folder, then makes the symlinks. */
  finish(): { files: number; sizeBytes: number } {
    const tops = new Set([...this.#kinds.keys()].map((path) => path.split('/', 1)[0] ?? ''))
    const [top = ''] = tops
    const isWrapped = tops.size === 1 && this.#kinds.get(top) === 'folder'
    if (isWrapped) this.#unwrap(top)
    for (const { names, target } of this.#links.values()) {
      const inside = isWrapped ? names.slice(1) : names
      checkTarget(inside, target)
      symlinkSync(target, join(this.#into, ...inside))
    }
    const files = [...this.#kinds.values()].filter((kind) => kind === 'file').length
    return { files, sizeBytes: this.#sizeBytes }
  }

  #unwrap(top: string): void {
    // Under another name first, because the folder may hold one of its own name.
    const wrapper = join(this.#into, `.unpacked-${randomBytes(12).toString('hex')}`)
    renameSync(join(this.#into, top), wrapper)
    for (const name of readdirSync(wrapper)) renameSync(join(wrapper, name), join(this.#into, name))
    rmdirSync(wrapper)
  }

  /** Makes sure that nothing stands at this place and a folder is around it. */
  #claim(name: string, names: readonly string[], kind: 'file' | 'link'): string {
    if (names.length === 0) refuse(`${quote(name)} has no name.`)
    this.#makeFolder(names.slice(0, -1))
    const key = names.join('/')
    const path = join(this.#into, key)
    const former = this.#kinds.get(key)
    if (former !== undefined && former !== kind) refuse(`${quote(name)} is there twice, as a ${former} and a ${kind}.`)
    if (former === 'file') unlinkSync(path) // the last one counts, as with tar
    this.#kinds.set(key, kind)
    return path
  }

  #makeFolder(names: readonly string[], { isImplied } = { isImplied: true }): void {
    const key = names.join('/')
    if (names.length === 0 || this.#kinds.get(key) === 'folder') return
    this.#makeFolder(names.slice(0, -1))
    const former = this.#kinds.get(key)
    if (former !== undefined) refuse(`${quote(key)} is there twice, as a ${former} and a folder.`)
    if (isImplied) this.#countEntry() // a few long names could stand for millions of folders
    const path = join(this.#into, key)
    mkdirSync(path)
    chmodSync(path, 0o755)
    this.#kinds.set(key, 'folder')
  }

  #countEntry(): void {
    this.#entries++
    if (this.#entries > this.#limits.entriesMax) refuse(`It has more than ${this.#limits.entriesMax} entries.`)
  }

  #countBytes(count: number): void {
    this.#sizeBytes += count
    if (this.#sizeBytes > this.#limits.bytesMax) this.#refuseSize()
  }

  #refuseSize(): never {
    return refuse(`Unpacked it has more than ${this.#limits.bytesMax} bytes.`)
  }
}

function link(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMLINK') throw error
    refuse('It has more hard links to one file than a file can have here.')
  }
}

export function refuse(detail: string): never {
  throw new AppError('archive_invalid', { detail })
}

/** A name for a message: control characters escaped, and no longer than one wants to read. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)
}

/** `./a//b/` is `a`, `b`, as for tar. What would lead out of the tree is refused. */
function splitName(name: string): string[] {
  if (name.startsWith('/')) refuse(`${quote(name)} is an absolute path.`)
  if (name.includes('\0')) refuse(`${quote(name)} has a NUL character in it.`)
  // Paths of the system end at 4096 bytes, and the folder that we unpack to takes its part of them.
  if (Buffer.byteLength(name) > 2048) refuse(`${quote(name)} is too long.`)
  const names = name.split('/').filter((part) => part !== '' && part !== '.')
  if (names.includes('..')) refuse(`${quote(name)} leads out of the archive.`)
  if (names.some((part) => Buffer.byteLength(part) > 255)) refuse(`${quote(name)} has a part of more than 255 bytes.`)
  return names
}

/**
 * `..` may only come first: behind a name that is itself a link it would lead on from where that link leads, which
 * could be the top of the tree. So every link ends inside, however they are chained.
 */
function checkTarget(names: readonly string[], target: string): void {
  const link = `${quote(names.join('/'))} is a symlink to ${quote(target)}`
  if (target === '' || target.includes('\0') || Buffer.byteLength(target) > 2048) refuse(`${link}, which is no path.`)
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const ups = parts.findIndex((part) => part !== '..')
  const levels = ups === -1 ? parts.length : ups
  if (target.startsWith('/') || levels >= names.length || parts.slice(levels).includes('..')) {
    refuse(`${link}, which may lead out of the archive.`)
  }
}
