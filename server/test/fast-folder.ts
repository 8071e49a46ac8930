import { existsSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'

// A whole run stays below it.
const fastBytesMin = 2 * 1024 ** 3

/** A folder in memory where there is plenty: many small files take a disk ten times as long. */
export function fastFolder(): string {
  const memory = '/dev/shm'
  const isMemory = existsSync(memory) && statfsSync(memory).type === 0x0102_1994
  const { bavail, bsize } = isMemory ? statfsSync(memory) : { bavail: 0, bsize: 0 }
  return Math.min(bavail * bsize, freemem()) > fastBytesMin ? memory : tmpdir()
}
