-- The sandbox code host; used only where no real one is configured. Names are compared without regard to case.

-- An account with members is an organization; every other name is a person.
create table sandbox_members (
  organization text not null,
  member text not null,
  primary key (organization, member)
);

create table sandbox_repositories (
  id integer generated always as identity (start with 700000001) primary key,
  owner text not null,
  name text not null,
  is_private boolean not null,
  default_branch text not null,
  -- Ref by ref, what the last push event said: the difference to the refs on disk is what the next one has to say.
  announced jsonb not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  pushed_at timestamptz
);

create unique index sandbox_repositories_full_name on sandbox_repositories (lower(owner), lower(name));

create table sandbox_installations (
  id integer generated always as identity (start with 50000001) primary key,
  account text not null,
  -- All repositories of the account, those to come too; else the ones that are named.
  holds_all boolean not null,
  suspended_by text,
  suspended_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create unique index sandbox_installations_account on sandbox_installations (lower(account));

create table sandbox_installation_repositories (
  installation_id integer not null references sandbox_installations on delete cascade,
  repository_id integer not null references sandbox_repositories on delete cascade,
  primary key (installation_id, repository_id)
);

create index sandbox_installation_repositories_repository_id on sandbox_installation_repositories (repository_id);

-- Authorization codes, access and refresh tokens: only their SHA-256.
create table sandbox_tokens (
  hash bytea primary key,
  kind text not null check (kind in ('code', 'manifest', 'user', 'refresh', 'installation')),
  login text,
  -- A refresh token and the access token that came with it have the same.
  pair uuid,
  installation_id integer references sandbox_installations on delete cascade,
  -- Null: all repositories of the installation.
  repository_ids integer[],
  permissions jsonb,
  -- Of a code: where it was sent, and the challenge that its use has to answer.
  redirect_uri text,
  challenge text,
  expires_at timestamptz not null
);

create index sandbox_tokens_expires_at on sandbox_tokens (expires_at);
create index sandbox_tokens_login on sandbox_tokens (lower(login));
create index sandbox_tokens_pair on sandbox_tokens (pair);
create index sandbox_tokens_installation_id on sandbox_tokens (installation_id);

create table sandbox_statuses (
  id integer generated always as identity primary key,
  repository_id integer not null references sandbox_repositories on delete cascade,
  sha text not null,
  state text not null,
  context text not null,
  description text,
  target_url text,
  -- Null: the app itself.
  creator text,
  created_at timestamptz not null
);

create index sandbox_statuses_commit on sandbox_statuses (repository_id, sha, id);

create table sandbox_deliveries (
  id integer generated always as identity primary key,
  guid uuid not null,
  event text not null,
  action text,
  -- The very bytes that are sent and signed.
  body text not null,
  status text not null default 'waiting' check (status in ('waiting', 'delivered', 'failed')),
  attempts integer not null default 0,
  answer_status integer,
  answer text,
  created_at timestamptz not null
);

create index sandbox_deliveries_waiting on sandbox_deliveries (id) where status = 'waiting';
