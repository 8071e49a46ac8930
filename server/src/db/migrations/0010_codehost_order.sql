-- What a deployment needs may be away for hours: it goes back to the queue, and its turn comes again at this time.
alter table deployments add column not_before timestamptz;

-- The pushes of the newest second that we have heard of, as moves of the branch from one commit to the next: times are
-- whole seconds, and deliveries come in any order. And the commit that was last asked to be deployed because of them.
alter table codehost_links
  add column pushes jsonb not null default '[]',
  add column head_sha text;

-- So many pushes have begun and were not told of yet: what a killed server leaves, the next one tells.
alter table sandbox_repositories add column pushes_under_way integer not null default 0;
create index sandbox_repositories_under_way on sandbox_repositories (id) where pushes_under_way > 0;

-- An attempt to tell it may have arrived although it failed, or may still arrive: what is told last is told once more.
alter table commit_statuses add column is_uncertain boolean not null default false;
create index commit_statuses_of_commit on commit_statuses (commit_sha);

-- An attempt to get new tokens ended without an answer: the platform may have taken the refresh token, which works once.
alter table codehost_connections add column is_refresh_uncertain boolean not null default false;

-- Of the last attempt to deliver it.
alter table sandbox_deliveries add column attempted_at timestamptz;
