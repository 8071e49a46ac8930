import type { Wall } from '../runtime.ts'
import type { FoundCgroups } from './cgroups/find.ts'
import type { Confinement } from './confinement.ts'
import type { Disks } from './disks.ts'
import type { FoundNetworks } from './networks.ts'
import type { FoundSandbox } from './sandbox.ts'
import type { SoftLimits } from './soft-limits.ts'

/** What this machine has to offer. */
export interface FoundWalls extends FoundSandbox {
  readonly confinement?: Confinement
  /** Why bots are not users of their own although we are root. */
  readonly usersProblem?: string | undefined
  readonly cgroups: FoundCgroups
  /** Undefined until it is put up. */
  readonly network?: FoundNetworks
  readonly disks: Pick<Disks, 'problem' | 'remedy'>
  /** Beside the control groups, or in their place. */
  readonly softLimits?: SoftLimits | undefined
}

/** For the operator: what there is, what is missing, and what mends it. */
export function describeWalls(found: FoundWalls): Wall[] {
  return [files(found), users(found), calls(found), limits(found), network(found), disk(found.disks)]
}

const install = 'apt install bubblewrap'

function files({ sandbox, problem }: FoundWalls): Wall {
  const name = 'files'
  if (!sandbox) {
    const detail = `Bots see the files and processes of this machine: bubblewrap cannot be used (${problem ?? 'not asked for'}).`
    return { name, state: 'off', detail, remedy: install }
  }
  if (sandbox.isStrict)
    return {
      name,
      state: 'on',
      detail: 'Bots see the system\u2019s programs, their own folder and their own processes.',
    }
  const detail = `Bots see only their own files and processes, but may make user namespaces and fill the memory with files (${problem}).`
  return { name, state: 'soft', detail, remedy: 'a bubblewrap of version 0.8 or newer' }
}

function users({ sandbox, confinement, usersProblem }: FoundWalls): Wall {
  const name = 'users'
  if (confinement) return { name, state: 'on', detail: 'Each bot is a user of its own.' }
  if (usersProblem !== undefined)
    return {
      name,
      state: 'off',
      detail: `Bots are root to the kernel (${usersProblem}).`,
      remedy: 'run the server as an ordinary user',
    }
  const isRoot = process.getuid?.() === 0
  if (!sandbox && isRoot) return { name, state: 'off', detail: 'Bots run as root.', remedy: install }
  const detail = 'All bots are the user that the server is; what keeps them apart is what they see.'
  return { name, state: 'soft', detail, remedy: 'run the server as root: it gives each bot a user of its own' }
}

function calls({ sandbox }: FoundWalls): Wall {
  const name = 'calls'
  if (sandbox?.isFiltered) return { name, state: 'on', detail: 'Bots can ask the kernel only for what bots need.' }
  const detail = 'Bots can ask the kernel for everything that an ordinary user can.'
  return { name, state: 'off', detail, remedy: sandbox ? 'a kernel with seccomp, on x64 or arm64' : install }
}

function limits({ cgroups: { cgroups, problem, remedy }, softLimits }: FoundWalls): Wall {
  const name = 'limits'
  if (softLimits) {
    const detail = `Processes are limited, and a bot that takes too much memory is ended within a second; processor time is shared (${problem}).`
    return { name, state: 'soft', detail, ...(remedy !== undefined && { remedy }) }
  }
  if (!cgroups) {
    const detail = `Bots may take all of the memory, the processors and the processes (${problem ?? 'not asked for'}).`
    return { name, state: 'off', detail, remedy: remedy ?? install }
  }
  if (cgroups.lacks.length === 0)
    return { name, state: 'on', detail: `Memory, processors and processes are limited by ${cgroups.kind}.` }
  const detail = `Limited by ${cgroups.kind}, but not: ${cgroups.lacks.join(', ')} (${problem}).`
  return {
    name,
    state: cgroups.lacks.includes('memory') ? 'off' : 'soft',
    detail,
    ...(remedy !== undefined && { remedy }),
  }
}

function network({ network: found, sandbox, usersProblem }: FoundWalls): Wall {
  const name = 'network'
  if (!found?.networks) {
    const problem = found?.problem ?? usersProblem ?? (sandbox ? 'not asked for' : 'bubblewrap cannot be used')
    const detail = `Bots are on the network of this machine: they reach all that it reaches, its own services too (${problem}).`
    const remedy = found?.remedy ?? (sandbox ? 'run the server as an ordinary user' : install)
    return { name, state: 'off', detail, remedy }
  }
  const detail = 'Each bot has a network of its own, with a way out to the internet and to nowhere else.'
  if (found.problem === undefined) return { name, state: 'on', detail }
  return {
    name,
    state: 'soft',
    detail: `${detail} But: ${found.problem}.`,
    ...(found.remedy !== undefined && { remedy: found.remedy }),
  }
}

function disk({ problem, remedy }: FoundWalls['disks']): Wall {
  const name = 'disk'
  if (problem === undefined)
    return { name, state: 'on', detail: 'Each bot has a disk of its own, with room for as much as it may have.' }
  const detail = `Bots share the disk of this machine (${problem}): one that holds too much is stopped when that is noticed.`
  return { name, state: 'soft', detail, remedy: remedy ?? `run the server as root, with bubblewrap: ${install}` }
}
