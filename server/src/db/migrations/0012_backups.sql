create table backups (
  id text primary key,
  bot_id text not null references bots on delete cascade,
  -- The node that has the bot's files, and the archive if that is on a disk.
  node_id text not null,
  status text not null default 'running' check (status in ('running', 'completed', 'failed')),
  store text not null check (store in ('disk', 's3')),
  is_scheduled boolean not null,
  is_locked boolean not null default false,
  -- Its archive has to be removed; then the row goes too.
  is_deleted boolean not null default false,
  size_bytes bigint,
  -- Of the files in it, unpacked.
  content_bytes bigint,
  checksum text,
  error jsonb,
  created_at timestamptz not null,
  completed_at timestamptz
);

create index backups_of_bot on backups (bot_id, id desc);
create index backups_to_do on backups (node_id) where status = 'running' or is_deleted;

create table restores (
  id text primary key,
  bot_id text not null references bots on delete cascade,
  backup_id text not null references backups on delete cascade,
  node_id text not null,
  status text not null default 'running' check (status in ('running', 'completed', 'failed')),
  -- How far it is. Written down before it is done, so that whoever takes it up after a kill goes on from there.
  step text not null default 'preparing'
    check (step in ('preparing', 'swapping', 'trying', 'going_back', 'cleaning', 'done')),
  -- What the bot gets, and what it had: its release and its variables, which are sealed. Its files are on its disk.
  wanted jsonb,
  previous jsonb,
  error jsonb,
  created_at timestamptz not null,
  finished_at timestamptz
);

create index restores_of_bot on restores (bot_id);
create index restores_of_backup on restores (backup_id, id desc);
create unique index restores_one_of_bot on restores (bot_id) where status = 'running';
create index restores_to_do on restores (node_id) where step <> 'done';

-- A restore that is swapping files has the server for itself, as a deployment has.
-- If ever the row of the restore goes, the server is free again.
alter table servers add column restore_id text references restores on delete set null;
create index servers_in_restore on servers (restore_id) where restore_id is not null;

alter table bots add column backup_due_at timestamptz;
update bots set backup_due_at = now() where backups_daily;
create index bots_due_for_backup on bots (backup_due_at) where backups_daily and not is_expired;
