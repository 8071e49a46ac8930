// The clock of the page. It runs as usual, and a test moves it on instead of waiting: what is due meanwhile happens at once.

const real = { setTimeout, clearTimeout, now: Date.now.bind(Date) }

/** Node.js's own network has timers too, and asks this of them. */
class PageTimer {
  dueAt = 0
  handle: NodeJS.Timeout | undefined
  readonly ms: number
  readonly isInterval: boolean
  readonly run: () => void

  constructor(run: () => void, ms: number, isInterval: boolean) {
    this.run = run
    this.ms = ms
    this.isInterval = isInterval
  }

  ref(): this {
    this.handle?.ref()
    return this
  }

  unref(): this {
    this.handle?.unref()
    return this
  }

  refresh(): this {
    clock.start(this)
    return this
  }
}

class Clock {
  #aheadMs = 0
  #isStopped = false
  readonly #timers = new Set<PageTimer>()

  now = (): number => real.now() + this.#aheadMs

  /** Timers of before stay as they are. */
  install(): void {
    type Work = (...args: unknown[]) => void
    const starter =
      (isInterval: boolean) =>
      (work: Work, ms = 0, ...args: unknown[]) =>
        this.start(new PageTimer(() => work(...args), Math.max(isInterval ? 1 : 0, ms), isInterval))
    const clear = (timer?: PageTimer) => timer && this.#clear(timer)
    Object.assign(globalThis, {
      setTimeout: starter(false),
      setInterval: starter(true),
      clearTimeout: clear,
      clearInterval: clear,
    })
    Date.now = this.now
  }

  start(timer: PageTimer): PageTimer {
    real.clearTimeout(timer.handle)
    timer.dueAt = this.now() + timer.ms
    timer.handle = real.setTimeout(() => this.#fire(timer), timer.ms)
    if (this.#isStopped) timer.unref()
    this.#timers.add(timer)
    return timer
  }

  advance(ms: number): void {
    const until = this.now() + ms
    for (;;) {
      const [next] = [...this.#timers].toSorted((a, b) => a.dueAt - b.dueAt)
      if (!next || next.dueAt > until) break
      this.#aheadMs = Math.max(this.#aheadMs, next.dueAt - real.now())
      this.#fire(next)
    }
    this.#aheadMs = Math.max(this.#aheadMs, until - real.now())
  }

  /** At the end: nothing keeps the process alive. */
  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) this.#clear(timer)
  }

  #fire(timer: PageTimer): void {
    if (!this.#timers.has(timer)) return
    if (timer.isInterval) this.start(timer)
    else this.#clear(timer)
    timer.run()
  }

  #clear(timer: PageTimer): void {
    real.clearTimeout(timer.handle)
    this.#timers.delete(timer)
  }
}

export const clock = new Clock()

/** A moment of the machine's own time, for what is on its way to arrive. */
export function breathe(ms: number): Promise<void> {
  return new Promise((resolve) => real.setTimeout(resolve, ms))
}

/** For whoever waits for a condition: how long until that is a failure, however slow the machine is. */
export const patienceMs = Number(process.env['PATIENCE_MS'] ?? 30_000)

export function realNow(): number {
  return real.now()
}
