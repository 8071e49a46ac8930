import type { Wall } from '../runtime.ts'
import type { Confinement } from './confinement.ts'
import type { FoundSandbox } from './sandbox.ts'

/** What this machine has to offer. */
export interface FoundWalls extends FoundSandbox {
  readonly confinement?: Confinement
  /** Why bots are not users of their own although we are root. */
  readonly usersProblem?: string
}

/** For the operator: what there is, what is missing, and what mends it. */
export function describeWalls(found: FoundWalls): Wall[] {
  return [files(found), users(found), calls(found)]
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
  if (sandbox && confinement) return { name, state: 'on', detail: 'Each bot is a user of its own.' }
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
