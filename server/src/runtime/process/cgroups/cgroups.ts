export interface GroupLimits {
  /** Swap included: none is left to use. */
  readonly memoryBytes: number
  readonly cpus: number
  /** As the kernel counts them: each thread is one. */
  readonly processes: number
}

export interface GroupStats {
  /** Of processor time since the group was made. */
  readonly cpuMs: number
  /** Without the page cache that the kernel can take back: usage minus inactive_file. */
  readonly memoryBytes: number
  /** As they are limited: each thread is one. */
  readonly processes: number
}

/** Builds share one parent group whose weight is low, so that they never starve bots. */
export type Part = 'bots' | 'builds'

export type Limit = 'memory' | 'cpu' | 'processes'

/**
 * Limits for processes and all that they start. All of it can be done again after we died in the middle. Synchronous:
 * each is a handful of tiny reads and writes. Names are letters, digits and underscores; any other is thrown at.
 */
export interface Cgroups {
  readonly kind: 'cgroup v1' | 'cgroup v2' | 'systemd scopes'
  /** Limits that are not enforced here, and whose statistics are 0. */
  readonly lacks: readonly Limit[]
  /**
   * Makes the group and returns what is put in front of a command so that it runs inside. It execs in place: pid,
   * descriptors and environment stay, but for PWD. If the group cannot be entered, the command is not run: exit code
   * 125 (systemd scopes: 1) and a line on stderr. Once more, with other limits: they hold at once for what runs in it;
   * memory below what is in use may throw, and the old limit stays. A systemd scope is there once its command runs.
   */
  make(name: string, part: Part, limits: GroupLimits): string[]
  /** Another limit of processor time for what runs in it, without a word to systemd. False: there is no such group (yet). */
  setCpus(name: string, part: Part, cpus: number): boolean
  /** Undefined: there is no such group (any more). */
  stats(name: string, part: Part): GroupStats | undefined
  /** How many of its processes the kernel has killed because memory was used up. 0 for a group that is not there. */
  oomKills(name: string, part: Part): number
  /** How often it was refused another process or thread. 0 for a group that is not there. */
  refusedForks(name: string, part: Part): number
  /** Kills everything in it, monitors of exit codes included, however fast it forks. The limits are void afterwards. */
  kill(name: string, part: Part): void
  /** False: something still runs in it. A group that is not there is no error. */
  remove(name: string, part: Part): boolean
  /** All groups that exist, for finding left-overs. */
  list(part: Part): string[]
  /** Takes away what holds the groups, if there are none. */
  tidy(): void
}

/** Names become folders and units, and parts of command lines. */
export function checkName(name: string): string {
  if (!/^[A-Za-z0-9_]{1,100}$/.test(name)) throw new Error(`not a name for a group: ${JSON.stringify(name)}`)
  return name
}
