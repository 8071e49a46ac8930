import type { Pool } from '../db/pool.ts'

const interruptionsMax = 5
// A clock that was set back would leave them waiting: nothing waits longer than the last retry, 25 s, and clocks of servers
// differ by less than the rest.
const waitMaxMs = 90_000

/** A delivery that is ours to try now. */
export interface Claimed {
  readonly subscription_id: string
  readonly delivery_id: string
  readonly number: number
  readonly is_manual: boolean
  readonly user_id: string
  readonly url: string
  readonly secret: Buffer
  readonly event_id: string
  readonly event: string
  readonly body: string
  readonly created_at: Date
}

interface Claim {
  readonly subscriptionIds: readonly string[]
  readonly most: number
  readonly claimId: string
  readonly nodeId: string
  readonly now: Date
  readonly leaseUntil: Date
}

/** Committed before the first byte is sent. `busy`: subscriptions that somebody is changing; look again. */
export async function claimDeliveries(
  pool: Pool,
  { subscriptionIds, most, claimId, nodeId, now, leaseUntil }: Claim,
): Promise<{ claimed: Claimed[]; busy: string[] }> {
  const rows = await pool.query<{ subscription_id: string; delivery_id: string | null }>(
    'select * from claim_deliveries($1, $2, $3, $4, $5, $6)',
    [subscriptionIds, most, claimId, nodeId, now, leaseUntil],
  )
  const ids = rows.flatMap(({ delivery_id: id }) => (id === null ? [] : [id]))
  const busy = rows.flatMap(({ subscription_id, delivery_id }) => (delivery_id === null ? [subscription_id] : []))
  return { claimed: ids.length === 0 ? [] : await readClaimed(pool, ids), busy }
}

function readClaimed(pool: Pool, ids: readonly string[]): Promise<Claimed[]> {
  return pool.query<Claimed>(
    `select d.subscription_id, d.id as delivery_id, case when d.is_manual then 1 else d.tries + 1 end as number,
       d.is_manual, s.user_id, s.url, s.secret, e.id as event_id, e.event, e.body, d.created_at
     from webhook_deliveries d join webhook_subscriptions s on s.id = d.subscription_id join events e on e.id = d.event_id
     where d.id = any($1)`,
    [ids],
  )
}

/**
 * Gives back what nobody works on any more: what this node had in hand before it was killed, and what others have kept
 * past their lease. Whether the attempt got through is not known, so it is made again under the same number; what is
 * interrupted time and again may be the reason for it. `before`: a claim id made with the list of those that live, in
 * which what was claimed later is not.
 */
export async function releaseAbandoned(
  pool: Pool,
  { nodeId, live, now, before }: { nodeId: string; live: readonly string[]; now: Date; before: string },
): Promise<number> {
  const rows = await pool.query(
    `with lost as (
       select d.id, d.interruptions + 1 >= ${interruptionsMax} as is_poison,
         not d.is_manual and (s.status <> 'active' or s.epoch <> d.epoch) as is_moot
       from webhook_deliveries d join webhook_subscriptions s on s.id = d.subscription_id
       where d.claim_id is not null and d.claim_id <> all($2)
         and (d.node_id = $1 and d.claim_id < $5 collate "C" or d.lease_until < $3)
       for update of d skip locked
       for share of s skip locked -- nobody disables it before this is written
     )
     update webhook_deliveries d set
       claim_id = null, node_id = null, lease_until = null,
       interruptions = d.interruptions + 1,
       attempts = d.attempts || jsonb_build_object(
         'number', case when d.is_manual then 1 else d.tries + 1 end,
         'trigger', case when not d.is_manual then 'schedule' when e.event = 'ping' then 'test' else 'redelivery' end,
         'at', $4::text, 'durationMs', null, 'outcome', 'interrupted', 'statusCode', null, 'error', 'interrupted',
         'answer', null),
       status = case when not (is_poison or is_moot) then 'pending' when d.delivered_at is not null then 'delivered'
         when is_poison then 'failed' else 'canceled' end,
       reason = case when not (is_poison or is_moot) or d.delivered_at is not null then null
         when is_poison then 'interrupted_repeatedly' else 'subscription_disabled' end,
       next_at = case when not (is_poison or is_moot) then $3::timestamptz end,
       finished_at = case when is_poison or is_moot then $3::timestamptz end
     from lost, events e
     where d.id = lost.id and e.id = d.event_id
     returning d.id`,
    [nodeId, live, now, now.toISOString(), before],
  )
  return rows.length
}

/** What waits, by subscription: when to look there first. */
export async function listWaiting(pool: Pool, now: Date): Promise<{ subscription_id: string; next_at: Date }[]> {
  await pool.query(
    `update webhook_deliveries set next_at = $1
     where status = 'pending' and claim_id is null and next_at > $2`,
    [now, new Date(now.getTime() + waitMaxMs)],
  )
  return pool.query(
    `select subscription_id, min(next_at) as next_at from webhook_deliveries
     where status = 'pending' and claim_id is null group by subscription_id`,
  )
}
