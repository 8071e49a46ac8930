-- A bot of the chat platform on the public list: what its owner says of it. What is counted is in `standings`, because
-- it changes all the time, and each change of a row here would have to go through the index of words.
create table listings (
  -- The snowflake of the bot's user.
  bot_id text primary key,
  -- Another one for the oldest bots only.
  application_id text not null unique,
  user_id text not null references users on delete cascade,
  name text not null,
  avatar_url text,
  short_description text not null default '',
  description text not null default '',
  tags text[] not null default '{}',
  invite_url text,
  support_url text,
  website_url text,
  -- What a search finds it by, made by `list/words.ts`; none while it is hidden.
  words tsvector not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create index listings_of_user on listings (user_id, created_at desc);
-- Written at once: a list of pending words would have to be read through by every search.
create index listings_by_words on listings using gin (words) with (fastupdate = off);

-- One a listing. There is none after a transfer, until the new owner asks for one.
create table list_keys (
  bot_id text primary key references listings on delete cascade,
  -- Looked up by it. The key itself is nowhere.
  hash bytea not null unique,
  last4 text not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);

-- Whoever changes both locks this one before the listing, and several in the order of their ids.
create table standings (
  bot_id text primary key references listings on delete cascade,
  server_count integer,
  stats_at timestamptz,
  -- Until when the bucket of statistics updates is spoken for: 30 seconds for each.
  stats_spent_until timestamptz,
  -- Three days after the last update. Asked at each use, so that it ends at that moment.
  certified_until timestamptz,
  -- Certified, or was until lately: for the index alone. A sweep takes it back some time after the end.
  is_badged boolean not null default false,
  votes_total integer not null default 0,
  -- Of `month`, which begins on its first day.
  votes_month integer not null default 0,
  month date not null,
  -- Logarithm of all votes, each worth half as much for every week of its age. All grow old alike, so that the order
  -- stays right without any change: see `list/heat.ts`.
  heat double precision not null,
  hidden_at timestamptz,
  created_at timestamptz not null
) with (fillfactor = 80); -- most updates change nothing that is indexed and stay on their page

create index standings_by_heat on standings (heat desc, bot_id desc) where hidden_at is null;
create index standings_by_servers on standings (server_count desc nulls last, bot_id desc) where hidden_at is null;
create index standings_by_age on standings (created_at desc, bot_id desc) where hidden_at is null;
create index standings_badged on standings (heat desc, bot_id desc) where hidden_at is null and is_badged;

-- For the graph of a bot: one row for each day on which something was counted.
create table listing_days (
  -- Of the row that is changed with it: one of another would have to be locked too, and in the other order.
  bot_id text not null references standings on delete cascade,
  day date not null,
  votes integer not null default 0,
  -- As last told on that day.
  server_count integer,
  primary key (bot_id, day)
) with (fillfactor = 90);

create index listing_days_by_day on listing_days (day);

-- Not tied to the listing or the voter: whoever deletes one and makes it anew still has one vote a day.
create table votes (
  day date not null,
  bot_id text not null,
  -- Of the chat platform, as bots know their people.
  chat_user_id text not null,
  voted_at timestamptz not null,
  primary key (day, bot_id, chat_user_id)
);

create index votes_of_user on votes (chat_user_id);

-- Somebody says that a bot is theirs, and has until `expires_at` to prove it.
create table registrations (
  id text primary key,
  user_id text not null references users on delete cascade,
  bot_id text not null,
  application_id text not null,
  code text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (user_id, bot_id)
);

create index registrations_expires_at on registrations (expires_at);

create table reports (
  id text primary key,
  bot_id text not null references listings on delete cascade,
  -- Null: did not sign in, or has left.
  user_id text references users on delete set null,
  reason text not null,
  created_at timestamptz not null
);

create index reports_by_age on reports (created_at desc, id desc);
create index reports_of_bot on reports (bot_id);
create index reports_of_user on reports (user_id);

-- Subscriptions to the votes of a listing. They are its owner's, but none of those that the hosting API knows.
alter table webhook_subscriptions add listing_id text references listings on delete cascade;
create unique index webhook_subscriptions_of_listing on webhook_subscriptions (listing_id) where listing_id is not null;
