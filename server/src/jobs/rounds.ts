import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'

const retryMs = 500
// A clock that was set forward is noticed within this.
const longestMs = 60_000

interface Options {
  readonly app: Pick<App, 'clock' | 'log'>
  /** For the log, if a round fails. */
  readonly failure: string
  /** Does what is due. Returns in how many milliseconds the next may be. */
  round(): Promise<number>
}

/** Does one thing again and again, when it is due, until it is closed; sooner after a round that failed. */
export class Rounds {
  readonly #options: Options
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
  }

  async run(): Promise<void> {
    if (this.#isClosed) return
    const { app, failure, round } = this.#options
    try {
      const dueMs = await round()
      this.#later(Math.min(Math.max(0, dueMs), app.clock.pollMs ?? longestMs))
    } catch (error) {
      if (!(error instanceof DatabaseAway)) app.log.error({ err: error }, failure)
      this.#later(retryMs)
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #later(ms: number): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.run(), ms).unref()
  }
}
