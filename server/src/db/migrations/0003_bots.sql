create table bots (
  id text primary key,
  user_id text not null references users on delete cascade,
  -- Of its server; what `/servers/{identifier}` takes.
  identifier text not null unique,
  name text not null,
  type text not null check (type in ('custom', 'git', 'marketplace')),
  language text,
  git_url text,
  git_branch text,
  auto_deploy_enabled boolean not null,
  template_id text,
  start_command text,
  build_command text,
  memory_mb integer not null,
  cpus double precision not null,
  disk_mb integer not null,
  backups_daily boolean not null default false,
  backups_keep integer not null default 3,
  -- Null: never deployed.
  first_deployed_at timestamptz,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create index bots_of_user on bots (user_id, id desc);
