import { readdirSync, readFileSync } from 'node:fs'

/** Reads a small file of /proc; undefined once its process is gone. Synchronous: a thread's round trip costs more. */
export function readProc(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined
  }
}

interface ProcessTimes {
  /** In ticks since boot: with the pid it names one process for ever. */
  readonly startTime: number
  readonly cpuTicks: number
}

/** Undefined for a process that is gone, or dead and not yet waited for. */
export function readTimes(pid: number): ProcessTimes | undefined {
  // The name in brackets may hold anything, brackets too.
  const stat = readProc(pid, 'stat')
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (!fields || fields[0] === 'Z' || fields[0] === 'X') return undefined
  return { startTime: Number(fields[19]), cpuTicks: Number(fields[11]) + Number(fields[12]) }
}

/** A process and everything below it. */
export function listTree(pid: number): number[] {
  const found = [pid]
  for (const parent of found) {
    for (const task of listNumbers(`/proc/${parent}/task`)) {
      const children = readProc(parent, `task/${task}/children`)?.trim()
      if (children) found.push(...children.split(' ').map(Number))
    }
  }
  return found
}

/** Processes that were given this text in their environment; others' cannot be read and are passed over. */
export function findByEnvironment(entry: string): number[] {
  return listNumbers('/proc').filter((pid) => readProc(pid, 'environ')?.split('\0').includes(entry))
}

export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** Whether there was a process to signal; negative for a whole group. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

function listNumbers(folder: string): number[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return [] // gone meanwhile
  }
}
