import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type Cgroups, checkName, type GroupLimits, type GroupStats, type Limit, type Part } from './cgroups.ts'
import { enter, listFolders, numberAfter, pause, readRefusedForks, readText } from './files.ts'
import { buildWeight, killGroup, readOomKills, readStats, writeCpuMax } from './v2.ts'

// A scope that has ended is gone within milliseconds; until then its name is taken.
const goneMs = 200
const commandMs = 10_000

export interface Systemd {
  /** Where the programs are. */
  readonly systemdRun: string
  readonly systemctl: string
  /** The XDG_RUNTIME_DIR of the user whose manager makes the scopes. Without: the manager of the machine, as root. */
  readonly runtimeDir?: string
  /** More arguments for systemd-run, as its version knows them. */
  readonly options: readonly string[]
  readonly tag: string
}

/**
 * Where systemd rules over the hierarchy, it makes the groups: a scope for each. They outlive the server's own unit,
 * which would end with all that is in it, and which could not start again if it had groups below it.
 */
export class Scopes implements Cgroups {
  readonly kind = 'systemd scopes'
  readonly lacks: readonly Limit[]
  readonly #parent: string
  readonly #systemd: Systemd
  readonly #kills: Record<Part, { explained: number; readonly ofGone: Map<string, number> }>

  /** `parent`: the folder in which the folders of our slices are. */
  constructor(parent: string, systemd: Systemd, lacks: readonly Limit[] = []) {
    this.#parent = parent
    this.#systemd = systemd
    this.lacks = lacks
    const explained = (part: Part) => this.#killsOfSlice(part) - this.#killsOfLiving(part)
    this.#kills = {
      bots: { explained: explained('bots'), ofGone: new Map() },
      builds: { explained: explained('builds'), ofGone: new Map() },
    }
  }

  make(name: string, part: Part, limits: GroupLimits): string[] {
    const unit = `${unitOf(this.#systemd.tag, part, name)}.scope`
    const folder = this.#at(name, part)
    if (isRunning(folder)) {
      systemctl(this.#systemd, ['set-property', '--runtime', unit, ...properties(limits)])
      return enter([folder])
    }
    return startScope(this.#systemd, { unit, part, limits })
  }

  /** Systemd may set back at any time what it was told to. */
  setCpus(name: string, part: Part, cpus: number): boolean {
    return this.lacks.includes('cpu') || writeCpuMax(this.#at(name, part), cpus)
  }

  stats(name: string, part: Part): GroupStats | undefined {
    return readStats(this.#at(name, part))
  }

  /**
   * The scope goes with its last process, and its counter with it. The counter of the slice stays, and counts the kills
   * of all its scopes: what no living scope and none that was asked about before can explain, was this one. Kills from
   * a time when no server ran remain unknown; all that tells of them is the exit code 137.
   */
  oomKills(name: string, part: Part): number {
    const own = readOomKills(this.#at(name, part))
    if (own !== undefined) return own
    const kills = this.#kills[part]
    const unexplained = this.#killsOfSlice(part) - this.#killsOfLiving(part) - kills.explained
    const ofThis = (kills.ofGone.get(name) ?? 0) + Math.max(0, unexplained)
    kills.ofGone.set(name, ofThis)
    kills.explained += unexplained // less than none: the slice was made anew
    return ofThis
  }

  refusedForks(name: string, part: Part): number {
    return readRefusedForks(this.#at(name, part))
  }

  kill(name: string, part: Part): void {
    killGroup(this.#at(name, part))
  }

  /** Systemd itself removes it. */
  remove(name: string, part: Part): boolean {
    if (isThere(this.#at(name, part))) return false
    // Kills that nobody asked about must not be taken for those of another.
    this.oomKills(name, part)
    this.#kills[part].ofGone.delete(name)
    return true
  }

  list(part: Part): string[] {
    const before = `${sliceOf(this.#systemd.tag, part)}-`
    return listFolders(this.#slice(part))
      .filter((folder) => folder.startsWith(before) && folder.endsWith('.scope'))
      .map((folder) => folder.slice(before.length, -'.scope'.length))
  }

  /** systemd does. */
  tidy(): void {}

  #killsOfSlice(part: Part): number {
    return readOomKills(this.#slice(part)) ?? 0
  }

  #killsOfLiving(part: Part): number {
    return this.list(part)
      .map((name) => readOomKills(this.#at(name, part)) ?? 0)
      .reduce((sum, kills) => sum + kills, 0)
  }

  #slice(part: Part): string {
    return `${this.#parent}/${sliceOf(this.#systemd.tag, part)}.slice`
  }

  #at(name: string, part: Part): string {
    return `${this.#slice(part)}/${unitOf(this.#systemd.tag, part, checkName(name))}.scope`
  }
}

/** A dash in the name of a slice means "below": it is a folder in that of botberth-TAG.slice. */
export function sliceOf(tag: string, part: Part): string {
  return `botberth-${tag}-${part}`
}

function unitOf(tag: string, part: Part, name: string): string {
  return `${sliceOf(tag, part)}-${name}`
}

interface Start {
  readonly unit: string
  readonly part: Part
  readonly limits: GroupLimits
}

export function startScope({ systemdRun, runtimeDir, options, tag }: Systemd, { unit, part, limits }: Start): string[] {
  const argv = [
    systemdRun,
    ...(runtimeDir === undefined ? [] : ['--user']),
    '--scope',
    '--quiet',
    '--collect', // otherwise one that failed keeps its name
    ...options,
    `--unit=${unit}`,
    `--slice=${sliceOf(tag, part)}.slice`,
    ...properties(limits).flatMap((property) => ['-p', property]),
    '--',
  ]
  if (runtimeDir === undefined) return argv
  // Only systemd-run is to know where the user's manager is.
  return ['/usr/bin/env', `XDG_RUNTIME_DIR=${runtimeDir}`, ...argv, '/usr/bin/env', '-u', 'XDG_RUNTIME_DIR']
}

function properties({ memoryBytes, cpus, processes }: GroupLimits): string[] {
  return [
    `MemoryMax=${memoryBytes}`,
    'MemorySwapMax=0',
    `CPUQuota=${Math.max(1, Math.round(cpus * 100))}%`,
    `TasksMax=${processes}`,
  ]
}

/** The slice needs no scope in it for that. */
export function lowerWeightOfBuilds(systemd: Systemd): void {
  systemctl(systemd, [
    'set-property',
    '--runtime',
    `${sliceOf(systemd.tag, 'builds')}.slice`,
    `CPUWeight=${buildWeight}`,
  ])
}

function systemctl({ systemctl: program, runtimeDir }: Systemd, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, [...(runtimeDir === undefined ? [] : ['--user']), ...args], {
    env: runtimeDir === undefined ? {} : { XDG_RUNTIME_DIR: runtimeDir },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: commandMs,
  })
  if (status !== 0) throw new Error(`${args.join(' ')}: ${error?.message ?? stderr.toString().trim().slice(0, 500)}`)
}

function isThere(folder: string): boolean {
  return readText(join(folder, 'cgroup.events')) !== undefined
}

/** False: there is none, or it is gone now that its last process has ended. */
function isRunning(folder: string): boolean {
  const until = performance.now() + goneMs
  for (;;) {
    const events = readText(join(folder, 'cgroup.events'))
    if (events === undefined) return false
    if (numberAfter(events, 'populated') === 1) return true
    if (performance.now() > until) return false
    pause()
  }
}
