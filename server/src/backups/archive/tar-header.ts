/*
 * The tar format as GNU tar writes it, for names and link targets of any bytes: a bot may call its files what it likes,
 * and pax headers would want UTF-8. Every `tar` reads it.
 */

export const blockBytes = 512
const nameBytes = 100
const longName = Buffer.from('././@LongLink')
const largestOctal = 0o77777777777

/** `name`: another one of a file that came before. */
type EntryType = 'file' | 'name' | 'folder' | 'link'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface Entry {
  readonly type: EntryType
  /** Without a slash at its end. */
  readonly path: Buffer
  readonly mode: number
  readonly modifiedAt: number
  readonly sizeBytes: number
  /** Where it matters: mostly whoever unpacks decides whose files they are. */
  readonly owner?: Owner | undefined
  /** Of a link, or the first name of the file. */
  readonly target?: Buffer
}

const flags = { file: '0', name: '1', folder: '5', link: '2' } as const

/** What stands before the bytes of an entry. */
export function encodeEntry(entry: Entry): Buffer {
  const path = entry.type === 'folder' ? Buffer.concat([entry.path, Buffer.from('/')]) : entry.path
  const target = entry.target ?? Buffer.alloc(0)
  return Buffer.concat([
    ...(target.length > nameBytes ? longBlocks('K', target) : []),
    ...(path.length > nameBytes ? longBlocks('L', path) : []),
    encodeBlock({ ...entry, path, target, flag: flags[entry.type] }),
  ])
}

/** So many bytes of zeros fill the last block. */
export function paddingOf(sizeBytes: number): number {
  return (blockBytes - (sizeBytes % blockBytes)) % blockBytes
}

function longBlocks(flag: string, value: Buffer): Buffer[] {
  const sizeBytes = value.length + 1
  const head = encodeBlock({ path: longName, target: Buffer.alloc(0), mode: 0, modifiedAt: 0, sizeBytes, flag })
  return [head, value, Buffer.alloc(1 + paddingOf(sizeBytes))]
}

interface Fields extends Omit<Entry, 'type'> {
  readonly target: Buffer
  readonly flag: string
}

function encodeBlock({ path, mode, modifiedAt, sizeBytes, owner, target, flag }: Fields): Buffer {
  const block = Buffer.alloc(blockBytes)
  path.copy(block, 0, 0, nameBytes)
  block.write(octal(mode, 7), 100, 'latin1')
  writeNumber(block, owner?.uid ?? 0, { at: 108, length: 8 })
  writeNumber(block, owner?.gid ?? 0, { at: 116, length: 8 })
  writeNumber(block, sizeBytes, { at: 124, length: 12 })
  block.write(octal(Math.min(Math.max(0, Math.floor(modifiedAt)), largestOctal), 11), 136, 'latin1')
  block.write('        ', 148, 'latin1')
  block.write(flag, 156, 'latin1')
  target.copy(block, 157, 0, nameBytes)
  block.write('ustar  \0', 257, 'latin1')
  block.write(`${octal(sumOf(block), 6)}\0 `, 148, 'latin1')
  return block
}

export interface Head extends Omit<Entry, 'type' | 'target'> {
  readonly owner: Owner
  /** One of tar's own letters. */
  readonly flag: string
  readonly target: Buffer
}

/** Undefined: a block of zeros, which ends an archive. Throws for whatever is no head. */
export function decodeBlock(block: Buffer): Head | undefined {
  if (block.every((byte) => byte === 0)) return undefined
  const sum = readOctal(block, 148, 8)
  const plain = Buffer.from(block)
  plain.fill(0x20, 148, 156)
  if (sumOf(plain) !== sum) throw new Error('the sum of a tar head is wrong')
  return {
    flag: String.fromCharCode(block[156] ?? 0),
    path: readText(block, 0, nameBytes),
    target: readText(block, 157, nameBytes),
    mode: readOctal(block, 100, 8) & 0o777,
    modifiedAt: readOctal(block, 136, 12),
    sizeBytes: readNumber(block, 124, 12),
    owner: { uid: readNumber(block, 108, 8), gid: readNumber(block, 116, 8) },
  }
}

/** In octal digits, or where those are too few as GNU tar does: in binary, which the first bit tells. */
function writeNumber(block: Buffer, value: number, { at, length }: { at: number; length: 8 | 12 }): void {
  if (value < 8 ** (length - 1)) {
    block.write(octal(value, length - 1), at, 'latin1')
    return
  }
  block[at] = 0x80
  block.writeUIntBE(value, at + length - 6, 6)
}

function readNumber(block: Buffer, at: number, length: 8 | 12): number {
  return block[at] === 0x80 ? block.readUIntBE(at + length - 6, 6) : readOctal(block, at, length)
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

function readOctal(block: Buffer, at: number, length: number): number {
  const text = block
    .toString('latin1', at, at + length)
    .replace(/\0.*$/s, '')
    .trim()
  if (!/^[0-7]{1,12}$/.test(text)) throw new Error('a number in a tar head is wrong')
  return Number.parseInt(text, 8)
}

function readText(block: Buffer, at: number, length: number): Buffer {
  const text = block.subarray(at, at + length)
  const end = text.indexOf(0)
  return Buffer.from(end < 0 ? text : text.subarray(0, end))
}

function sumOf(block: Buffer): number {
  let sum = 0
  // For each file of a tree: an iterator takes ten times as long.
  for (let at = 0; at < blockBytes; at++) sum += block[at] ?? 0
  return sum
}
