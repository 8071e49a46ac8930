import { cpus } from 'node:os'
import type { Limits } from '../runtime.ts'
import type { Cgroups, GroupLimits, GroupStats, Part } from './cgroups/cgroups.ts'

export const mebibyte = 1024 * 1024
// As the kernel counts: each thread is one. Node.js alone has a dozen.
export const botProcesses = 256
const buildProcesses = 1024
// A bot of 128 MB is built by tools that need more than that.
const buildMemoryMb = 1024
export const openFilesMax = 8_192

/** What one bot or build may take of the machine. */
export class GroupLimiter {
  readonly #cgroups: Cgroups

  constructor(cgroups: Cgroups) {
    this.#cgroups = cgroups
  }

  /** In front of a command: it and all that it starts stay within the limits. */
  enter(name: string, part: Part, limits: Limits): string[] {
    return this.#cgroups.make(name, part, part === 'bots' ? botLimits(limits) : buildLimits(limits))
  }

  /** Nothing of it is left, also of what nobody waited for. */
  leave(name: string, part: Part): void {
    if (this.#cgroups.remove(name, part)) return
    this.#cgroups.kill(name, part)
    this.#cgroups.remove(name, part)
  }

  stats(name: string): GroupStats | undefined {
    return this.#cgroups.stats(name, 'bots')
  }

  hasRunOutOfMemory(name: string): boolean {
    return this.#cgroups.oomKills(name, 'bots') > 0
  }

  refusedForks(name: string): number {
    return this.#cgroups.refusedForks(name, 'bots')
  }

  /** Nothing is left of us on the machine when nothing runs. */
  close(): void {
    this.#cgroups.tidy()
  }

  /** What a server that was killed left behind. Builds end with their server. */
  sweep(known: ReadonlySet<string>): void {
    for (const name of this.#cgroups.list('builds')) this.leave(name, 'builds')
    for (const name of this.#cgroups.list('bots')) if (!known.has(name)) this.leave(name, 'bots')
  }
}

export function botLimits({ memoryMb, cpus: cores }: Limits): GroupLimits {
  return { memoryBytes: memoryMb * mebibyte, cpus: cores, processes: botProcesses }
}

/** All of the processors, but after the bots. */
export function buildLimits({ memoryMb }: Limits): GroupLimits {
  const memoryBytes = Math.max(memoryMb, buildMemoryMb) * mebibyte
  return { memoryBytes, cpus: cpus().length, processes: buildProcesses }
}
