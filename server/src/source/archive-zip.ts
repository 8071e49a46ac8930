import { isUtf8 } from 'node:buffer'
import { type FileHandle, open } from 'node:fs/promises'
import { crc32, inflateRawSync } from 'node:zlib'
import { type Entry, getFileNameLowLevel, openPromise, type ZipFile } from 'yauzl'
import { type ArchiveTree, quote, refuse } from './archive-tree.ts'

interface Options {
  readonly entriesMax: number
  readonly signal?: AbortSignal
}

interface Source {
  readonly zip: ZipFile
  readonly file: FileHandle
}

export async function unpackZip(path: string, tree: ArchiveTree, options: Options): Promise<void> {
  await using file = await open(path)
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false, decodeStrings: false })
  try {
    if (zip.entryCount > options.entriesMax) refuse(`It has more than ${options.entriesMax} entries.`)
    for await (const entry of zip.eachEntry()) {
      options.signal?.throwIfAborted()
      await addEntry({ zip, file }, entry, tree)
    }
  } finally {
    zip.close()
  }
}

const typeMask = 0o170000
const types = { file: 0o100000, folder: 0o040000, symlink: 0o120000 }

async function addEntry(source: Source, entry: Entry, tree: ArchiveTree): Promise<void> {
  const name = nameOf(entry)
  if (entry.isEncrypted()) refuse(`${quote(name)} is encrypted.`)
  const mode = unixMode(entry)
  const type = mode & typeMask
  if (name.endsWith('/') || type === types.folder) return tree.addFolder(name)
  if (type !== 0 && type !== types.file && type !== types.symlink) {
    refuse(`${quote(name)} is neither a file nor a folder nor a link.`)
  }
  const data = checkSum(entry, name, readData(source, entry))
  if (type === types.symlink) return tree.addSymlink(name, await readTarget(name, data))
  await tree.addFile(name, { isExecutable: (mode & 0o111) !== 0, declaredBytes: entry.uncompressedSize }, data)
}

/** macOS and others write UTF-8 without saying so; text in the old code page is hardly ever valid UTF-8 by chance. */
function nameOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  const flags = isUtf8(fileNameRaw) ? generalPurposeBitFlag | 0x800 : generalPurposeBitFlag
  return getFileNameLowLevel(flags, fileNameRaw, extraFields, false)
}

/** Only archives made on Unix (3) or macOS (19) say anything about permissions and links. */
function unixMode({ versionMadeBy, externalFileAttributes }: Entry): number {
  return [3, 19].includes(versionMadeBy >>> 8) ? externalFileAttributes >>> 16 : 0
}

const smallBytes = 256 * 1024
const deflated = 8

/** Small files are inflated at once: the three streams that the library makes for each cost more than the work. */
async function* readData({ zip, file }: Source, entry: Entry): AsyncGenerator<Buffer> {
  const { compressedSize, uncompressedSize, compressionMethod } = entry
  if (compressionMethod !== deflated || compressedSize > smallBytes || uncompressedSize > smallBytes) {
    yield* (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>
    return
  }
  const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true })
  const packed = Buffer.alloc(compressedSize)
  await file.read(packed, 0, compressedSize, fileDataStart)
  const data = inflateRawSync(packed, { maxOutputLength: Math.max(uncompressedSize, 1) })
  if (data.length !== uncompressedSize) refuse(`${quote(nameOf(entry))} is not as large as it says.`)
  yield data
}

/** The library compares sizes, but not the checksum. */
async function* checkSum(entry: Entry, name: string, data: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let sum = 0
  for await (const chunk of data) {
    sum = crc32(chunk, sum)
    yield chunk
  }
  if (sum !== entry.crc32) refuse(`${quote(name)} does not match its checksum.`)
}

async function readTarget(name: string, data: AsyncIterable<Buffer>): Promise<string> {
  let target = Buffer.alloc(0)
  for await (const chunk of data) {
    target = Buffer.concat([target, chunk])
    if (target.length > 4096) refuse(`${quote(name)} is a symlink to a path that is too long.`)
  }
  return target.toString()
}
