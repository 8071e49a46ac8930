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
  /** With that of its children that have ended and were waited for. */
  readonly cpuTicks: number
  readonly parent: number
}

/** Undefined for a process that is gone, or dead and not yet waited for. */
export function readTimes(pid: number): ProcessTimes | undefined {
  // The name in brackets may hold anything, brackets too.
  const stat = readProc(pid, 'stat')
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (!fields || fields[0] === 'Z' || fields[0] === 'X') return undefined
  const cpuTicks = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0)
  return { startTime: Number(fields[19]), cpuTicks, parent: Number(fields[1]) }
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
  return listNumbers('/proc').filter((pid) => holds(pid, 'environ', entry))
}

/** Processes that were given this word in their command line. */
export function findByArgument(word: string): number[] {
  return listNumbers('/proc').filter((pid) => holds(pid, 'cmdline', word))
}

/** Without splitting first: environments can have megabytes, and there are many processes. */
function holds(pid: number, name: string, entry: string): boolean {
  const text = readProc(pid, name)
  return text !== undefined && text.includes(entry) && text.split('\0').includes(entry)
}

/** How many files a process of ours may have open, and how many it may allow itself. */
export function readOpenFilesLimit(): { soft: number; hard: number } {
  const [, soft, hard] = /^Max open files\s+(\d+)\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return { soft: Number(soft ?? Number.POSITIVE_INFINITY), hard: Number(hard ?? Number.POSITIVE_INFINITY) }
}

export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** Whether there was a process to signal, and one that is ours; negative for a whole group. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch (error) {
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
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
