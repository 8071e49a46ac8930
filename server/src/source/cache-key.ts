import { createHash } from 'node:crypto'

/**
 * Names an installation by everything that decides its content. Each part is written with its length, so that two
 * different lists never give the same key.
 */
export function cacheKey(parts: readonly (string | undefined)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) {
    hash.update(part === undefined ? '-' : `${Buffer.byteLength(part)}:`)
    hash.update(part ?? '')
  }
  return hash.digest('hex')
}
