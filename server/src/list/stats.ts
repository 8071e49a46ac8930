import type { Pool } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'
import { dayOf } from './heat.ts'

// A bucket of 120 updates for each bot, into which one falls back every 30 seconds.
const bucket = 120
const refillMs = 30_000
const bucketMs = bucket * refillMs
// Clocks of servers that count together differ a little.
const skewMs = 60_000

interface Told {
  readonly isCertified: boolean
  /** On this UTC day. */
  readonly isFirst: boolean
  /** What is left of the bucket. */
  readonly allowance: Allowance
}

export interface Allowance {
  readonly limit: number
  readonly remaining: number
  /** Until there is one more. */
  readonly nextMs: number
  readonly fullAt: Date
}

export const statsText = `with told as (
       update standings s set
         server_count = $2, stats_at = $3,
         -- One that ends much later than a bucket can was written before the clock was set back.
         stats_spent_until = case when s.stats_spent_until between $3 and $5 then s.stats_spent_until else $3 end
           + interval '${refillMs} milliseconds',
         certified_until = case when $4 or s.certified_until > $3 then $3::timestamptz + interval '3 days'
           else s.certified_until end,
         is_badged = s.is_badged or $4 or coalesce(s.certified_until > $3, false)
       from standings before
       where s.bot_id = $1 and before.bot_id = s.bot_id
         and (s.stats_spent_until is null or s.stats_spent_until not between $6 and $5)
       returning s.bot_id, coalesce(s.certified_until > $3, false) as is_certified, s.stats_spent_until,
         (before.stats_at >= $8) is not true as is_first, before.server_count is distinct from s.server_count as is_other
     ), day as (
       insert into listing_days as d (bot_id, day, server_count) select bot_id, $7::date, $2 from told where is_first or is_other
       on conflict (bot_id, day) do update set server_count = excluded.server_count
     )
     select is_certified, is_first, stats_spent_until from told`

interface Stats {
  readonly botId: string
  readonly serverCount: number
  readonly isHosted: boolean
}

export function statsValues({ botId, serverCount, isHosted }: Stats, now: Date): unknown[] {
  return [
    botId,
    serverCount,
    now,
    isHosted,
    new Date(now.getTime() + bucketMs + skewMs),
    new Date(now.getTime() + bucketMs - refillMs + 1),
    dayOf(now),
    new Date(`${dayOf(now)}T00:00:00Z`),
  ]
}

/**
 * Writes down a server count: one statement for the count, the certification, the bucket of updates, which is thus one
 * for all servers, and the day's row of the graph. Whoever is certified stays so by any update; hosting alone makes it so.
 */
export async function tellStats(pool: Pool, { botId, serverCount, isHosted }: Stats, now: Date): Promise<Told> {
  const values = statsValues({ botId, serverCount, isHosted }, now)
  const [told] = await pool.query<{ is_certified: boolean; is_first: boolean; stats_spent_until: Date }>(
    statsText,
    values,
  )
  if (told)
    return {
      isCertified: told.is_certified,
      isFirst: told.is_first,
      allowance: allowanceOf(told.stats_spent_until, now),
    }
  throw await refusal(pool, botId, now)
}

async function refusal(pool: Pool, botId: string, now: Date): Promise<AppError> {
  const [row] = await pool.query<{ stats_spent_until: Date }>(
    'select stats_spent_until from standings where bot_id = $1',
    [botId],
  )
  if (!row) return new AppError('unauthenticated') // taken from the list a moment ago
  const allowance = allowanceOf(row.stats_spent_until, now)
  return new AppError('rate_limited', {
    detail: 'Statistics are wanted once an hour; these came much more often. Wait as long as `Retry-After` says.',
    headers: {
      ...allowanceHeaders(allowance, now),
      'retry-after': String(Math.max(1, Math.ceil(allowance.nextMs / 1000))),
    },
  })
}

function allowanceOf(spentUntil: Date, now: Date): Allowance {
  const spentMs = Math.max(0, spentUntil.getTime() - now.getTime())
  const remaining = Math.max(0, Math.floor((bucketMs - spentMs) / refillMs))
  const nextMs = spentMs - (bucket - remaining - 1) * refillMs
  return { limit: bucket, remaining, nextMs, fullAt: new Date(now.getTime() + spentMs) }
}

/** The fields of a limited answer. */
export function allowanceHeaders({ limit, remaining, nextMs, fullAt }: Allowance, now: Date): Record<string, string> {
  return {
    'ratelimit-policy': `"stats";q=${limit};w=${bucketMs / 1000}`,
    ratelimit: `"stats";r=${remaining};t=${Math.max(1, Math.ceil(nextMs / 1000))}`,
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(Math.max(fullAt.getTime(), now.getTime()) / 1000)),
  }
}

export interface Day {
  /** `2026-01-31` */
  readonly day: string
  readonly votes: number
  readonly serverCount: number | null
}

/** What was counted on each of the last days, the oldest first; days without anything are left out. */
export function listDays(pool: Pool, { botId, days }: { botId: string; days: number }, now: Date): Promise<Day[]> {
  return pool.query<Day & Record<string, unknown>>(
    `select day::text, votes, server_count as "serverCount" from listing_days
     where bot_id = $1 and day > $2::date - $3::integer order by day`,
    [botId, dayOf(now), days],
  )
}
