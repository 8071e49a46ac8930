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
// To start is the most that many bots ever have to do: their limit of processor time holds from then on. Not so for one
// that starts again and again.
export const startMs = 3_000
const startCpus = Math.min(2, cpus().length)
const startsMax = 5
const startsWithinMs = 5 * 60_000
// A systemd scope is there once its command runs, for which a network may have to be made first.
const liftTries = 60
const liftPauseMs = 50
const settleRetryMs = 1_000
const dyingTries = 50
const dyingRetryMs = 100

/** What one bot or build may take of the machine. */
export class GroupLimiter {
  readonly #cgroups: Cgroups
  /** Bots that are starting, by instance: what they are limited to after that. */
  readonly #lifted = new Map<string, { cpus: number; timer: NodeJS.Timeout }>()
  /** When bots were started, by bot, those of long ago first. */
  readonly #starts = new Map<string, number[]>()
  /** Groups that could not be removed yet. */
  readonly #dying = new Map<string, NodeJS.Timeout>()
  #isClosed = false

  constructor(cgroups: Cgroups) {
    this.#cgroups = cgroups
  }

  /** In front of a command: it and all that it starts stay within the limits. */
  enter(name: string, part: Part, { botId, limits }: { botId: string; limits: Limits }): string[] {
    // All commands of a build have one name: what the one before left is in the same group.
    clearTimeout(this.#dying.get(`${part} ${name}`))
    this.#dying.delete(`${part} ${name}`)
    if (part === 'builds') return this.#cgroups.make(name, part, buildLimits(limits))
    const argv = this.#cgroups.make(name, part, botLimits(limits))
    if (limits.cpus < startCpus && !this.#isClosed && this.#countStart(botId)) this.#lift(name, limits.cpus)
    return argv
  }

  /** Whether it has not been started too often already. */
  #countStart(botId: string): boolean {
    const since = Date.now() - startsWithinMs
    for (const [id, times] of this.#starts) {
      if ((times.at(-1) ?? 0) > since) break
      this.#starts.delete(id)
    }
    const recent = (this.#starts.get(botId) ?? []).filter((time) => time > since)
    if (recent.length >= startsMax) return false
    this.#starts.delete(botId)
    this.#starts.set(botId, [...recent, Date.now()])
    return true
  }

  #lift(name: string, cores: number, tries = liftTries): void {
    if (this.#trySet(name, startCpus)) this.#later(name, cores, { ms: startMs, run: () => this.#settle(name) })
    else if (tries > 0) this.#later(name, cores, { ms: liftPauseMs, run: () => this.#lift(name, cores, tries - 1) })
    else this.#lifted.delete(name)
  }

  /** Within a container that has less than that itself the kernel refuses: then it starts within its limit. */
  #trySet(name: string, cores: number): boolean {
    try {
      return this.#cgroups.setCpus(name, 'bots', cores)
    } catch {
      return false
    }
  }

  #later(name: string, cores: number, { ms, run }: { ms: number; run: () => void }): void {
    this.#lifted.set(name, { cpus: cores, timer: setTimeout(run, ms).unref() })
  }

  #settle(name: string): void {
    const lifted = this.#lifted.get(name)
    if (!lifted) return
    clearTimeout(lifted.timer)
    this.#lifted.delete(name)
    this.#limit(name, lifted.cpus)
  }

  /** The machine may have no file left to open just now, and nobody but us knows that it has too much. */
  #limit(name: string, cores: number): void {
    if (this.#trySet(name, cores) || this.#isGone(name) || this.#isClosed) return
    this.#later(name, cores, { ms: settleRetryMs, run: () => this.#settle(name) })
  }

  #isGone(name: string): boolean {
    try {
      return !this.#cgroups.list('bots').includes(name)
    } catch {
      return false // nobody can tell: then it is tried again
    }
  }

  /** Nothing of it is left, also of what nobody waited for. */
  leave(name: string, part: Part): void {
    clearTimeout(this.#lifted.get(name)?.timer)
    this.#lifted.delete(name)
    if (this.#cgroups.remove(name, part)) return
    this.#cgroups.kill(name, part)
    this.#removeDying(name, part, dyingTries)
  }

  /** The dead are there for a moment longer. What is left after all goes with the next start of the server. */
  #removeDying(name: string, part: Part, triesLeft: number): void {
    this.#dying.delete(`${part} ${name}`)
    if (this.#tryRemove(name, part) || triesLeft === 0 || this.#isClosed) return
    const timer = setTimeout(() => this.#removeDying(name, part, triesLeft - 1), dyingRetryMs).unref()
    this.#dying.set(`${part} ${name}`, timer)
  }

  #tryRemove(name: string, part: Part): boolean {
    try {
      return this.#cgroups.remove(name, part)
    } catch {
      return false // no file left to open, say: then it is tried again
    }
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
    this.#isClosed = true
    for (const name of this.#lifted.keys()) this.#settle(name)
    this.#cgroups.tidy()
  }

  /**
   * What a server that was killed left behind. Builds end with their server; bots that are known go on, with the
   * processor time that they are limited to, by name, as far as that is known.
   */
  sweep(known: ReadonlyMap<string, number | undefined>): void {
    for (const name of this.#cgroups.list('builds')) this.leave(name, 'builds')
    for (const name of this.#cgroups.list('bots')) {
      const cores = known.get(name)
      if (!known.has(name)) this.leave(name, 'bots')
      else if (cores !== undefined) this.#limit(name, cores)
    }
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
