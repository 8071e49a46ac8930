import { AppError } from '../lib/app-error.ts'

export interface ByteRange {
  readonly start: number
  /** The last byte, included. */
  readonly end: number
}

/**
 * The part of a file that a `Range` header asks for. Undefined: all of it, as for whatever is no range of bytes or more
 * than one, which a server may pass over.
 */
export function readByteRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === '' && last === '') return undefined
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  if (start > end || start >= sizeBytes)
    throw new AppError('range_not_satisfiable', { headers: { 'content-range': `bytes */${sizeBytes}` } })
  return { start, end }
}
