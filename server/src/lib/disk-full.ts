import { RunError } from './run.ts'

/** Whether there was no room for something, as the kernel or a program that failed says. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return true
  if (error instanceof RunError) return error.lines.some((line) => words.test(line))
  return isDiskFull(error.cause)
}

// The last are git's, which does not give the reason.
const words = /\bENOSPC\b|No space left on device|Disk quota exceeded|^error: unable to write file /
