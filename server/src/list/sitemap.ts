import type { Pool } from '../db/pool.ts'

// Search engines take up to 50,000 in one file; smaller ones are made sooner.
const perMap = 10_000

/** The first bot of each part of the site map. */
export async function listSitemapStarts(pool: Pool): Promise<string[]> {
  const rows = await pool.query<{ bot_id: string }>(
    `select bot_id from (select bot_id, row_number() over (order by bot_id) as n from listings) as l where n % ${perMap} = 1 order by n`,
    [],
  )
  return rows.map(({ bot_id: botId }) => botId)
}

/** A part of the site map: the bots from this one on. */
export function listSitemap(pool: Pool, start: string): Promise<{ bot_id: string; updated_at: Date }[]> {
  return pool.query<{ bot_id: string; updated_at: Date }>(
    `select l.bot_id, l.updated_at
     from (select bot_id, updated_at from listings where bot_id >= $1 order by bot_id limit ${perMap}) as l
     join standings s on s.bot_id = l.bot_id where s.hidden_at is null order by l.bot_id`,
    [start],
  )
}
