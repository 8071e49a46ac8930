import { fstatSync } from 'node:fs'

// As many as are found in the largest trees of packages. A bot can give all of its files two names, and we remember the first
// of each: what is beyond this is packed once for each name.
const filesMax = 50_000
const pathBytesMax = 8 * 1024 * 1024
// Fewer than any file system allows: after these it is packed once more.
const namesMax = 30_000

/** The files of a tree that have several names, each by the first name that it was packed by. */
export class SeenFiles {
  /** Paths as texts of one byte a character: small buffers would keep the large one that they were cut from. */
  readonly #files = new Map<string, { readonly path: string; left: number }>()
  #pathBytes = 0

  find(fd: number): Buffer | undefined {
    const key = keyOf(fd)
    const file = this.#files.get(key)
    if (file && --file.left === 0) this.#forget(key, file.path)
    return file && Buffer.from(file.path, 'latin1')
  }

  add(fd: number, path: Buffer, names: number): void {
    if (this.#files.size >= filesMax || this.#pathBytes + path.length > pathBytesMax) return
    this.#pathBytes += path.length
    this.#files.set(keyOf(fd), { path: path.toString('latin1'), left: Math.min(names, namesMax) - 1 })
  }

  #forget(key: string, path: string): void {
    this.#files.delete(key)
    this.#pathBytes -= path.length
  }
}

/** With its birth: the number of a file that is gone is given to the next. */
function keyOf(fd: number): string {
  const { dev, ino, birthtimeNs } = fstatSync(fd, { bigint: true })
  return `${dev} ${ino} ${birthtimeNs}`
}
