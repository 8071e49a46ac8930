import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { type Header, pack } from 'tar-stream'

export type TarEntry = Partial<Header> & { name: string; data?: string | Buffer }

export async function tarOf(...entries: TarEntry[]): Promise<Buffer> {
  const packed = pack()
  for (const { data = '', ...header } of entries) packed.entry(header, data)
  packed.finalize()
  const chunks: Uint8Array[] = []
  for await (const chunk of packed) chunks.push(chunk as Uint8Array)
  return Buffer.concat(chunks)
}

/** Texts by path, as `tar -cz` packs them. */
export async function tarGzOf(files: Record<string, string>): Promise<Buffer> {
  return gzipSync(await tarOf(...Object.entries(files).map(([name, data]) => ({ name, data }))))
}

/** Texts by path, as `zip` packs them. */
export function zipOf(files: Record<string, string>): Buffer {
  const [locals, centrals]: [Buffer[], Buffer[]] = [[], []]
  let offset = 0
  for (const [path, text] of Object.entries(files)) {
    const [name, data] = [Buffer.from(path), Buffer.from(text)]
    const packed = deflateRawSync(data)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0) // the version that is needed to unpack it
    common.writeUInt16LE(0x800, 2) // names are UTF-8
    common.writeUInt16LE(8, 4) // deflated
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    centrals.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), common, rest, name]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(centrals)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(centrals.length, 8)
  end.writeUInt16LE(centrals.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directory, end])
}
