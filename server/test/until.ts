import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { inPhase } from './phases.ts'

// A test that passes never waits this long. It is counted in seconds of an idle, ordinary machine: see `slowdown`.
const limitMs = 60_000
const pollMs = 25
const pollMsMax = 150
// What `measureSpeed` does takes this long on a machine of 2020.
const ordinaryMs = 8
const measureEveryMs = 5_000

/** Asks until there is an answer. Fails with `what` it waited for if the machine had the time and none came. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  /** For what takes more than a minute even there. */
  timeoutMs = limitMs,
  /** What it has to wait for anyway, on any machine: the limit counts from there. */
  timerMs = 0,
): Promise<T> {
  const timeout = new LoadAwareTimeout(timeoutMs, timerMs)
  return inPhase('waiting', async () => {
    for (;;) {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer
      if (timeout.isOver) throw new Error(`waited in vain for ${what} (${timeout.describe()})`)
      await timeout.pause()
    }
  })
}

/** The same for a promise, which may settle at any time. */
export async function withinLimit<T>(what: string, promise: Promise<T>, timeoutMs = limitMs): Promise<T> {
  let isSettled = false
  const settled = promise.finally(() => (isSettled = true))
  await Promise.race([settled, until(what, () => isSettled, timeoutMs)])
  return settled
}

/**
 * How long something took, and how long that would have been on an idle machine, for bounds that the product promises.
 * `timerMs`: what it waits for by a timer takes as long on any machine, and `idleMs` is what it took after that.
 */
export async function timed<T>(
  work: () => Promise<T>,
  timerMs = 0,
): Promise<{ result: T; ms: number; idleMs: number }> {
  const timeout = new LoadAwareTimeout(Number.POSITIVE_INFINITY, timerMs)
  const done = new AbortController()
  const watching = (async () => {
    while (!done.signal.aborted) await timeout.pause()
  })()
  const startedAt = performance.now()
  try {
    const result = await work()
    const ms = performance.now() - startedAt
    done.abort()
    await watching
    return { result, ms, idleMs: Math.max(0, Math.min(ms - timerMs, timeout.spentMs)) }
  } finally {
    done.abort()
  }
}

/**
 * A limit that grows with the load of the machine: each pause counts for as much as it would have been worth on an idle
 * machine, by how many programs wait for each processor, how late our own timer was, and how fast a processor is. Late by
 * our own work it is on any machine.
 */
class LoadAwareTimeout {
  readonly #limitMs: number
  readonly #startedAt = performance.now()
  #countedAt: number
  #measuredAt = this.#startedAt
  #spentMs = 0
  #speed = 1

  constructor(limit: number, timerMs: number) {
    this.#limitMs = limit
    this.#countedAt = this.#startedAt + timerMs
  }

  get spentMs(): number {
    return this.#spentMs
  }

  get isOver(): boolean {
    return this.#spentMs > this.#limitMs
  }

  async pause(): Promise<void> {
    const askedAt = performance.now()
    // To ask costs both sides processor time, and what has taken seconds may be noticed a tenth of a second later.
    const pauseMs = Math.min(pollMsMax, Math.max(pollMs, (askedAt - this.#startedAt) / 20))
    const cpu = process.cpuUsage()
    await sleep(pauseMs)
    const now = performance.now()
    const { user, system } = process.cpuUsage(cpu)
    if (now - this.#measuredAt > measureEveryMs) {
      this.#speed = Math.max(1, measureSpeed())
      this.#measuredAt = now
    }
    const late = (now - askedAt - (user + system) / 1000) / (2 * pauseMs)
    const slowdown = Math.max(1, late, waitingPerProcessor()) * this.#speed
    if (now < this.#countedAt) return
    this.#spentMs += (now - this.#countedAt) / slowdown
    this.#countedAt = now
  }

  describe(): string {
    const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
    return `${seconds(performance.now() - this.#startedAt)}, which counted for ${seconds(this.#spentMs)}`
  }
}

/** Programs that run or could, for each processor. */
function waitingPerProcessor(): number {
  const isLinux = process.platform === 'linux' // elsewhere there is only the average of a minute
  const waiting = isLinux
    ? Number.parseInt(readFileSync('/proc/loadavg', 'utf8').split(' ')[3] ?? '', 10)
    : loadavg()[0]
  return (waiting ?? 0) / availableParallelism()
}

/** How many times as long as on an ordinary machine a fixed piece of work takes. */
function measureSpeed(): number {
  const times = Array.from({ length: 3 }, () => {
    const startedAt = performance.now()
    createHash('sha256').update(work).digest()
    return performance.now() - startedAt
  })
  return Math.min(...times) / ordinaryMs
}

const work = Buffer.alloc(2 * 1024 * 1024, 'x')
