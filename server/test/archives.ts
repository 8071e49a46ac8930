import { createReadStream } from 'node:fs'
import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { type Header, pack } from 'tar-stream'
import { decompressFrames } from '../src/backups/archive/frames.ts'

export type TarEntry = Partial<Header> & { name: string; data?: string | Buffer }

export async function tarOf(...entries: TarEntry[]): Promise<Buffer> {
  const packed = pack()
  for (const { data = '', ...header } of entries) packed.entry(header, data)
  packed.finalize()
  const chunks: Uint8Array[] = []
  for await (const chunk of packed) chunks.push(chunk as Uint8Array)
  return Buffer.concat(chunks)
}

/** The whole tar of a backup: what Node.js itself decompresses ends with the first frame, which is a mebibyte. */
export async function tarOfBackup(file: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of decompressFrames(createReadStream(file))) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Texts by path, as `tar -cz` packs them. */
export async function tarGzOf(files: Record<string, string>): Promise<Buffer> {
  return gzipSync(await tarOf(...Object.entries(files).map(([name, data]) => ({ name, data }))))
}

/** Texts by path, as `zip` packs them. */
export function zipOf(files: Record<string, string>): Buffer {
  return zipOfEntries(...Object.entries(files).map(([name, text]) => ({ name, data: Buffer.from(text) })))
}

/** What an honest packer writes, unless it says otherwise. */
interface ZipEntry {
  name: string
  data?: Buffer
  mode?: number
  flags?: number
  /** What the headers say, where that is not the truth. */
  size?: number
  sum?: number
  /** Uses the data of the entry before it. */
  isOverlapping?: boolean
}

export function zipOfEntries(...entries: ZipEntry[]): Buffer {
  const locals: Buffer[] = []
  const centrals: Buffer[] = []
  let [offset, dataAt] = [0, 0]
  for (const {
    name,
    data = Buffer.alloc(0),
    mode = 0o100644,
    flags = 0x800,
    isOverlapping = false,
    ...lies
  } of entries) {
    const packed = deflateRawSync(data)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(flags, 2)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(lies.sum ?? crc32(data), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(lies.size ?? data.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    if (!isOverlapping) {
      dataAt = offset
      locals.push(Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed)
      offset += 30 + Buffer.byteLength(name) + packed.length
    }
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE((mode << 16) >>> 0, 6)
    rest.writeUInt32LE(dataAt, 10)
    centrals.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), fields, rest, Buffer.from(name))
  }
  const central = Buffer.concat(centrals)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, central, end])
}
