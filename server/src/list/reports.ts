import type { Db } from '../db/pool.ts'
import { newId } from '../lib/ids.ts'

interface NewReport {
  readonly botId: string
  readonly userId: string | undefined
  readonly reason: string
}

/** Of a bot that is known to be listed. */
export async function insertReport(db: Db, { botId, userId, reason }: NewReport, now: Date): Promise<string> {
  const id = newId('rpt', now)
  await db
    .insertInto('reports')
    .values({ id, bot_id: botId, user_id: userId ?? null, reason, created_at: now })
    .execute()
  return id
}

export interface ReportRow {
  readonly id: string
  readonly bot_id: string
  readonly name: string
  readonly hidden_at: Date | null
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
    .innerJoin('listings as l', 'l.bot_id', 'r.bot_id')
    .innerJoin('standings as s', 's.bot_id', 'r.bot_id')
    .leftJoin('users as u', 'u.id', 'r.user_id')
    .select([
      'r.id',
      'r.bot_id',
      'l.name',
      's.hidden_at',
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
