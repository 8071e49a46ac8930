import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import { dayOf } from './heat.ts'

const dayMs = 86_400_000
// Who voted for what is nobody's business for longer than it takes to look into a complaint.
const votesKeptMs = 90 * dayMs
const daysKeptMs = 400 * dayMs
const reportsKeptMs = 180 * dayMs
// An expired code can be told from an unknown one for a while.
const registrationsKeptMs = 7 * dayMs
const atOnce = 5_000

/** Removes what nobody will ask for any more, some at a time. Nothing depends on when. */
export async function pruneList({ pool, clock, log }: App): Promise<void> {
  const now = clock.now()
  const before = (ms: number) => new Date(now.getTime() - ms)
  try {
    await deleteAll(pool, 'votes', 'day < $1', dayOf(before(votesKeptMs)))
    await deleteAll(pool, 'listing_days', 'day < $1', dayOf(before(daysKeptMs)))
    await deleteAll(pool, 'reports', 'created_at < $1', before(reportsKeptMs))
    await deleteAll(pool, 'registrations', 'expires_at < $1', before(registrationsKeptMs))
    // Only the index knows them as certified still.
    await pool.query(
      `update standings set is_badged = false where bot_id in (
         select bot_id from standings where is_badged and certified_until <= $1
         order by bot_id for no key update skip locked)`,
      [now],
    )
  } catch (error) {
    if (!(error instanceof DatabaseAway)) log.error({ err: error }, 'old rows of the bot list could not be removed')
  }
}

async function deleteAll(
  pool: App['pool'],
  table: 'votes' | 'listing_days' | 'reports' | 'registrations',
  condition: string,
  value: string | Date,
): Promise<void> {
  // By the place of the row: these tables have keys of several columns.
  const text = `with gone as (delete from ${table} where ctid = any(array(select ctid from ${table} where ${condition} limit ${atOnce})) returning 1)
    select count(*)::integer as count from gone`
  for (let count = atOnce; count === atOnce; )
    count = (await pool.query<{ count: number }>(text, [value]))[0]?.count ?? 0
}
