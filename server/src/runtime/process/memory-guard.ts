import { listTree, readProc, signalProcess } from '../../lib/proc.ts'
import type { RunOptions } from '../../lib/run.ts'
import type { Limits } from '../runtime.ts'
import { buildLimits, mebibyte } from './limits.ts'

export interface Guarded {
  /** All that hangs on it counts. */
  readonly pid: number
  readonly memoryBytes: number
  readonly end: () => void
}

const tickMs = 250
// Looking for new processes is most of the work.
const ticksPerSearch = 4
const pageBytes = 4096

/**
 * Ends whatever takes more memory than it may, where the kernel does not. It looks a few times a second, so what is
 * fast enough gets more for a moment.
 */
export class MemoryGuard {
  readonly #bots: () => readonly Guarded[]
  readonly #others = new Map<string, Guarded>()
  readonly #timer: NodeJS.Timeout
  readonly #trees = new Map<number, { readonly pids: readonly number[]; ticks: number }>()

  /** `bots`: those that there are now. */
  constructor(bots: () => readonly Guarded[]) {
    this.#bots = bots
    this.#timer = setInterval(() => this.#tick(), tickMs).unref()
  }

  add(name: string, guarded: Guarded): void {
    this.#others.set(name, guarded)
  }

  remove(name: string): void {
    this.#others.delete(name)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const guarded = [...this.#bots(), ...this.#others.values()]
    const known = new Set(guarded.map(({ pid }) => pid))
    for (const pid of this.#trees.keys()) if (!known.has(pid)) this.#trees.delete(pid)
    for (const each of guarded) this.#look(each)
  }

  #look({ pid, memoryBytes, end }: Guarded): void {
    const before = this.#trees.get(pid)
    const tree = before && before.ticks > 0 ? before : { pids: listTree(pid), ticks: ticksPerSearch }
    const resident = sum(tree.pids, readResident)
    tree.ticks = resident > memoryBytes / 2 ? 0 : tree.ticks - 1
    this.#trees.set(pid, tree)
    // What several processes share is counted for each of them; only the dear way to ask counts it once.
    if (resident > memoryBytes && sum(tree.pids, readProportional) > memoryBytes) end()
  }
}

/** `pid` leads the group of the build's first processes, without which there are no others. */
export function guardBuild(pid: number, limits: Limits, say: RunOptions['onLine']): Guarded {
  const { memoryBytes } = buildLimits(limits)
  const end = () => {
    say?.(`This takes more than ${memoryBytes / mebibyte} MB of memory, and was ended.`, 'stderr')
    signalProcess(-pid, 'SIGKILL')
  }
  return { pid, memoryBytes, end }
}

function sum(pids: readonly number[], read: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + read(pid), 0)
}

function readResident(pid: number): number {
  return Number(readProc(pid, 'statm')?.split(' ')[1] ?? 0) * pageBytes
}

/** In bytes: what is shared with others counts in part. */
export function readProportional(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readProc(pid, 'smaps_rollup') ?? '')?.[1] ?? 0) * 1024
}
