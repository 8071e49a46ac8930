import type { Clock } from '../lib/clock.ts'

const firstMs = 500
const longestMs = 60_000
const tellEveryMs = 60_000

/** What fails again and again is tried less and less often, and told once a minute at most. */
export class Retries {
  readonly #clock: Clock
  readonly #failed = new Map<string, { nextMs: number; toldAt: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns when to try it again, and whether to tell now. */
  fail(id: string): { waitMs: number; isNews: boolean } {
    const now = this.#clock.now().getTime()
    const { nextMs, toldAt } = this.#failed.get(id) ?? { nextMs: firstMs, toldAt: -Infinity }
    const isNews = now - toldAt >= tellEveryMs
    this.#failed.set(id, { nextMs: Math.min(2 * nextMs, longestMs), toldAt: isNews ? now : toldAt })
    return { waitMs: nextMs, isNews }
  }

  /** It succeeded, or nobody wants it any more. */
  forget(id: string): void {
    this.#failed.delete(id)
  }
}
