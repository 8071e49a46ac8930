import { type Selectable, sql, type UpdateObject } from 'kysely'
import type { Db } from '../db/pool.ts'
import type { Tables } from '../db/tables.ts'
import { AppError } from '../lib/app-error.ts'

export type BotRow = Selectable<Tables['bots']>

/** Newest first; ids sort by the time at which they were made. */
export function listBots(db: Db, userId: string): Promise<BotRow[]> {
  return db.selectFrom('bots').selectAll().where('user_id', '=', userId).orderBy('id', 'desc').execute()
}

/** Everybody's, for the operator, each with its owner's name. */
export async function listAllBots(
  db: Db,
  range: { limit: number; offset: number },
): Promise<{ rows: (BotRow & { owner_name: string })[]; total: number }> {
  const rows = await db
    .selectFrom('bots')
    .innerJoin('users', 'users.id', 'bots.user_id')
    .selectAll('bots')
    .select('users.name as owner_name')
    .orderBy('bots.id', 'desc')
    .limit(range.limit)
    .offset(range.offset)
    .execute()
  const total = await db.selectFrom('bots').select(sql<number>`count(*)::int`.as('count')).executeTakeFirst()
  return { rows, total: total?.count ?? 0 }
}

/** Somebody else's bot does not exist. */
export async function getOwnedBot(db: Db, userId: string, id: string): Promise<BotRow> {
  const bot = await db
    .selectFrom('bots')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (!bot) throw new AppError('not_found')
  return bot
}

export async function countBots(db: Db, userId: string): Promise<number> {
  const row = await db
    .selectFrom('bots')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.count ?? 0
}

export type NewBot = Omit<
  BotRow,
  'start_command' | 'build_command' | 'backups_daily' | 'backups_keep' | 'first_deployed_at'
>

export function insertBot(db: Db, bot: NewBot): Promise<BotRow> {
  return db.insertInto('bots').values(bot).returningAll().executeTakeFirstOrThrow()
}

export async function updateBot(
  db: Db,
  { userId, id }: { userId: string; id: string },
  changes: UpdateObject<Tables, 'bots'>,
): Promise<BotRow> {
  const bot = await db
    .updateTable('bots')
    .set(changes)
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returningAll()
    .executeTakeFirst()
  if (!bot) throw new AppError('not_found')
  return bot
}

/** From now or from its present end, whichever is later, in one statement: two renewals at once both count. */
export function renewBot(db: Db, bot: { userId: string; id: string }, now: Date): Promise<BotRow> {
  const later = sql<Date>`greatest(expires_at, ${now}::timestamptz) + interval '7 days'`
  return updateBot(db, bot, { expires_at: later, updated_at: now })
}

export async function deleteBot(db: Db, userId: string, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('bots')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw new AppError('not_found')
}
