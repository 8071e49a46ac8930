import { statfsSync } from 'node:fs'
import { StepError } from '../lib/step-error.ts'

/** Throws if less is free on the disk of a folder. */
export function checkHostRoom(folder: string, freeBytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < freeBytes) throw hostFull()
}

export function hostFull(cause?: unknown): StepError {
  return new StepError('host_full', 'The disk of this server is nearly full. Its operator can make room.', { cause })
}
