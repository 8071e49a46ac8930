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

-- Of the last attempt to deliver it, and whether somebody has asked for it once more.
alter table sandbox_deliveries add column attempted_at timestamptz, add column is_repeat boolean not null default false;

-- Events that we had sent again, because they were missed: what cannot be delivered is not asked for for ever.
create table codehost_redeliveries (
  -- Of the event, the same in all attempts to deliver it.
  guid text primary key,
  tries integer not null,
  asked_at timestamptz not null
);
create index codehost_redeliveries_by_age on codehost_redeliveries (asked_at);

-- A push that was heard of too late says nothing about its commit: a deployment of the same one may have succeeded.
drop trigger note_commit_status on deployments;
create trigger note_commit_status after insert or update of status, commit_sha on deployments
  for each row when (
    new.commit_sha is not null and new.rollback_of is null and new.error ->> 'code' is distinct from 'push_outdated'
  )
  execute function note_commit_status();
