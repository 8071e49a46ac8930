import { spawnSync } from 'node:child_process'
import { readOpenFilesLimit } from '../../lib/proc.ts'
import type { Limits } from '../runtime.ts'
import type { Part } from './cgroups/cgroups.ts'
import { botLimits, buildLimits, mebibyte, openFilesMax } from './limits.ts'
import { systemView } from './toolchain.ts'

/** A user namespace has a count of processes of its own. */
const ownNamespace = ['unshare', '--user', '--map-root-user', '--']
// When the machine itself runs out of memory, it takes them first.
const firstToGo = ['choom', '-n', '1000', '--']
// Far below what bots have, so that a build never keeps one waiting for long.
const givesWay = ['nice', '-n', '10']
const openFiles = Math.min(openFilesMax, readOpenFilesLimit().hard)

/** What an ordinary user can set for its own processes where it may not make control groups. */
export interface SoftLimits {
  /** In front of a command. `isInside`: it is in a user namespace of its own already. */
  enter(part: Part, limits: Limits, options: { isInside: boolean }): string[]
}

/** Undefined where they do not work. On kernels before 5.14 the count is that of all that the user runs. */
export function findSoftLimits(bubblewrap: string): SoftLimits | undefined {
  // We ourselves are more threads than that.
  const few = [...ownNamespace, ...firstToGo, ...givesWay, 'prlimit', '--core=0', '--nproc=8', '--']
  // Not all of the machine: somebody may mount or unmount something meanwhile.
  const [command, ...args] = [...few, bubblewrap, '--unshare-user', ...systemView(), 'sh', '-c', '(:)']
  const works = () => spawnSync(command, args, { env: {}, stdio: 'ignore', timeout: 10_000 }).status === 0
  return works() || works() ? { enter } : undefined
}

function enter(part: Part, limits: Limits, { isInside }: { isInside: boolean }): string[] {
  const { processes } = part === 'bots' ? botLimits(limits) : buildLimits(limits)
  const before = [...(isInside ? [] : ownNamespace), ...firstToGo]
  const set = ['prlimit', '--core=0', `--nofile=${openFiles}`, `--nproc=${processes}`]
  if (part === 'bots') return [...before, ...set, '--']
  // Not for bots: it would end one whose log has grown to that size over the months.
  return [...before, ...givesWay, ...set, `--fsize=${limits.diskMb * mebibyte}`, '--']
}
