-- Set once the bot has been stopped for it: until then it is due in the index below.
alter table bots add column is_expired boolean not null default false;
alter table bots add column deploy_key bytea;
create index bots_due_to_expire on bots (expires_at) where not is_expired;

create table servers (
  bot_id text primary key references bots on delete cascade,
  -- The node that its processes and files are on; null: never deployed.
  node_id text,
  wanted text not null default 'offline' check (wanted in ('offline', 'running')),
  state text not null default 'offline' check (state in ('offline', 'starting', 'running', 'stopping', 'crashed')),
  state_at timestamptz not null,
  -- A running one has to be stopped first.
  is_restart_wanted boolean not null default false,
  -- Whether renewing starts it again.
  is_expiry_stop boolean not null default false,
  -- The deployment whose release is started.
  release_id text,
  -- A deployment that is swapping releases has the server for itself, over restarts of ours too.
  deployment_id text,
  -- Whether that deployment has begun to start its release.
  is_swapped boolean not null default false,
  instance_id text,
  started_at timestamptz,
  restarts integer not null default 0,
  -- Of the last two minutes.
  crashes timestamptz[] not null default '{}',
  -- Crashes in a row: how long the next restart waits.
  backoff integer not null default 0,
  restart_at timestamptz,
  last_exit jsonb
);

insert into servers (bot_id, state_at) select id, created_at from bots;

-- What a node has to look after when it starts.
create index servers_in_use on servers (node_id) where wanted <> 'offline' or state <> 'offline';

create table startup_variables (
  bot_id text not null references bots on delete cascade,
  key text not null,
  -- Encrypted.
  value bytea not null,
  is_secret boolean not null,
  updated_at timestamptz not null,
  primary key (bot_id, key)
);

create table deployments (
  id text primary key,
  bot_id text not null references bots on delete cascade,
  node_id text not null,
  source text not null,
  status text not null check (status in
    ('queued', 'fetching', 'installing', 'building', 'starting', 'succeeded', 'failed', 'canceled', 'superseded')),
  branch text,
  -- Asked for, until it is fetched: then the one that was built.
  commit_sha text,
  commit_msg text,
  -- Made by a push; what a newer one makes needless.
  is_push boolean not null default false,
  -- The deployment whose release is started again, without a build.
  rollback_of text,
  -- What ran before it, to go back to.
  previous_release_id text,
  is_cancel_wanted boolean not null default false,
  error jsonb,
  steps jsonb not null default '[]',
  -- How its release is started: command line and environment.
  release jsonb,
  is_release_kept boolean not null default false,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz
);

create index deployments_of_bot on deployments (bot_id, id desc);
create index deployments_to_do on deployments (node_id, id)
  where status in ('queued', 'fetching', 'installing', 'building', 'starting');

-- Bots whose rows are gone and whose processes and files are not yet.
create table removals (
  bot_id text primary key,
  -- 'any': it was never on a node; whoever has something of it removes that.
  node_id text not null
);

-- Whichever way a bot's row goes, with its owner's too, its node hears of it in the same transaction.
create function note_removal() returns trigger language plpgsql as $$
begin
  insert into removals (bot_id, node_id)
    select bot_id, coalesce(node_id, 'any') from servers where bot_id = old.id
    on conflict do nothing;
  perform pg_notify('botberth_work', 'removal ' || old.id);
  return old;
end
$$;

create trigger note_removal before delete on bots for each row execute function note_removal();

-- What happened, as it is told to whoever subscribed. The body is made once.
create table events (
  id text primary key,
  user_id text not null,
  bot_id text not null,
  event text not null,
  body text not null,
  created_at timestamptz not null
);

create index events_of_bot on events (bot_id, id desc);

create table resource_samples (
  bot_id text not null references bots on delete cascade,
  at timestamptz not null,
  cpu_percent real not null,
  memory_bytes bigint not null,
  network_rx_bytes bigint not null,
  network_tx_bytes bigint not null,
  primary key (bot_id, at)
);

create index resource_samples_by_age on resource_samples (at);
