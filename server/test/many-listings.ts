interface Database {
  query(text: string, values?: unknown[]): Promise<unknown>
}

interface Many {
  readonly listings: number
  readonly now: Date
  /** Words of which each stands in some of them, as in a description. */
  readonly wordsEach?: number
}

/**
 * Fills the list by plain SQL. `common` stands in every listing, `half` in every second, `rare` in every hundredth,
 * `w000007` in the seventh; every tenth is certified. The bot of the seventh has the id 800000000000000007.
 */
export async function makeManyListings(db: Database, { listings, now, wordsEach = 0 }: Many): Promise<void> {
  await db.query(
    `insert into users (id, name, role, created_at, updated_at) values ('usr_many', 'Many', 'user', $1, $1)`,
    [now],
  )
  await db.query(
    `insert into listings (bot_id, application_id, user_id, name, short_description, description, tags, words, created_at, updated_at)
     select id, id, 'usr_many', 'Bot ' || n, 'The bot of the number ' || n, repeat('What it does. ', $3), '{everything}',
       array_to_tsvector(array_remove(array[
         'common', '#everything', '음악', 'bot', 'w' || lpad(n::text, 6, '0'), case when n % 2 = 0 then 'half' end, case when n % 100 = 0 then 'rare' end
       ], null) || array(select 'v' || (n * 31 + k * k * 17) % 5000 from generate_series(1, $3) k)),
       $2::timestamptz - n * interval '1 minute', $2
     from (select n, (800000000000000000 + n)::text as id from generate_series(1, $1::integer) n) as b`,
    [listings, now, wordsEach],
  )
  await db.query(
    `insert into standings (bot_id, server_count, stats_at, certified_until, is_badged, month, heat, created_at)
     select bot_id, n * 7919 % 1000, $1, case when n % 10 = 0 then $1::timestamptz + interval '1 day' end, n % 10 = 0,
       '2000-01-01', 2900 + n::bigint * 7907 % 1000 / 100.0, created_at
     from (select *, (bot_id::bigint - 800000000000000000)::integer as n from listings where user_id = 'usr_many') as l`,
    [now],
  )
  await db.query('analyze listings, standings')
}
