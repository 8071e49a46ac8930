import { createReadStream, mkdirSync } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { StepError } from '../lib/step-error.ts'
import { hashArchive } from './archive/archive.ts'

/** Which archive. */
export interface ArchiveKey {
  readonly botId: string
  readonly id: string
}

export interface Kept {
  readonly sizeBytes: number
  readonly checksum: string
}

export interface Fetched {
  readonly folder: string
  readonly sizeBytes: number
  readonly signal: AbortSignal
}

/** Keeps archives. They are whole or not there. */
export interface Store {
  readonly kind: 'disk' | 's3'
  /** Takes a file that is complete; durable when this resolves. */
  keep(key: ArchiveKey, file: string, kept: Kept & { signal: AbortSignal }): Promise<void>
  /** What is kept already: a server that was killed may have come that far. */
  find(key: ArchiveKey, signal: AbortSignal): Promise<Kept | undefined>
  /** From the first to the last byte, both included. Undefined: it is gone. */
  read(key: ArchiveKey, range: { start: number; end: number }): Promise<Readable | undefined>
  /**
   * As a file of this machine, below `folder` if it has to be fetched. Rejects with a StepError if it is gone, or not as
   * large as it was.
   */
  fetch(key: ArchiveKey, wanted: Fetched): Promise<string>
  remove(key: ArchiveKey): Promise<void>
  removeAll(botId: string): Promise<void>
}

export function archiveGone(cause?: unknown): StepError {
  return new StepError('archive_gone', 'The archive of this backup is not there any more.', { cause })
}

export function archiveChanged(): StepError {
  return new StepError('checksum_mismatch', 'The archive is not what it was when it was made. Nothing was changed.')
}

/** Below the data directory. */
export class DiskStore implements Store {
  readonly kind = 'disk'
  readonly #folder: string

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'backups', 'archives')
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
  }

  #of({ botId, id }: ArchiveKey): string {
    return join(this.#folder, botId, `${id}.tar.zst`)
  }

  /** The file was synced by whoever wrote it: only its name has to follow. */
  async keep(key: ArchiveKey, file: string): Promise<void> {
    const to = this.#of(key)
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    await rename(file, to)
    for (const path of [dirname(to), this.#folder]) {
      await using folder = await open(path)
      await folder.sync()
    }
  }

  async find(key: ArchiveKey, signal: AbortSignal): Promise<Kept | undefined> {
    return (await isThere(this.#of(key))) ? hashArchive(this.#of(key), signal) : undefined
  }

  async read(key: ArchiveKey, range: { start: number; end: number }): Promise<Readable | undefined> {
    return (await isThere(this.#of(key))) ? createReadStream(this.#of(key), range) : undefined
  }

  async fetch(key: ArchiveKey): Promise<string> {
    if (!(await isThere(this.#of(key)))) throw archiveGone()
    return this.#of(key)
  }

  async remove(key: ArchiveKey): Promise<void> {
    await rm(this.#of(key), { force: true })
  }

  async removeAll(botId: string): Promise<void> {
    await rm(join(this.#folder, botId), { recursive: true, force: true })
  }
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
