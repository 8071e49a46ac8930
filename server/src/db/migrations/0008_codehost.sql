-- Somebody's account on the code host, and what lets us act for them there.
create table codehost_connections (
  user_id text primary key references users on delete cascade,
  account_id bigint not null,
  login text not null,
  avatar_url text,
  -- Encrypted: the access token and the one to get a new one with.
  tokens bytea not null,
  -- When the access token ends; null: never.
  expires_at timestamptz,
  -- Somebody is getting new ones, which ends the old ones at once: until then at most nobody else may try.
  refresh_until timestamptz,
  -- When the platform last took the access token.
  checked_at timestamptz not null,
  connected_at timestamptz not null
);

-- Whoever takes our app's rights back is told to us by the number of their account.
create index codehost_connections_of_account on codehost_connections (account_id);

-- Repositories that bots are deployed from. By number: names change, and come to belong to others.
create table codehost_links (
  bot_id text primary key references bots on delete cascade,
  installation_id bigint not null,
  repo_id bigint not null,
  full_name text not null,
  -- Why nothing can be fetched at present.
  problem text check (problem in ('suspended', 'removed', 'deleted', 'transferred')),
  -- Of the newest push that we have heard of: an older one that comes later is not deployed over it.
  pushed_at timestamptz,
  connected_at timestamptz not null
);

create index codehost_links_of_repo on codehost_links (repo_id);
create index codehost_links_of_installation on codehost_links (installation_id);

-- What the platform told us, each delivery once: the queue, and the memory of what has come.
create table codehost_events (
  -- The platform's own.
  id text primary key,
  event text not null,
  -- What matters of it, as JSON; null once it is handled.
  body text,
  attempts integer not null default 0,
  -- When to handle it; null: it is done.
  next_at timestamptz,
  -- What came of it, for whoever looks.
  outcome text,
  received_at timestamptz not null
);

create index codehost_events_to_do on codehost_events (next_at) where next_at is not null;
create index codehost_events_by_age on codehost_events (received_at);

-- Paths that the pushes behind a deployment have changed; null: not known, or none of its business.
alter table deployments add column push_changes text[];

-- What the platform is to show beside a commit, and the queue of what it has not been told yet.
create table commit_statuses (
  deployment_id text primary key references deployments on delete cascade,
  installation_id bigint not null,
  repo_id bigint not null,
  commit_sha text not null,
  state text not null check (state in ('pending', 'success', 'failure', 'error')),
  attempts integer not null default 0,
  -- When to tell it; null: it has been told, or nobody wants to know.
  next_at timestamptz,
  -- Somebody is telling it: two at once could overtake each other.
  claimed_until timestamptz,
  created_at timestamptz not null
);

create index commit_statuses_to_do on commit_statuses (next_at) where next_at is not null;

-- Whichever way a deployment comes to its status, it is noted in the same transaction. Steps on the way are all
-- `pending`, and a rollback builds no commit.
create function note_commit_status() returns trigger language plpgsql as $$
declare
  wanted text := case
    when new.status = 'succeeded' then 'success'
    when new.status = 'failed' then 'failure'
    when new.status = 'canceled' and new.error ->> 'code' = 'push_skipped' then 'success'
    when new.status in ('canceled', 'superseded') then 'error'
    else 'pending'
  end;
  at timestamptz := coalesce(new.finished_at, new.started_at, new.created_at);
begin
  -- What was told once is told to the end, also if the bot was unlinked meanwhile.
  update commit_statuses set state = wanted, next_at = at, attempts = 0
    where deployment_id = new.id and state <> wanted;
  if not found then
    insert into commit_statuses (deployment_id, installation_id, repo_id, commit_sha, state, next_at, created_at)
      select new.id, installation_id, repo_id, new.commit_sha, wanted, at, at
      from codehost_links where bot_id = new.bot_id and problem is null
      on conflict (deployment_id) do nothing;
  end if;
  if found then
    perform pg_notify('botberth_work', 'codehost ' || new.id);
  end if;
  return new;
end
$$;

create trigger note_commit_status after insert or update of status, commit_sha on deployments
  for each row when (new.commit_sha is not null and new.rollback_of is null)
  execute function note_commit_status();
