import { type Insertable, type Selectable, sql, type UpdateObject } from 'kysely'
import type { Db } from '../db/pool.ts'
import type { LinkProblem, Tables } from '../db/tables.ts'
import { AppError } from '../lib/app-error.ts'

/** A bot with the state of its server and its newest deployment. */
export type BotRow = Selectable<Tables['bots']> &
  Pick<Selectable<Tables['servers']>, 'state' | 'restart_at'> & {
    deployment_id: string | null
    deployment_status: string | null
    deployment_at: Date | null
    /** Of the repository that it is linked to; null: of none. */
    installation_id: string | null
    repo_id: string | null
    full_name: string | null
    problem: LinkProblem | null
  }

const selectBots = (db: Db) =>
  db
    .selectFrom('bots')
    .innerJoin('servers', 'servers.bot_id', 'bots.id')
    .leftJoin('codehost_links', 'codehost_links.bot_id', 'bots.id')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('deployments')
          .select(['id as deployment_id', 'status as deployment_status', 'created_at as deployment_at'])
          .whereRef('deployments.bot_id', '=', 'bots.id')
          .orderBy('id', 'desc')
          .limit(1)
          .as('newest'),
      (join) => join.onTrue(),
    )
    .selectAll('bots')
    .select(['servers.state', 'servers.restart_at'])
    .select([
      'codehost_links.installation_id',
      'codehost_links.repo_id',
      'codehost_links.full_name',
      'codehost_links.problem',
    ])
    .select(['newest.deployment_id', 'newest.deployment_status', 'newest.deployment_at'])

/** Newest first; ids sort by the time at which they were made. */
export function listBots(db: Db, userId: string): Promise<BotRow[]> {
  return selectBots(db).where('bots.user_id', '=', userId).orderBy('bots.id', 'desc').execute()
}

/** Everybody's, for the operator, each with its owner's name. */
export async function listAllBots(
  db: Db,
  range: { limit: number; offset: number },
): Promise<{ rows: (BotRow & { owner_name: string })[]; total: number }> {
  const rows = await selectBots(db)
    .innerJoin('users', 'users.id', 'bots.user_id')
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
  const bot = await selectBots(db).where('bots.id', '=', id).where('bots.user_id', '=', userId).executeTakeFirst()
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

export type NewBot = Omit<Insertable<Tables['bots']>, 'start_command' | 'build_command' | 'first_deployed_at'>

/** With its server, which it has from the beginning. */
export async function insertBot(db: Db, bot: NewBot): Promise<BotRow> {
  const empty = { start_command: null, build_command: null, first_deployed_at: null }
  await db
    .insertInto('bots')
    .values({ ...bot, ...empty })
    .execute()
  const server = { bot_id: bot.id, state_at: bot.created_at, node_id: null, release_id: null, deployment_id: null }
  await db
    .insertInto('servers')
    .values({ ...server, instance_id: null, started_at: null, restart_at: null, last_exit: null })
    .execute()
  return getOwnedBot(db, bot.user_id, bot.id)
}

export async function updateBot(
  db: Db,
  { userId, id }: { userId: string; id: string },
  changes: UpdateObject<Tables, 'bots'>,
): Promise<BotRow> {
  await db.updateTable('bots').set(changes).where('id', '=', id).where('user_id', '=', userId).execute()
  return getOwnedBot(db, userId, id)
}

/** From now or from its present end, whichever is later, in one statement: two renewals at once both count. */
export function renewBot(db: Db, bot: { userId: string; id: string }, now: Date): Promise<BotRow> {
  const later = sql<Date>`greatest(expires_at, ${now}::timestamptz) + interval '7 days'`
  return updateBot(db, bot, { expires_at: later, is_expired: false, updated_at: now })
}

/** Only over the one that the caller has seen: of two who make one at once, one wins. */
export async function changeDeployKey(
  db: Db,
  id: string,
  change: { from: Buffer | null; to: Buffer },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('bots')
    .set({ deploy_key: change.to })
    .where('id', '=', id)
    .where(sql<boolean>`deploy_key is not distinct from ${change.from}`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function deleteBot(db: Db, userId: string, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('bots')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw new AppError('not_found')
}
