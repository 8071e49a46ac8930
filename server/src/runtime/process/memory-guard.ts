import { readdirSync, readlinkSync, statSync } from 'node:fs'
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
const blockBytes = 512

interface Tree {
  readonly pids: readonly number[]
  readonly fileBytes: number
  ticks: number
}

/**
 * Ends whatever takes more memory than it may, where the kernel does not. It looks a few times a second, so what is
 * fast enough gets more for a moment.
 */
export class MemoryGuard {
  readonly #bots: () => readonly Guarded[]
  readonly #others = new Map<string, Guarded>()
  readonly #timer: NodeJS.Timeout
  readonly #trees = new Map<number, Tree>()

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
    const tree = before && before.ticks > 0 ? before : searchTree(pid)
    const resident = sum(tree.pids, readResident) + tree.fileBytes
    tree.ticks = resident > memoryBytes / 2 ? 0 : tree.ticks - 1
    this.#trees.set(pid, tree)
    // What several processes share is counted for each of them; only the dear way to ask counts it once.
    if (resident > memoryBytes && readAll(tree) > memoryBytes) end()
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

function searchTree(pid: number): Tree {
  const pids = listTree(pid)
  return { pids, fileBytes: sumMemoryFiles(pids), ticks: ticksPerSearch }
}

/** Of files that are memory and have no name, each once. */
function sumMemoryFiles(pids: readonly number[]): number {
  const sizes = new Map<number, number>()
  for (const path of pids.flatMap(listFiles)) {
    const file = unlessGone(() => (readlinkSync(path).startsWith('/memfd:') ? statSync(path) : undefined))
    if (file) sizes.set(file.ino, file.blocks * blockBytes)
  }
  return [...sizes.values()].reduce((all, bytes) => all + bytes, 0)
}

function listFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return unlessGone(() => readdirSync(folder))?.map((name) => `${folder}/${name}`) ?? []
}

/** Processes end, and close files, while we look. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** What is mapped of those files is counted with the processes already. */
function readAll({ pids, fileBytes }: Tree): number {
  const shared = sum(pids, (pid) => readRollup(pid, 'Pss_Shmem'))
  return sum(pids, readProportional) - shared + Math.max(shared, fileBytes)
}

function sum(pids: readonly number[], read: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + read(pid), 0)
}

function readResident(pid: number): number {
  return Number(readProc(pid, 'statm')?.split(' ')[1] ?? 0) * pageBytes
}

/** In bytes: what is shared with others counts in part. */
export function readProportional(pid: number): number {
  return readRollup(pid, 'Pss')
}

function readRollup(pid: number, name: 'Pss' | 'Pss_Shmem'): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readProc(pid, 'smaps_rollup') ?? '')?.[1] ?? 0) * 1024
}
