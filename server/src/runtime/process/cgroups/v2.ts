import { dirname, join } from 'node:path'
import { type Cgroups, checkName, type GroupLimits, type GroupStats, type Limit, type Part } from './cgroups.ts'
import {
  cpuPeriodUs,
  cpuQuotaUs,
  enter,
  killProcesses,
  listFolders,
  makeFolder,
  numberAfter,
  readNumber,
  readRefusedForks,
  readText,
  removeGroup,
  writeIfThere,
  writeText,
} from './files.ts'

/** A tenth of what bots have together, when both want all. */
export const buildWeight = '10'

/** What the kernel calls the limits. */
const controllers = { memory: 'memory', cpu: 'cpu', processes: 'pids' } as const

/** A tree of our own at the top of the hierarchy. */
export class CgroupsV2 implements Cgroups {
  readonly kind = 'cgroup v2'
  readonly lacks: readonly Limit[]
  readonly #root: string
  readonly #controllers: readonly string[]

  /** `root`: the folder below which our groups are. Its parent must be the top: others must not have processes in it. */
  constructor(root: string) {
    this.#root = root
    const offered = readText(join(dirname(root), 'cgroup.controllers'))?.split(/\s+/) ?? []
    const all = ['memory', 'cpu', 'processes'] as const
    this.lacks = all.filter((limit) => !offered.includes(controllers[limit]))
    this.#controllers = all.map((limit) => controllers[limit]).filter((controller) => offered.includes(controller))
  }

  make(name: string, part: Part, { memoryBytes, cpus, processes }: GroupLimits): string[] {
    const folder = this.#at(name, part)
    makeFolder(folder)
    this.#offer(part)
    const limit = (which: Limit, file: string, text: string) => {
      if (!this.lacks.includes(which)) writeText(join(folder, file), text)
    }
    if (part === 'builds' && !this.lacks.includes('cpu')) {
      writeText(join(dirname(folder), 'cpu.weight'), buildWeight)
    }
    // Missing where the kernel does not count swap. Never memory.oom.group: it would kill the monitor, and the exit code.
    if (!this.lacks.includes('memory')) writeIfThere(join(folder, 'memory.swap.max'), '0')
    limit('memory', 'memory.max', String(memoryBytes))
    limit('cpu', 'cpu.max', cpuMax(cpus))
    limit('processes', 'pids.max', String(processes))
    return enter([folder])
  }

  setCpus(name: string, part: Part, cpus: number): boolean {
    return this.lacks.includes('cpu') || writeCpuMax(this.#at(name, part), cpus)
  }

  stats(name: string, part: Part): GroupStats | undefined {
    return readStats(this.#at(name, part))
  }

  oomKills(name: string, part: Part): number {
    return readOomKills(this.#at(name, part)) ?? 0
  }

  refusedForks(name: string, part: Part): number {
    return readRefusedForks(this.#at(name, part))
  }

  kill(name: string, part: Part): void {
    killGroup(this.#at(name, part))
  }

  remove(name: string, part: Part): boolean {
    return removeGroup(this.#at(name, part))
  }

  list(part: Part): string[] {
    return listFolders(join(this.#root, part))
  }

  tidy(): void {
    for (const folder of [join(this.#root, 'bots'), join(this.#root, 'builds'), this.#root]) removeGroup(folder)
  }

  /** A group has the limits that all groups above it offer to those below them. */
  #offer(part: Part): void {
    for (const folder of [dirname(this.#root), this.#root, join(this.#root, part)]) {
      const file = join(folder, 'cgroup.subtree_control')
      const offered = readText(file)?.split(/\s+/) ?? []
      const missing = this.#controllers.filter((controller) => !offered.includes(controller))
      if (missing.length > 0) writeText(file, missing.map((controller) => `+${controller}`).join(' '))
    }
  }

  #at(name: string, part: Part): string {
    return `${this.#root}/${part}/${checkName(name)}`
  }
}

const cpuMax = (cpus: number) => `${cpuQuotaUs(cpus) ?? 'max'} ${cpuPeriodUs}`

/** False: there is no such group. */
export function writeCpuMax(folder: string, cpus: number): boolean {
  return writeIfThere(join(folder, 'cpu.max'), cpuMax(cpus))
}

/** Undefined: there is no such group. */
export function readStats(folder: string): GroupStats | undefined {
  const cpu = readText(`${folder}/cpu.stat`)
  if (cpu === undefined) return undefined
  const usage = readNumber(`${folder}/memory.current`) ?? 0
  const cache = numberAfter(readText(`${folder}/memory.stat`), 'inactive_file')
  return {
    cpuMs: numberAfter(cpu, 'usage_usec') / 1000,
    memoryBytes: Math.max(0, usage - cache),
    processes: readNumber(`${folder}/pids.current`) ?? 0,
  }
}

/** Of this group and all below it. */
export function readOomKills(folder: string): number | undefined {
  const events = readText(join(folder, 'memory.events'))
  return events === undefined ? undefined : numberAfter(events, 'oom_kill')
}

export function killGroup(folder: string): void {
  // Dying takes processor time too, and a throttled group would wait for it.
  writeIfThere(join(folder, 'cpu.max'), 'max')
  if (writeIfThere(join(folder, 'cgroup.kill'), '1')) return
  // Linux before 5.14.
  writeIfThere(join(folder, 'pids.max'), '0')
  killProcesses([folder])
}
