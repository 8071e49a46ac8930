// What the time of tests goes into, for `npm test -- --times`.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Phase = 'database' | 'server' | 'waiting'

interface Sum {
  count: number
  ms: number
}

/** Of one process. */
export interface ProcessTimes {
  readonly ms: number
  readonly cpuMs: number
  /** From its start to the end of the first import of a helper. */
  readonly loadMs: number
  readonly phases: Partial<Record<Phase, Sum>>
}

const phases: Partial<Record<Phase, Sum>> = {}
const loadMs = performance.now()

export async function inPhase<T>(phase: Phase, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  try {
    return await work()
  } finally {
    const sum = (phases[phase] ??= { count: 0, ms: 0 })
    sum.count++
    sum.ms += performance.now() - startedAt
  }
}

const folder = process.env['TEST_TIMES']
if (folder !== undefined)
  process.once('exit', () => {
    if (!existsSync(folder)) return // the runner itself, which ends last
    const { user, system } = process.cpuUsage()
    const times: ProcessTimes = { ms: performance.now(), cpuMs: (user + system) / 1000, loadMs, phases }
    writeFileSync(join(folder, `times-${process.pid}.json`), JSON.stringify(times))
  })
