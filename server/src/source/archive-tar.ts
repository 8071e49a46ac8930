import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract, type Header } from 'tar-stream'
import { type ArchiveTree, quote, refuse } from './archive-tree.ts'

interface Options {
  readonly isGzipped: boolean
  readonly bytesMax: number
  readonly entriesMax: number
  readonly signal?: AbortSignal
}

export async function unpackTar(file: string, tree: ArchiveTree, options: Options): Promise<void> {
  const { isGzipped, signal } = options
  const entries = extract()
  const source = createReadStream(file)
  const meter = makeMeter(options)
  const feeding = isGzipped
    ? pipeline(source, createGunzip(), meter, entries, { signal })
    : pipeline(source, meter, entries, { signal })
  const isFed = feeding.then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  try {
    for await (const entry of entries) await addEntry(entry.header, entry as Body, tree)
  } catch (error) {
    entries.destroy()
    await isFed
    throw error
  }
  const failure = await isFed
  if (failure) throw failure.error
}

/**
 * Headers, extended headers and padding take no room on our disk, but a small archive could hold them without end.
 * 4 KiB an entry is more than honest ones need.
 */
function makeMeter({ bytesMax, entriesMax }: Options) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let left = bytesMax + (entriesMax + 256) * 4096
    for await (const chunk of chunks) {
      left -= chunk.length
      if (left < 0) refuse(`Unpacked it has more than ${bytesMax} bytes, or its headers are too large.`)
      yield chunk
    }
  }
}

interface Body extends AsyncIterable<Uint8Array> {
  resume(): unknown
}

async function addEntry(header: Header, body: Body, tree: ArchiveTree): Promise<void> {
  const { name, type, linkname, mode, size, pax } = header
  switch (type) {
    case 'file':
    case 'contiguous-file':
      if (Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse'))) refuse(`${quote(name)} is a sparse file.`)
      return tree.addFile(name, { isExecutable: (mode & 0o111) !== 0, declaredBytes: size }, body)
    case 'directory':
      tree.addFolder(name)
      break
    case 'symlink':
      tree.addSymlink(name, linkname)
      break
    case 'link':
      tree.addHardLink(name, linkname)
      break
    case 'block-device':
    case 'character-device':
    case 'fifo':
    default: // the library has null for what it does not know
      refuse(`${quote(name)} is neither a file nor a folder nor a link.`)
  }
  body.resume()
}
