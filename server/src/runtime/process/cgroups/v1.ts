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

// A tenth of what bots have together, when both want all.
const buildShares = '102'

/** The folder below which our groups are, in each hierarchy; some of them may be one and the same. */
export interface V1Folders {
  readonly memory: string | undefined
  readonly cpu: string | undefined
  readonly cpuacct: string | undefined
  readonly pids: string | undefined
}

/** One group is a folder of the same name in each hierarchy. */
export class CgroupsV1 implements Cgroups {
  readonly kind = 'cgroup v1'
  readonly lacks: readonly Limit[]
  readonly #roots: V1Folders

  constructor(roots: V1Folders) {
    this.#roots = roots
    const limits = { memory: roots.memory, cpu: roots.cpu, processes: roots.pids }
    this.lacks = (['memory', 'cpu', 'processes'] as const).filter((limit) => limits[limit] === undefined)
  }

  make(name: string, part: Part, { memoryBytes, cpus, processes }: GroupLimits): string[] {
    const at = this.#at(name, part)
    const folders = foldersOf(at)
    for (const folder of folders) makeFolder(folder)
    if (at.memory !== undefined) limitMemory(at.memory, memoryBytes)
    if (at.cpu !== undefined) {
      if (part === 'builds') writeText(join(dirname(at.cpu), 'cpu.shares'), buildShares)
      writeText(join(at.cpu, 'cpu.cfs_period_us'), String(cpuPeriodUs))
      writeText(join(at.cpu, 'cpu.cfs_quota_us'), String(cpuQuotaUs(cpus) ?? -1))
    }
    if (at.pids !== undefined) writeText(join(at.pids, 'pids.max'), String(processes))
    return enter(folders)
  }

  setCpus(name: string, part: Part, cpus: number): boolean {
    const { cpu } = this.#at(name, part)
    return cpu === undefined || writeIfThere(join(cpu, 'cpu.cfs_quota_us'), String(cpuQuotaUs(cpus) ?? -1))
  }

  stats(name: string, part: Part): GroupStats | undefined {
    const { memory, cpuacct, pids } = this.#at(name, part)
    const usage = memory === undefined ? 0 : readNumber(`${memory}/memory.usage_in_bytes`)
    const cpuNs = cpuacct === undefined ? 0 : readNumber(`${cpuacct}/cpuacct.usage`)
    const processes = pids === undefined ? 0 : readNumber(`${pids}/pids.current`)
    if (usage === undefined || cpuNs === undefined || processes === undefined) return undefined
    const cache = memory === undefined ? 0 : numberAfter(readText(`${memory}/memory.stat`), 'total_inactive_file')
    return { cpuMs: cpuNs / 1e6, memoryBytes: Math.max(0, usage - cache), processes }
  }

  oomKills(name: string, part: Part): number {
    const { memory } = this.#at(name, part)
    return memory === undefined ? 0 : numberAfter(readText(join(memory, 'memory.oom_control')), 'oom_kill')
  }

  refusedForks(name: string, part: Part): number {
    const { pids } = this.#at(name, part)
    return pids === undefined ? 0 : readRefusedForks(pids)
  }

  kill(name: string, part: Part): void {
    const at = this.#at(name, part)
    if (at.pids !== undefined) writeIfThere(join(at.pids, 'pids.max'), '0')
    // Dying takes processor time too, and a throttled group would wait for it.
    if (at.cpu !== undefined) writeIfThere(join(at.cpu, 'cpu.cfs_quota_us'), '-1')
    killProcesses(foldersOf(at))
  }

  remove(name: string, part: Part): boolean {
    const removed = foldersOf(this.#at(name, part)).map(removeGroup)
    return removed.every((isGone) => isGone)
  }

  list(part: Part): string[] {
    return [...new Set(foldersOf(this.#roots).flatMap((folder) => listFolders(join(folder, part))))]
  }

  tidy(): void {
    for (const root of foldersOf(this.#roots))
      for (const folder of [join(root, 'bots'), join(root, 'builds'), root]) removeGroup(folder)
  }

  #at(name: string, part: Part): V1Folders {
    checkName(name)
    const below = (root: string | undefined) => (root === undefined ? undefined : `${root}/${part}/${name}`)
    const { memory, cpu, cpuacct, pids } = this.#roots
    return { memory: below(memory), cpu: below(cpu), cpuacct: below(cpuacct), pids: below(pids) }
  }
}

function foldersOf({ memory, cpu, cpuacct, pids }: V1Folders): string[] {
  return [...new Set([memory, cpu, cpuacct, pids].filter((folder) => folder !== undefined))]
}

const tcpBytesMax = 64 * 1024 * 1024

function limitMemory(folder: string, bytes: number): void {
  // What waits in sockets is counted apart here.
  writeIfThere(join(folder, 'memory.kmem.tcp.limit_in_bytes'), String(Math.min(bytes, tcpBytesMax)))
  const [memory, both] = [join(folder, 'memory.limit_in_bytes'), join(folder, 'memory.memsw.limit_in_bytes')]
  const present = readNumber(both)
  if (present === undefined) {
    // The kernel does not count swap; it does not swap out for this group's own limit then.
    writeIfThere(join(folder, 'memory.swappiness'), '0')
    writeText(memory, String(bytes))
    return
  }
  // Memory alone may at no time have a higher limit than memory and swap together.
  for (const file of bytes > present ? [both, memory] : [memory, both]) writeText(file, String(bytes))
}
