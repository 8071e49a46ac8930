-- What the operator hides stays hidden: of the application and not of the listing, so that nobody brings a bot back by
-- taking it from the list and listing it anew.
create table hidden_bots (
  application_id text primary key,
  bot_id text not null,
  hidden_at timestamptz not null
);

create index hidden_bots_by_bot on hidden_bots (bot_id);

insert into hidden_bots (application_id, bot_id, hidden_at)
  select l.application_id, l.bot_id, s.hidden_at from listings l join standings s on s.bot_id = l.bot_id
  where s.hidden_at is not null;

-- Reports outlive the listing for the same reason. The name is that of the bot when it was reported.
alter table reports drop constraint reports_bot_id_fkey;
alter table reports add bot_name text not null default '';
update reports r set bot_name = l.name from listings l where l.bot_id = r.bot_id;
alter table reports alter bot_name drop default;

-- The user of an old bot, whose id is another than its application's.
alter table sandbox_applications add bot_id text;

-- When the chat platform was last asked for the name and the picture; null: never.
alter table standings add profile_at timestamptz;
