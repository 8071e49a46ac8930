import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import { firstIdAt } from '../lib/ids.ts'
import { deleteDeliveriesBefore, deleteEventsBefore } from './queries.ts'

const keptMs = 14 * 24 * 60 * 60_000
const atOnce = 1_000
// An event's id may be a little older than those of its deliveries.
const marginMs = 60_000

/** Removes deliveries, then their events, when nobody will ask for them any more, some at a time. */
export async function pruneEvents({ pool: { db }, clock, log }: App): Promise<void> {
  const firstKept = new Date(clock.now().getTime() - keptMs)
  const goneBefore = new Date(firstKept.getTime() - marginMs)
  try {
    while ((await deleteDeliveriesBefore(db, firstIdAt('dlv', firstKept), atOnce)) === atOnce);
    while ((await deleteEventsBefore(db, firstIdAt('evt', goneBefore), atOnce)) === atOnce);
  } catch (error) {
    if (!(error instanceof DatabaseAway)) log.error({ err: error }, 'old events could not be removed')
  }
}
