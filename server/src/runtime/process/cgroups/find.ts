import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { type Cgroups, checkName, type GroupLimits, type Limit } from './cgroups.ts'
import { codeOf, makeFolder, readText } from './files.ts'
import { findHierarchies, type Place } from './mounts.ts'
import { lowerWeightOfBuilds, Scopes, type Systemd, sliceOf, startScope } from './scopes.ts'
import { CgroupsV1 } from './v1.ts'
import { CgroupsV2 } from './v2.ts'

export interface FoundCgroups {
  readonly cgroups?: Cgroups
  /** Why there is none or which of the limits it lacks, in words for the operator, and the command or setting that mends it. */
  readonly problem?: string
  readonly remedy?: string
}

const probeName = 'probe'
const probeLimits: GroupLimits = { memoryBytes: 64 * 1024 * 1024, cpus: 1, processes: 16 }
const probeMs = 10_000
const programFolders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/run/current-system/sw/bin']

/**
 * The best that works here; really tried by running a command inside a group. `tag`: tells the groups of several servers
 * on one machine apart.
 */
export function findCgroups(tag: string): FoundCgroups {
  checkName(tag)
  const { v1, v2 } = findHierarchies(
    readFileSync('/proc/self/mountinfo', 'utf8'),
    readFileSync('/proc/self/cgroup', 'utf8'),
  )
  // Both are mounted where systemd keeps to v1 but uses v2 to find processes: a controller is in one of them only.
  if (['memory', 'cpu', 'pids'].some((controller) => v1.has(controller))) return findV1(v1, tag)
  if (v2 === undefined) {
    return { problem: 'control groups are not mounted', remedy: 'mount -t cgroup2 none /sys/fs/cgroup' }
  }
  const scopes = existsSync('/run/systemd/system') ? findScopes(v2.top, tag) : undefined
  if (scopes?.cgroups) return scopes
  const own = findV2(v2.top, tag)
  return own.cgroups ? own : (scopes ?? own)
}

function findV1(places: ReadonlyMap<string, Place>, tag: string): FoundCgroups {
  const root = (controller: string) => {
    const place = places.get(controller)
    return place && [place.top, place.own].map((folder) => join(folder, `botberth-${tag}`)).find(canMake)
  }
  const [memory, cpu, cpuacct, pids] = ['memory', 'cpu', 'cpuacct', 'pids'].map(root)
  const cgroups = new CgroupsV1({ memory, cpu, cpuacct, pids })
  if (cgroups.lacks.length === 0) return tryOut(cgroups)
  const closed = ['memory', 'cpu', 'pids'].find((name) => places.has(name) && root(name) === undefined)
  const lack =
    closed === undefined
      ? { problem: lackOf(cgroups.lacks), remedy: v1Remedy(cgroups.lacks) }
      : mayNot(places.get(closed)?.top)
  if (cgroups.lacks.length === 3) return lack
  const found = tryOut(cgroups)
  return found.cgroups ? { cgroups, ...lack } : found
}

function mayNot(top = ''): FoundCgroups {
  const isRoot = process.getuid?.() === 0
  return {
    problem: `${userName()} may not make groups in ${top}`,
    remedy: isRoot ? notInContainer : 'run the server as root',
  }
}

function findV2(top: string, tag: string): FoundCgroups {
  const root = join(top, `botberth-${tag}`)
  if (!canMake(root)) return mayNot(top)
  const cgroups = new CgroupsV2(root)
  if (cgroups.lacks.length === 3) return { problem: lackOf(cgroups.lacks), remedy: kernelRemedy(cgroups.lacks) }
  const found = tryOut(cgroups)
  if (!found.cgroups || cgroups.lacks.length === 0) return found
  return { cgroups, problem: lackOf(cgroups.lacks), remedy: kernelRemedy(cgroups.lacks) }
}

/** Whether the folder is there and ours to use, or could be made. */
function canMake(folder: string): boolean {
  try {
    makeFolder(folder)
    accessSync(folder, constants.W_OK)
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS', 'ENOENT'].includes(codeOf(error))) return false
    throw error
  }
}

function tryOut(cgroups: Cgroups): FoundCgroups {
  try {
    const { problem } = probe([...cgroups.make(probeName, 'builds', probeLimits), '/bin/sh', '-c', ':'])
    cgroups.remove(probeName, 'builds')
    if (problem === undefined) return { cgroups }
    return { problem: `a command in a group of ${cgroups.kind} failed: ${problem}`, remedy: notInContainer }
  } catch (error) {
    return { problem: `${cgroups.kind} does not work: ${(error as Error).message}`, remedy: notInContainer }
  }
}

const notInContainer = 'run the server as root and outside of containers, or use the Docker runtime'

function probe(argv: readonly string[]): { output: string; problem?: string } {
  const [command = '', ...args] = argv
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    env: {},
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: probeMs,
  })
  if (status === 0) return { output: stdout }
  return { output: '', problem: error?.message ?? (stderr.trim().slice(0, 500) || `exit code ${status}`) }
}

/** Which limits there are shows in the files of a scope; where the slice is, only systemd knows. */
const lookAround = `
read -r group </proc/self/cgroup
group=\${group#0::}
echo "$group"
for file in memory.max cpu.max pids.max; do
  if [ -e "$1$group/$file" ]; then echo "$file"; fi
done`

// What a version of systemd-run does not know, it refuses.
const scopeOptions = [
  // Otherwise ${…} in a command is replaced by newer ones, and all of a scope ends when memory kills one of its processes.
  ['--expand-environment=no', '-p', 'OOMPolicy=continue'],
  ['-p', 'OOMPolicy=continue'],
  [],
]

function findScopes(top: string, tag: string): FoundCgroups {
  const [systemdRun, systemctl] = ['systemd-run', 'systemctl'].map(findProgram)
  if (systemdRun === undefined || systemctl === undefined) {
    return { problem: 'systemd-run and systemctl are not in the usual places', remedy: 'install systemd' }
  }
  const runtimeDir = process.getuid?.() === 0 ? {} : { runtimeDir: `/run/user/${process.getuid?.()}` }
  let problem = ''
  for (const options of scopeOptions) {
    const systemd = { systemdRun, systemctl, ...runtimeDir, options, tag }
    const unit = `${sliceOf(tag, 'bots')}-${probeName}${process.pid}.scope`
    const scope = startScope(systemd, { unit, part: 'bots', limits: probeLimits })
    const tried = probe([...scope, '/bin/sh', '-c', lookAround, 'botberth-probe', top])
    if (tried.problem === undefined) return openScopes(top, systemd, tried.output)
    problem = tried.problem
  }
  const remedy = 'runtimeDir' in runtimeDir ? linger() : 'systemctl daemon-reexec'
  return { problem: `systemd made no scope: ${problem}`, remedy }
}

function openScopes(top: string, systemd: Systemd, output: string): FoundCgroups {
  const [group = '', ...files] = output.trim().split('\n')
  const offered = { memory: 'memory.max', cpu: 'cpu.max', processes: 'pids.max' }
  const lacks = (['memory', 'cpu', 'processes'] as const).filter((limit) => !files.includes(offered[limit]))
  if (lacks.length === 3) return { problem: lackOf(lacks), remedy: scopesRemedy(systemd, lacks) }
  try {
    if (!lacks.includes('cpu')) lowerWeightOfBuilds(systemd)
  } catch (error) {
    return { problem: `systemd sets no weights: ${(error as Error).message}`, remedy: 'systemctl daemon-reexec' }
  }
  const cgroups = new Scopes(join(top, dirname(dirname(group))), systemd, lacks)
  if (lacks.length > 0) return { cgroups, problem: lackOf(lacks), remedy: scopesRemedy(systemd, lacks) }
  if (systemd.runtimeDir === undefined || existsSync(`/var/lib/systemd/linger/${userName()}`)) return { cgroups }
  return { cgroups, problem: `bots end when ${userName()} logs out`, remedy: linger() }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.()) // one that is in no list of users, as in containers
  }
}

function linger(): string {
  return `as root: loginctl enable-linger ${userName()}`
}

function findProgram(name: string): string | undefined {
  return programFolders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

function lackOf(lacks: readonly Limit[]): string {
  const words = { memory: 'memory', cpu: 'processor time', processes: 'the number of processes' }
  return `there is no limit on ${lacks.map((limit) => words[limit]).join(' and ')}`
}

function v1Remedy(lacks: readonly Limit[]): string {
  // The last number of a line says whether the kernel was told to leave the controller out.
  const known = readText('/proc/cgroups') ?? ''
  const controllers = lacks.map((limit) => (limit === 'processes' ? 'pids' : limit))
  const isEnabled = (controller: string) => new RegExp(`^${controller}\\t.*\\t1$`, 'm').test(known)
  if (!controllers.every(isEnabled)) return kernelRemedy(lacks)
  return controllers
    .map((name) => `mkdir -p /sys/fs/cgroup/${name} && mount -t cgroup -o ${name} none /sys/fs/cgroup/${name}`)
    .join(' && ')
}

function kernelRemedy(lacks: readonly Limit[]): string {
  // Raspberry Pi OS and others leave it out unless they are told.
  if (lacks.includes('memory'))
    return 'add cgroup_enable=memory to the command line of the kernel and start the machine again'
  return 'use a kernel with CONFIG_CFS_BANDWIDTH and CONFIG_CGROUP_PIDS'
}

/** Before version 252 systemd gave only some of the controllers to users. */
function scopesRemedy({ runtimeDir }: Systemd, lacks: readonly Limit[]): string {
  if (runtimeDir === undefined) return kernelRemedy(lacks)
  const folder = '/etc/systemd/system/user@.service.d'
  const write = `printf '[Service]\\nDelegate=cpu memory pids\\n' >${folder}/delegate.conf`
  return `as root: mkdir -p ${folder} && ${write} && systemctl daemon-reload, then start the machine again`
}
