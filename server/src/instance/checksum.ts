import { open, stat } from 'node:fs/promises'
import { hashArchive } from '../backups/archive/archive.ts'
import { StartError } from '../lib/data-dir.ts'

/*
 * An archive ends with its own checksum, in a frame that zstd calls skippable: `tar --zstd` passes over it. What was cut
 * off has none, so the beginning of an archive is never taken for all of it.
 */

const label = Buffer.from('BOTBERTH')
const hashBytes = 32
const frameMagic = 0x184d2a5b
const headBytes = 8
const trailerBytes = headBytes + label.length + hashBytes

/** On the disk when this resolves. */
export async function addChecksum(file: string, checksum: string): Promise<void> {
  await using handle = await open(file, 'a')
  await handle.write(trailerOf(checksum))
  await handle.sync()
}

/** Returns how much of the file is the archive, if all of it is what it was when it was made. */
export async function verifyChecksum(file: string, signal: AbortSignal): Promise<number> {
  const { size } = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`${file} cannot be read: ${error.message}`, { cause: error })
  })
  const archiveBytes = size - trailerBytes
  const trailer = Buffer.alloc(trailerBytes)
  if (archiveBytes > 0) {
    await using handle = await open(file)
    await handle.read(trailer, 0, trailerBytes, archiveBytes)
  }
  if (!trailer.subarray(0, -hashBytes).equals(trailerOf('').subarray(0, -hashBytes)))
    throw new StartError(`${file} is no backup of an instance, or is not all of it. Nothing was changed.`)
  const { checksum } = await hashArchive(file, signal, archiveBytes)
  if (!trailerOf(checksum).equals(trailer))
    throw new StartError(`${file} is not what it was when it was made: its checksum is wrong. Nothing was changed.`)
  return archiveBytes
}

function trailerOf(checksum: string): Buffer {
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeUInt32LE(frameMagic, 0)
  trailer.writeUInt32LE(trailerBytes - headBytes, 4)
  label.copy(trailer, headBytes)
  trailer.write(checksum, headBytes + label.length, 'hex')
  return trailer
}
