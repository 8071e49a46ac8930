import { sql } from 'kysely'
import type { Db, Pool } from '../db/pool.ts'
import type { Attempt, DeliveryStatus } from '../db/tables.ts'
import { tx } from '../db/tx.ts'
import { cancelWaiting } from './queries.ts'

/** After the end of the attempt before. */
const waitsMs = [1_000, 5_000, 25_000]
const failuresMax = 10
const attemptsKept = 20
/** So late an answer is one that holds others up. */
const slowMs = 2_000

/** What came of an attempt, to be written down. */
export interface Result {
  readonly id: string
  readonly claimId: string
  readonly subscriptionId: string
  readonly attempt: Attempt
  readonly isManual: boolean
  readonly endedAt: Date
}

export interface Settled {
  readonly subscriptionId: string
  readonly status: DeliveryStatus
  /** When to try again. */
  readonly nextAt: Date | undefined
  readonly isSlow: boolean
  /** It was the one too many. */
  readonly isDisabling: boolean
}

interface Locked {
  readonly id: string
  readonly claim_id: string
  readonly subscription_id: string
  readonly epoch: number
  readonly tries: number
  readonly is_delivered: boolean
  readonly status: 'active' | 'disabled'
  readonly subscription_epoch: number
  readonly consecutive_failures: number
}

/** A subscription as it becomes, result by result. */
interface Tally {
  isActive: boolean
  readonly epoch: number
  failures: number
  isSlow: boolean
  lastAt: Date
  disabledAt: Date | undefined
}

// How exact `lastDeliveryAt` is while one success follows another.
const lastDeliveryMs = 1_000

/**
 * Writes down successes that change nothing of their subscription: most of all results. One statement, which holds up
 * nobody who claims meanwhile. Returns the deliveries that it was true for.
 */
export async function settleSuccesses(pool: Pool, results: readonly Result[]): Promise<Set<string>> {
  const isPlain = ({ attempt, isManual }: Result) => attempt.outcome === 'succeeded' && !isManual && !isLate(attempt)
  // One after a failure ends a row of them, so both are written down in their order.
  const others = new Set(results.filter((result) => !isPlain(result)).map(({ subscriptionId }) => subscriptionId))
  const successes = results.filter((result) => isPlain(result) && !others.has(result.subscriptionId))
  if (successes.length === 0) return new Set()
  const rows = successes.map(({ id, claimId, attempt, endedAt }) => ({
    id,
    claim_id: claimId,
    attempt: [attempt],
    at: endedAt,
  }))
  const settled = await pool.query<{ id: string }>(
    `update webhook_deliveries d set
       status = 'delivered', reason = null, tries = d.tries + 1, interruptions = 0, attempts = d.attempts || r.attempt,
       next_at = null, claim_id = null, node_id = null, lease_until = null, delivered_at = r.at, finished_at = r.at
     from jsonb_to_recordset($1::jsonb) as r (id text, claim_id text, attempt jsonb, at timestamptz)
     where d.id = r.id and d.claim_id = r.claim_id
       -- Not a join: the planner, who takes both lists for short, would pair every subscription with every result.
       and (select s.consecutive_failures = 0 and not s.is_slow
              and s.last_delivery_at > r.at - $2 * interval '1 millisecond'
            from webhook_subscriptions s where s.id = d.subscription_id)
     returning d.id`,
    [JSON.stringify(rows), lastDeliveryMs],
  )
  return new Set(settled.map(({ id }) => id))
}

/**
 * Writes down results in the order in which they came, many in one transaction: attempts, what is next, the count of
 * failures, and at the tenth the end of the subscription. Returns those that were still ours to tell; the others were
 * taken over by somebody else, or are gone.
 */
export async function settle(db: Db, results: readonly Result[]): Promise<Map<string, Settled>> {
  if (results.length === 0) return new Map()
  return tx(db, async (db) => {
    const locked = new Map((await lock(db, results)).map((row) => [row.id + row.claim_id, row]))
    const tallies = new Map<string, Tally>()
    const settled = new Map<string, Settled>()
    const rows: object[] = []
    for (const result of results) {
      const row = locked.get(result.id + result.claimId)
      if (!row) continue
      const tally = tallies.get(row.subscription_id) ?? beginTally(row, result.endedAt)
      tallies.set(row.subscription_id, tally)
      const next = decide(row, result, tally)
      rows.push({ id: result.id, attempt: [result.attempt], ...next })
      settled.set(result.id, {
        subscriptionId: row.subscription_id,
        status: next.status,
        nextAt: next.next_at,
        isSlow: tally.isSlow,
        isDisabling: tally.disabledAt === result.endedAt,
      })
    }
    if (rows.length === 0) return settled
    await updateDeliveries(db, rows)
    await updateSubscriptions(db, tallies)
    for (const [id, { disabledAt }] of tallies) if (disabledAt) await cancelWaiting(db, id, disabledAt)
    return settled
  })
}

/**
 * Subscriptions before deliveries, as their removal locks them, and in the order of their ids: two transactions that lock
 * several cannot wait for each other.
 */
async function lock(db: Db, results: readonly Result[]): Promise<Locked[]> {
  const subscriptionIds = [...new Set(results.map(({ subscriptionId }) => subscriptionId))]
  await sql`select from webhook_subscriptions where id = any(${subscriptionIds}::text[])
    order by id for no key update`.execute(db)
  const { rows } = await sql<Locked>`
    with mine as materialized (
      select d.id, d.claim_id, d.subscription_id, d.epoch, d.tries, d.delivered_at is not null as is_delivered
      from unnest(${results.map(({ id }) => id)}::text[], ${results.map(({ claimId }) => claimId)}::text[]) as r (id, claim_id)
      join webhook_deliveries d on d.id = r.id and d.claim_id = r.claim_id
      for no key update of d
    )
    select mine.*, s.status, s.epoch as subscription_epoch, s.consecutive_failures
    from mine join webhook_subscriptions s on s.id = mine.subscription_id`.execute(db)
  return rows
}

function beginTally({ status, subscription_epoch: epoch, consecutive_failures: failures }: Locked, at: Date): Tally {
  return { isActive: status === 'active', epoch, failures, isSlow: false, lastAt: at, disabledAt: undefined }
}

function isLate({ durationMs }: Attempt): boolean {
  return durationMs !== null && durationMs >= slowMs
}

interface Next {
  readonly status: DeliveryStatus
  readonly reason: string | null
  readonly tries: number
  readonly next_at?: Date
  readonly delivered_at?: Date
  readonly finished_at?: Date
}

function decide(row: Locked, { attempt, isManual, endedAt }: Result, tally: Tally): Next {
  const tries = isManual ? row.tries : row.tries + 1
  tally.lastAt = endedAt
  tally.isSlow = isLate(attempt)
  if (attempt.outcome === 'succeeded') {
    if (tally.isActive) tally.failures = 0
    return { status: 'delivered', reason: null, tries, delivered_at: endedAt, finished_at: endedAt }
  }
  if (isManual) return { ...failedByHand(row), tries, finished_at: endedAt }
  // Made before the subscription was disabled, it does not count for what it is now.
  const isCurrent = tally.isActive && tally.epoch === row.epoch
  const waitMs = waitsMs[tries - 1]
  if (waitMs === undefined) {
    if (isCurrent) countFailure(tally, endedAt)
    return { status: 'failed', reason: 'attempts_failed', tries, finished_at: endedAt }
  }
  if (!isCurrent) return { status: 'canceled', reason: 'subscription_disabled', tries, finished_at: endedAt }
  return { status: 'pending', reason: null, tries, next_at: new Date(endedAt.getTime() + waitMs) }
}

/** What was delivered once stays delivered. */
function failedByHand({ is_delivered: isDelivered }: Locked): Pick<Next, 'status' | 'reason'> {
  return isDelivered ? { status: 'delivered', reason: null } : { status: 'failed', reason: 'attempts_failed' }
}

function countFailure(tally: Tally, at: Date): void {
  tally.failures++
  if (tally.failures < failuresMax) return
  tally.isActive = false
  tally.disabledAt = at
}

async function updateDeliveries(db: Db, rows: readonly object[]): Promise<void> {
  await sql`
    update webhook_deliveries d set
      status = r.status, reason = r.reason, tries = r.tries, is_manual = false, interruptions = 0,
      attempts = case when jsonb_array_length(d.attempts) < ${attemptsKept} then d.attempts else d.attempts - 0 end || r.attempt,
      next_at = r.next_at, claim_id = null, node_id = null, lease_until = null,
      delivered_at = coalesce(r.delivered_at, d.delivered_at), finished_at = r.finished_at
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r (id text, status text, reason text, tries integer,
      attempt jsonb, next_at timestamptz, delivered_at timestamptz, finished_at timestamptz)
    where d.id = r.id`.execute(db)
}

async function updateSubscriptions(db: Db, tallies: ReadonlyMap<string, Tally>): Promise<void> {
  const rows = [...tallies].map(([id, { failures, isSlow, lastAt, disabledAt }]) => ({
    id,
    failures,
    is_slow: isSlow,
    last_at: lastAt,
    disabled_at: disabledAt,
  }))
  await sql`
    update webhook_subscriptions s set
      consecutive_failures = r.failures, is_slow = r.is_slow, last_delivery_at = r.last_at,
      status = case when r.disabled_at is null then s.status else 'disabled' end,
      disabled_at = coalesce(r.disabled_at, s.disabled_at),
      disabled_reason = case when r.disabled_at is null then s.disabled_reason else 'consecutive_failures' end
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r (id text, failures integer, is_slow boolean,
      last_at timestamptz, disabled_at timestamptz)
    where s.id = r.id`.execute(db)
}
