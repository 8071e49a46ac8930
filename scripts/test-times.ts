// npm test -- --times: what a run of the tests spends its time on.
import { globSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, relative } from 'node:path'
import type { ProcessTimes } from '../server/test/phases.ts'
import { root } from './test-files.ts'

interface Processors {
  readonly busyMs: number
  readonly idleMs: number
}

interface FileTime {
  readonly file: string
  readonly ms: number
}

/** Of the whole machine, since its start. */
export function readProcessors(): Processors {
  const sums = cpus().map(({ times }) => ({ all: Object.values(times).reduce((a, b) => a + b, 0), idle: times.idle }))
  const idleMs = sums.reduce((sum, { idle }) => sum + idle, 0)
  return { idleMs, busyMs: sums.reduce((sum, { all }) => sum + all, 0) - idleMs }
}

/** `folder`: where the processes wrote their own times. */
export function printTimes(
  title: string,
  files: readonly FileTime[],
  { folder, before }: { folder: string; before: Processors },
) {
  const now = readProcessors()
  const [busyMs, idleMs] = [now.busyMs - before.busyMs, now.idleMs - before.idleMs]
  const processes = globSync('times-*.json', { cwd: folder }).map(
    (file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as ProcessTimes,
  )
  console.log(`\nTimes: ${title}`)
  console.log(
    `  processors: busy for ${seconds(busyMs)}, idle for ${seconds(idleMs)} (${percent(idleMs, busyMs + idleMs)})`,
  )
  const sum = (pick: (times: ProcessTimes) => number) => processes.reduce((all, times) => all + pick(times), 0)
  row(
    'test processes',
    processes.length,
    sum(({ cpuMs }) => cpuMs),
    'of processor time, their children and PostgreSQL not counted',
  )
  row(
    'loading',
    processes.length,
    sum(({ loadMs }) => loadMs),
    'from the start of a process until its helpers are there',
  )
  for (const [phase, what] of [
    ['database', 'create database … template'],
    ['server', 'start of a server inside the process, with its database'],
    ['waiting', 'for a condition'],
  ] as const)
    row(
      phase,
      sum(({ phases }) => phases[phase]?.count ?? 0),
      sum(({ phases }) => phases[phase]?.ms ?? 0),
      what,
    )
  for (const { file, ms } of files.toSorted((a, b) => b.ms - a.ms))
    console.log(`  ${seconds(ms).padStart(8)}  ${relative(root, file)}`)
}

function row(name: string, count: number, ms: number, what: string): void {
  console.log(`  ${name.padEnd(15)}${String(count).padStart(5)} × ${seconds(ms).padStart(8)}  ${what}`)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

function percent(part: number, whole: number): string {
  return `${Math.round((part / whole) * 100)} %`
}
