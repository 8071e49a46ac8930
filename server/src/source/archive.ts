import { open } from 'node:fs/promises'
import { AppError } from '../lib/app-error.ts'
import { unpackTar } from './archive-tar.ts'
import { ArchiveTree, refuse } from './archive-tree.ts'
import { unpackZip } from './archive-zip.ts'

export interface UnpackOptions {
  readonly bytesMax: number
  /** Files, folders and links together. */
  readonly entriesMax: number
  readonly signal?: AbortSignal
}

/**
 * Unpacks a `.tar.gz`, `.tar` or `.zip`, whatever it is called, into an empty folder that nobody else writes to. A
 * single folder around everything, as code hosts add it, is taken off. An archive that is broken or hostile is
 * `archive_invalid`; what was unpacked until then is left for the caller to remove.
 */
export async function unpack(
  archiveFile: string,
  into: string,
  options: UnpackOptions,
): Promise<{ files: number; sizeBytes: number }> {
  const tree = new ArchiveTree(into, options)
  const format = await findFormat(archiveFile)
  try {
    if (format === 'zip') await unpackZip(archiveFile, tree, options)
    else await unpackTar(archiveFile, tree, { ...options, isGzipped: format === 'tar.gz' })
  } catch (error) {
    options.signal?.throwIfAborted()
    throw asInvalid(error)
  }
  return tree.finish()
}

async function findFormat(file: string): Promise<'zip' | 'tar' | 'tar.gz'> {
  await using handle = await open(file)
  const { buffer: start } = await handle.read(Buffer.alloc(512), 0, 512, 0)
  if (start.readUInt16BE(0) === 0x1f8b) return 'tar.gz'
  if (['PK\x03\x04', 'PK\x05\x06'].includes(start.toString('latin1', 0, 4))) return 'zip'
  if (start.toString('latin1', 257, 262) === 'ustar') return 'tar'
  return refuse('It is not a .tar.gz, .tar or .zip file.')
}

/** What the libraries and zlib throw is about the archive; what the kernel says no to is our own trouble. */
function asInvalid(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError || 'syscall' in error) return error
  return new AppError('archive_invalid', {
    detail: `The archive is broken: ${error.message.slice(0, 300)}`,
    cause: error,
  })
}
