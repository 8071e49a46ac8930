-- A test event is of no bot. What happened to somebody's bots goes with them.
alter table events alter column bot_id drop not null;
delete from events where not exists (select from users where users.id = events.user_id);
alter table events add foreign key (user_id) references users on delete cascade;
create index events_of_user on events (user_id);

create table webhook_subscriptions (
  id text primary key,
  user_id text not null references users on delete cascade,
  url text not null,
  events text[] not null,
  -- Encrypted.
  secret bytea not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('consecutive_failures', 'owner')),
  -- Grows each time that it is enabled again: what was made before then counts no more.
  epoch integer not null default 0,
  consecutive_failures integer not null default 0,
  -- Its last attempt took all of its time.
  is_slow boolean not null default false,
  last_delivery_at timestamptz,
  created_at timestamptz not null
);

create index webhook_subscriptions_of_user on webhook_subscriptions (user_id, id desc);

-- The queue and the log of it. The bytes that are sent are the event's.
create table webhook_deliveries (
  id text primary key,
  subscription_id text not null references webhook_subscriptions on delete cascade,
  -- Written in one transaction with it, and removed at the same age: a reference would need an index of its own.
  event_id text not null,
  epoch integer not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'canceled', 'dropped')),
  -- Why it ended without being delivered.
  reason text,
  -- A test, or a delivery that was asked for again: one attempt, whose failure does not count.
  is_manual boolean not null default false,
  -- Scheduled attempts that have ended. The next one has the number after it.
  tries integer not null default 0,
  -- In a row.
  interruptions integer not null default 0,
  -- What came of each attempt, the oldest first.
  attempts jsonb not null default '[]',
  -- When it is due; null unless it is pending.
  next_at timestamptz,
  -- An attempt is under way: which one, by whom, and until when at most.
  claim_id text,
  node_id text,
  lease_until timestamptz,
  created_at timestamptz not null,
  delivered_at timestamptz,
  finished_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

create index webhook_deliveries_of_subscription on webhook_deliveries (subscription_id, id desc);
create index webhook_deliveries_to_do on webhook_deliveries (subscription_id, next_at)
  where status = 'pending' and claim_id is null;
create index webhook_deliveries_under_way on webhook_deliveries (subscription_id) where claim_id is not null;

-- Takes deliveries that are due, of these subscriptions and at most so many. One call that answers with little, so that no
-- server that stops in the middle holds anybody up: until all of the answer is sent, the lock below is held.
-- Subscriptions that are being changed at this moment come back without a delivery: look again.
create function claim_deliveries(
  wanted text[], most integer, claim text, node text, at timestamptz, lease timestamptz
) returns table (subscription_id text, delivery_id text) language plpgsql
-- By the indexes in their order, whatever the planner thinks of the sizes: four of ten thousand, not all of them sorted.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  -- One at a time: whoever counts what is under way has to see what the one before has taken.
  perform pg_advisory_xact_lock(7236012985);
  return query
  with receivers as materialized (
    select s.id, s.status,
      4 - (select count(*) from webhook_deliveries u where u.subscription_id = s.id and u.claim_id is not null) as room
    from webhook_subscriptions s
    where s.id = any(wanted)
    -- Nobody disables it until these are claimed.
    for share of s skip locked
  ), due as (
    select d.id
    from receivers r cross join lateral (
      select w.id, w.next_at from webhook_deliveries w
      where w.subscription_id = r.id and w.status = 'pending' and w.claim_id is null and w.next_at <= at
        and (r.status = 'active' or w.is_manual)
      order by w.next_at
      limit greatest(0, r.room)
    ) d
    order by d.next_at
    limit most
  ), claimed as (
    update webhook_deliveries d
    set claim_id = claim, node_id = node, lease_until = lease
    from due
    where d.id = due.id
    returning d.subscription_id, d.id
  )
  select * from claimed
  union all
  select s.id, null
  from webhook_subscriptions s
  where s.id = any(wanted) and not exists (select from receivers r where r.id = s.id);
end
$$;
