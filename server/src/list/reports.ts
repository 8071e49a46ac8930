import { sql } from 'kysely'
import type { Db } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'
import { newId } from '../lib/ids.ts'

interface NewReport {
  readonly botId: string
  readonly userId: string | undefined
  readonly reason: string
}

/** Throws `not_found` unless it is on the list. It, and the reporter, may leave at the same time: the report stays. */
export async function insertReport(db: Db, { botId, userId, reason }: NewReport, now: Date): Promise<string> {
  const listed = await db
    .selectFrom('listings')
    .innerJoin('standings', 'standings.bot_id', 'listings.bot_id')
    .select('name')
    .where('listings.bot_id', '=', botId)
    .where('hidden_at', 'is', null)
    .executeTakeFirst()
  if (!listed) throw new AppError('not_found')
  const id = newId('rpt', now)
  await db
    .insertInto('reports')
    .values({
      id,
      bot_id: botId,
      bot_name: listed.name,
      user_id: sql<string | null>`(select id from users where id = ${userId ?? null} for key share)`,
      reason,
      created_at: now,
    })
    .execute()
  return id
}

export interface ReportRow {
  readonly id: string
  readonly bot_id: string
  /** As it was then. */
  readonly bot_name: string
  readonly is_hidden: boolean
  readonly reason: string
  readonly user_id: string | null
  readonly reporter_name: string | null
  readonly created_at: Date
}

/** Newest first. */
export async function listReports(
  db: Db,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: ReportRow[]; total: number }> {
  const rows = await db
    .selectFrom('reports as r')
    .leftJoin('users as u', 'u.id', 'r.user_id')
    .select((eb) => [
      'r.id',
      'r.bot_id',
      'r.bot_name',
      eb
        .exists(eb.selectFrom('hidden_bots as h').select('h.bot_id').whereRef('h.bot_id', '=', 'r.bot_id'))
        .$castTo<boolean>()
        .as('is_hidden'),
      'r.reason',
      'r.user_id',
      'u.name as reporter_name',
      'r.created_at',
    ])
    .orderBy('r.created_at', 'desc')
    .orderBy('r.id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  const { count } = await db
    .selectFrom('reports')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow()
  return { rows, total: Number(count) }
}
