import { readFileSync } from 'node:fs'

/** Where the time comes from, so that tests can move it. */
export interface Clock {
  now(): Date
  /** How often to look whether the time was moved; undefined: it only passes. */
  readonly pollMs?: number | undefined
}

export const systemClock: Clock = { now: () => new Date() }

/** Runs ahead of the system's by the milliseconds in a file; for end-to-end tests. */
export function shiftedClock(file: string): Clock {
  return {
    now: () => new Date(Date.now() + readShift(file)),
    pollMs: 250,
  }
}

function readShift(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8')) || 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
