import { randomBytes } from 'node:crypto'

/** Every kind of record has a prefix of its own. */
export type IdPrefix =
  | 'usr'
  | 'bot'
  | 'key'
  | 'ses'
  | 'aud'
  | 'dev'
  | 'inv'
  | 'dep'
  | 'ins'
  | 'evt'
  | 'whs'
  | 'dlv'
  | 'clm'
  | 'nod'
  | 'reg'
  | 'rpt'
  | 'bak'
  | 'res'

// Crockford's alphabet in lower case: no i, l, o, u.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** A prefix, `_` and a UUIDv7 in 26 base32 characters: ids sort by the time at which they were made. */
export function newId(prefix: IdPrefix, now: Date): string {
  const bytes = randomBytes(16)
  const { time, count } = nextInstant(now.getTime())
  bytes.writeUIntBE(time, 0, 6)
  bytes.writeUInt16BE(0x7000 | count, 6)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return `${prefix}_${base32(bytes)}`
}

/** Those made before that time sort before it, all others after it. */
export function firstIdAt(prefix: IdPrefix, time: Date): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(time.getTime(), 0, 6)
  return `${prefix}_${base32(bytes)}`
}

let last = { time: 0, count: 0 }

/** Within one millisecond a counter of 12 bits keeps the order in which this process made the ids. */
function nextInstant(now: number): { time: number; count: number } {
  if (now > last.time) last = { time: now, count: 0 }
  else if (last.count < 0xfff) last = { time: last.time, count: last.count + 1 }
  else last = { time: last.time + 1, count: 0 }
  return last
}

/** 128 bits in 26 characters of 5; the two spare bits come first. */
function base32(bytes: Buffer): string {
  let value = (bytes.readBigUInt64BE(0) << 64n) | bytes.readBigUInt64BE(8)
  let text = ''
  for (let index = 0; index < 26; index++) {
    text = alphabet[Number(value & 31n)] + text
    value >>= 5n
  }
  return text
}
