/*
 * The tar format as GNU tar writes it, for names and link targets of any bytes: a bot may call its files what it likes,
 * and pax headers would want UTF-8. Every `tar` reads it.
 */

export const blockBytes = 512
const nameBytes = 100
const longName = Buffer.from('././@LongLink')
const largestOctal = 0o77777777777

type EntryType = 'file' | 'folder' | 'link'

export interface Entry {
  readonly type: EntryType
  /** Without a slash at its end. */
  readonly path: Buffer
  readonly mode: number
  readonly modifiedAt: number
  readonly sizeBytes: number
  /** Of a link. */
  readonly target?: Buffer
}

const flags = { file: '0', folder: '5', link: '2' } as const

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

function encodeBlock({ path, mode, modifiedAt, sizeBytes, target, flag }: Fields): Buffer {
  const block = Buffer.alloc(blockBytes)
  path.copy(block, 0, 0, nameBytes)
  block.write(octal(mode, 7), 100, 'latin1')
  block.write(octal(0, 7), 108, 'latin1') // whose files they are is decided by whoever unpacks them
  block.write(octal(0, 7), 116, 'latin1')
  if (sizeBytes > largestOctal) {
    block[124] = 0x80
    block.writeBigUInt64BE(BigInt(sizeBytes), 128)
  } else block.write(octal(sizeBytes, 11), 124, 'latin1')
  block.write(octal(Math.min(Math.max(0, Math.floor(modifiedAt)), largestOctal), 11), 136, 'latin1')
  block.write('        ', 148, 'latin1')
  block.write(flag, 156, 'latin1')
  target.copy(block, 157, 0, nameBytes)
  block.write('ustar  \0', 257, 'latin1')
  block.write(`${octal(sumOf(block), 6)}\0 `, 148, 'latin1')
  return block
}

export interface Head extends Omit<Entry, 'type' | 'target'> {
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
    sizeBytes: block[124] === 0x80 ? Number(block.readBigUInt64BE(128)) : readOctal(block, 124, 12),
  }
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
