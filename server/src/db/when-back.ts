import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseAway } from './pool.ts'

const retryMs = 500

/** For a start, which has nobody to answer 503 to: a database that is away for a moment is no reason to give up. */
export async function whenBack<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof DatabaseAway)) throw error
    }
    await sleep(retryMs, undefined, { signal })
  }
}
