import type { App } from '../context.ts'
import { deleteExpired } from './queries.ts'

const everyMs = 10 * 60_000
const auditKeptMs = 365 * 24 * 60 * 60_000

/** Removes, now and then, what can no longer be used. Nothing depends on when: expiry is checked at each use. */
export function startHousekeeping({ pool, clock, log }: App, signal: AbortSignal): void {
  const timer = setInterval(() => {
    const now = clock.now()
    deleteExpired(pool.db, now, new Date(now.getTime() - auditKeptMs)).catch((error: unknown) =>
      log.warn({ err: error }, 'expired rows could not be removed; the next round takes them'),
    )
  }, everyMs)
  signal.addEventListener('abort', () => clearInterval(timer))
  timer.unref()
}
