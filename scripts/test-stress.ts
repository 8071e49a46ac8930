// npm test -- --stress: all tests beside four busy loops, then with half of a core.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const busyLoops = 4
const cores = 0.5
const periodUs = 100_000
// Ends by itself when we were killed.
const busyLoop = 'const { ppid } = process; for (let turn = 1; turn % 1e8 || process.ppid === ppid; turn++);'

/** How many of the runs failed. */
export async function runStressed(args: readonly string[]): Promise<number> {
  const results = new Map<string, boolean>()
  results.set(`beside ${busyLoops} busy loops`, await besideBusyLoops(() => runTests(args)))
  const group = makeGroup()
  if (group === undefined) {
    console.error('\nHalf of a core needs root and control groups with the cpu controller: that run is missing.')
    results.set(`with ${cores} of a core`, false)
  } else results.set(`with ${cores} of a core`, await inGroup(group, () => runTests(args, group)))
  console.log('')
  for (const [title, isGreen] of results) console.log(`${isGreen ? '✔' : '✖'} ${title}`)
  return [...results.values()].filter((isGreen) => !isGreen).length
}

async function runTests(args: readonly string[], group?: string): Promise<boolean> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test.ts'), ...args], { stdio: 'inherit' })
  if (group !== undefined) writeFileSync(join(group, 'cgroup.procs'), String(child.pid), { flag: 'r+' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0
}

async function besideBusyLoops(work: () => Promise<boolean>): Promise<boolean> {
  console.log(`\nBeside ${busyLoops} busy loops`)
  const loops = Array.from({ length: busyLoops }, () => spawn(process.execPath, ['-e', busyLoop], { stdio: 'ignore' }))
  try {
    return await work()
  } finally {
    for (const loop of loops) loop.kill('SIGKILL')
  }
}

async function inGroup(group: string, work: () => Promise<boolean>): Promise<boolean> {
  console.log(`\nWith ${cores} of a core`)
  try {
    return await work()
  } finally {
    // Processes that have just ended may still be counted.
    for (let tries = 0; tries < 50 && existsSync(group); tries++) {
      try {
        rmdirSync(group)
      } catch {
        await sleep(100)
      }
    }
  }
}

/** A control group of version 2 or 1 with that much processor time; undefined: this machine has none for us. */
function makeGroup(): string | undefined {
  // Where there is version 1, the folder above is one in memory, which takes any file and limits nothing.
  const [root, file, value] = existsSync('/sys/fs/cgroup/cgroup.controllers')
    ? ['/sys/fs/cgroup', 'cpu.max', `${cores * periodUs} ${periodUs}`]
    : ['/sys/fs/cgroup/cpu', 'cpu.cfs_quota_us', String(cores * periodUs)]
  const group = join(root, `botberth-stress-${process.pid}`)
  try {
    mkdirSync(group)
  } catch {
    return undefined // not ours to change
  }
  try {
    writeFileSync(join(group, file), value, { flag: 'r+' })
    return group
  } catch {
    rmdirSync(group) // without this controller
    return undefined
  }
}
