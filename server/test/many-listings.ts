import type { Pool } from '../src/db/pool.ts'

/**
 * Fills the list by plain SQL. `common` stands in every listing, `half` in every second, `rare` in every hundredth;
 * every tenth is certified.
 */
export async function makeManyListings(pool: Pool, { listings, now }: { listings: number; now: Date }): Promise<void> {
  await pool.query(
    `insert into users (id, name, role, created_at, updated_at) values ('usr_many', 'Many', 'user', $1, $1)`,
    [now],
  )
  await pool.query(
    `insert into listings (bot_id, application_id, user_id, name, words, created_at, updated_at)
     select id, id, 'usr_many', 'Bot ' || n, array_to_tsvector(array_remove(array[
       'common', '#everything', 'bot', 'w' || n, case when n % 2 = 0 then 'half' end, case when n % 100 = 0 then 'rare' end
     ], null)), $2::timestamptz - n * interval '1 minute', $2
     from (select n, (800000000000000000 + n)::text as id from generate_series(1, $1::integer) n) as b`,
    [listings, now],
  )
  await pool.query(
    `insert into standings (bot_id, server_count, stats_at, certified_until, is_badged, month, heat, created_at)
     select bot_id, n * 7919 % 1000, $1, case when n % 10 = 0 then $1::timestamptz + interval '1 day' end, n % 10 = 0,
       '2000-01-01', 2900 + n * 7907 % 1000 / 100.0, created_at
     from (select *, (bot_id::bigint - 800000000000000000)::integer as n from listings where user_id = 'usr_many') as l`,
    [now],
  )
  await pool.query('analyze listings, standings')
}
