import { closeSync, constants, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, writeSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { signalProcess } from '../../../lib/proc.ts'

/** Longer than the kernel's 100 ms: a bot that starts, or wakes up, has its share of it at once. */
export const cpuPeriodUs = 250_000
// Less than a millisecond is refused by the kernel.
const cpuQuotaMinUs = 1_000
/** For dying: milliseconds, unless a process hangs inside the kernel, for which nobody can wait. */
const killMs = 200

/** The processor time in microseconds that a group gets of each period. Undefined: all, and nobody has to count. */
export function cpuQuotaUs(cores: number): number | undefined {
  return cores >= cpus().length ? undefined : Math.max(cpuQuotaMinUs, Math.round(cores * cpuPeriodUs))
}

// $$ is the shell, which becomes the command. A write that fails says so only in the shell's own words: ours name the folder.
const enterScript = `
count=$1
shift
while [ "$count" -gt 0 ]; do
  if ! { echo $$ >"$1/cgroup.procs"; } 2>/dev/null; then
    echo "botberth: the process could not enter the group $1" >&2
    exit 125
  fi
  shift
  count=$((count - 1))
done
exec "$@"`

/** What is put in front of a command so that it runs in the groups of these folders. */
export function enter(folders: readonly string[]): string[] {
  return ['/bin/sh', '-c', enterScript, 'botberth-enter', String(folders.length), ...folders]
}

/** Undefined: there is no such file, or its group has just been removed. */
export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

export function readNumber(file: string): number | undefined {
  const text = readText(file)
  return text === undefined ? undefined : Number(text)
}

/** The number behind this word at the beginning of a line. The files are long, and read all the time: they are not split. */
export function numberAfter(text: string | undefined, word: string): number {
  if (text === undefined) return 0
  const at = text.startsWith(`${word} `) ? 0 : text.indexOf(`\n${word} `) + 1
  if (at === 0 && !text.startsWith(`${word} `)) return 0
  return Number.parseInt(text.slice(at + word.length + 1, at + word.length + 21), 10)
}

/** The file is the same in v1 and v2. */
export function readRefusedForks(folder: string): number {
  return numberAfter(readText(`${folder}/pids.events`), 'max')
}

/**
 * Never makes the file: only the kernel makes those, and one that is missing is a limit that it does not have. Nor is it
 * opened for reading, which its owner may not do with `cgroup.kill`.
 */
export function writeText(file: string, text: string): void {
  const fd = openSync(file, constants.O_WRONLY)
  try {
    writeSync(fd, text)
  } finally {
    closeSync(fd)
  }
}

/** False: there is no such file. */
export function writeIfThere(file: string, text: string): boolean {
  try {
    writeText(file, text)
    return true
  } catch (error) {
    if (isGone(error)) return false
    throw error
  }
}

export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true })
}

/** False: something still runs in it. */
export function removeGroup(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    if (isGone(error)) return true
    if (codeOf(error) === 'EBUSY') return false
    throw error
  }
}

export function listFolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
  } catch (error) {
    if (isGone(error)) return []
    throw error
  }
}

/**
 * Kills all processes of these groups, which can no longer fork. Until the groups are empty: a fork that was under way
 * shows its child only later, but its parent stays in the list until then.
 */
export function killProcesses(folders: readonly string[]): void {
  const until = performance.now() + killMs
  for (;;) {
    const pids = new Set(folders.flatMap(listProcesses))
    if (pids.size === 0) return
    for (const pid of pids) signalProcess(pid, 'SIGKILL')
    if (performance.now() > until) return
    pause()
  }
}

/** For a millisecond, and all of us with it. */
export function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
}

/** Without the zeros: those are processes that a container around us hides, and the signal would go to our own group. */
function listProcesses(folder: string): number[] {
  const text = readText(join(folder, 'cgroup.procs')) ?? ''
  return text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0)
}

// ENODEV: the group was removed between opening and reading.
function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENODEV'].includes(codeOf(error))
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}
