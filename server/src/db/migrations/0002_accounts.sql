create table users (
  id text primary key,
  -- The snowflake of the chat platform. The owner has none until they sign in through it.
  chat_user_id text unique,
  name text not null,
  avatar_url text,
  role text not null check (role in ('owner', 'user')),
  suspended_at timestamptz,
  -- Null: the server's default holds.
  bots_max integer,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- There is one owner, however many servers start for the first time together.
create unique index users_one_owner on users (role) where role = 'owner';
create index users_by_age on users (created_at desc, id desc);

create table api_keys (
  id text primary key,
  user_id text not null references users on delete cascade,
  name text not null,
  -- Looked up by it. The key itself is nowhere.
  hash bytea not null unique,
  last4 text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  -- Comes from the operator's environment, and goes when another one stands there.
  is_bootstrap boolean not null default false
);

create index api_keys_of_user on api_keys (user_id, created_at desc);

-- One a log-in. The browser's cookie and all tokens that were made from it end with the row.
create table sessions (
  id text primary key,
  user_id text not null references users on delete cascade,
  cookie_hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index sessions_of_user on sessions (user_id);
create index sessions_expires_at on sessions (expires_at);

-- What is good for one use within minutes: log-in states, one-time links, pairings of devices, invitations.
create table one_time_codes (
  hash bytea primary key,
  kind text not null,
  data jsonb not null,
  expires_at timestamptz not null
);

create index one_time_codes_expires_at on one_time_codes (expires_at);

create table device_pairings (
  id text primary key,
  device_code_hash bytea not null unique,
  user_code text not null unique,
  client_name text not null,
  -- Set when somebody decides; the key is made when the device comes for it.
  user_id text references users on delete cascade,
  status text not null check (status in ('pending', 'approved', 'denied')),
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index device_pairings_expires_at on device_pairings (expires_at);

create table audit_events (
  id text primary key,
  user_id text not null references users on delete cascade,
  kind text not null,
  details jsonb not null,
  ip text,
  created_at timestamptz not null
);

create index audit_events_of_user on audit_events (user_id, id desc);

-- Written in the transaction of the request, so that a record and its key are there together or not at all.
create table idempotency_keys (
  credential text not null,
  key text not null,
  fingerprint bytea not null,
  status integer,
  answer jsonb,
  location text,
  -- Instead of an answer that holds a secret.
  record_id text,
  expires_at timestamptz not null,
  primary key (credential, key)
);

create index idempotency_keys_expires_at on idempotency_keys (expires_at);

-- The sandbox chat platform's bots; used only where no real platform is configured.
create table sandbox_applications (
  id text primary key,
  name text not null,
  description text not null
);
