import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import { firstIdAt } from '../lib/ids.ts'
import { deleteEventsBefore } from './queries.ts'

const keptMs = 14 * 24 * 60 * 60_000
const atOnce = 1_000

/** Removes events with their deliveries when nobody will ask for them any more, some at a time. */
export async function pruneEvents({ pool, clock, log }: App): Promise<void> {
  const firstKept = firstIdAt('evt', new Date(clock.now().getTime() - keptMs))
  try {
    while ((await deleteEventsBefore(pool.db, firstKept, atOnce)) === atOnce);
  } catch (error) {
    if (!(error instanceof DatabaseAway)) log.error({ err: error }, 'old events could not be removed')
  }
}
