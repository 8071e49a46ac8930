import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/pool.ts'
import type { BackupFailure, BotContent, Tables } from '../db/tables.ts'
import { wake } from '../jobs/wake.ts'
import { AppError } from '../lib/app-error.ts'
import { newId } from '../lib/ids.ts'
import { listVariables } from '../servers/queries.ts'
import { recordEvent } from '../webhooks/events.ts'

type Restore = Selectable<Tables['restores']>

/** A backup with its newest restore. */
export type BackupRow = Selectable<Tables['backups']> & {
  restore_id: string | null
  restore_status: Restore['status'] | null
  restore_error: BackupFailure | null
  restore_at: Date | null
  restore_finished_at: Date | null
}

/** Of one bot: each may be as large as its disk. */
const backupsMax = 10
/** They only tell what went wrong. */
const failuresKept = 5

const selectBackups = (db: Db) =>
  db
    .selectFrom('backups')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('restores')
          .select(['id as restore_id', 'status as restore_status', 'error as restore_error'])
          .select(['created_at as restore_at', 'finished_at as restore_finished_at'])
          .whereRef('restores.backup_id', '=', 'backups.id')
          .orderBy('id', 'desc')
          .limit(1)
          .as('newest'),
      (join) => join.onTrue(),
    )
    .selectAll('backups')
    .select(['newest.restore_id', 'newest.restore_status', 'newest.restore_error'])
    .select(['newest.restore_at', 'newest.restore_finished_at'])
    .where('backups.is_deleted', '=', false)

export function listBackups(db: Db, botId: string): Promise<BackupRow[]> {
  return selectBackups(db).where('backups.bot_id', '=', botId).orderBy('backups.id', 'desc').execute()
}

export function findBackup(db: Db, id: string): Promise<BackupRow | undefined> {
  return selectBackups(db).where('backups.id', '=', id).executeTakeFirst()
}

export async function getOwnedBackup(
  db: Db,
  { userId, botId, id }: { userId: string; botId: string; id: string },
): Promise<BackupRow> {
  const row = await selectBackups(db)
    .innerJoin('bots', 'bots.id', 'backups.bot_id')
    .where('backups.id', '=', id)
    .where('bots.id', '=', botId)
    .where('bots.user_id', '=', userId)
    .executeTakeFirst()
  if (!row) throw new AppError('not_found')
  return row
}

interface Wanted {
  readonly botId: string
  readonly nodeId: string
  readonly store: 'disk' | 's3'
  readonly isScheduled: boolean
  readonly now: Date
}

/** Takes its place behind those that wait. Holds the server's row, so that two cannot take the last place. */
export async function insertBackup(db: Db, { botId, nodeId, store, isScheduled, now }: Wanted): Promise<BackupRow> {
  const node_id = await lockNode(db, botId, nodeId)
  const { count, prunable } = await db
    .selectFrom('backups')
    .select(sql<number>`count(*)::int`.as('count'))
    .select(
      sql<number>`count(*) filter (where is_scheduled and not is_locked and status = 'completed')::int`.as('prunable'),
    )
    .where('bot_id', '=', botId)
    .where('status', '<>', 'failed')
    .where('is_deleted', '=', false)
    .executeTakeFirstOrThrow()
  // A daily one takes the place of an older one, which goes when it is complete and not before.
  if (count - (isScheduled ? prunable : 0) >= backupsMax)
    throw new AppError('limit_reached', { detail: `A bot may have ${backupsMax} backups. Delete one first.` })
  const row = await insertRow(db, { botId, nodeId: node_id, store, isScheduled, now })
  await wake(db, 'backup', botId)
  return row
}

/** One that could not even be begun. */
export async function insertFailed(db: Db, wanted: Wanted, error: BackupFailure): Promise<void> {
  await failBackup(db, await insertRow(db, wanted), error)
}

async function insertRow(db: Db, { botId, nodeId, store, isScheduled, now }: Wanted): Promise<BackupRow> {
  const id = newId('bak', now)
  await db
    .insertInto('backups')
    .values({ id, bot_id: botId, node_id: nodeId, store, is_scheduled: isScheduled, created_at: now })
    .execute()
  const row = await findBackup(db, id)
  if (!row) throw new Error('the backup is not there')
  return row
}

/** The node that has the bot's files, or is to have them. */
async function lockNode(db: Db, botId: string, nodeId: string): Promise<string> {
  const server = await db
    .selectFrom('servers')
    .select('node_id')
    .where('bot_id', '=', botId)
    .forUpdate()
    .executeTakeFirst()
  if (!server) throw new AppError('not_found')
  if (server.node_id !== null) return server.node_id
  await db.updateTable('servers').set({ node_id: nodeId }).where('bot_id', '=', botId).execute()
  return nodeId
}

export async function lockBackup(db: Db, id: string, isLocked: boolean): Promise<void> {
  await db.updateTable('backups').set({ is_locked: isLocked }).where('id', '=', id).execute()
}

/** Its archive and its row go after this. In a transaction of the caller's. */
export async function markDeleted(db: Db, { id, bot_id }: Pick<BackupRow, 'id' | 'bot_id'>): Promise<void> {
  // A restore that holds it is asked for by now, or is not.
  await db.selectFrom('backups').select('id').where('id', '=', id).forUpdate().execute()
  const marked = await db
    .updateTable('backups')
    .set({ is_deleted: true })
    .where('id', '=', id)
    .where('is_locked', '=', false)
    .where(isNotRestored)
    .returning('id')
    .executeTakeFirst()
  if (!marked) throw new AppError('invalid_state', { detail: 'The backup is locked, or is being restored.' })
  await wake(db, 'backup', bot_id)
}

const isNotRestored = sql<boolean>`not exists (
  select from restores where restores.backup_id = backups.id and restores.status = 'running')`

/** In a transaction of the caller's. */
export async function insertRestore(db: Db, backup: BackupRow, now: Date): Promise<void> {
  if (backup.status !== 'completed')
    throw new AppError('invalid_state', { detail: `The backup is ${backup.status}: it cannot be restored.` })
  await lockNode(db, backup.bot_id, backup.node_id)
  // Held until the restore is there: nobody deletes it in between.
  const held = await db
    .selectFrom('backups')
    .select('id')
    .where('id', '=', backup.id)
    .where('is_deleted', '=', false)
    .forUpdate()
    .executeTakeFirst()
  if (!held) throw new AppError('not_found')
  const { bot_id, node_id } = backup
  const made = await db
    .insertInto('restores')
    .values({ id: newId('res', now), bot_id, backup_id: backup.id, node_id, created_at: now })
    // In so many words: the index is not found by a parameter, once the statement has a plan for all of them.
    .onConflict((conflict) => conflict.column('bot_id').where(sql<boolean>`status = 'running'`).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!made) throw new AppError('invalid_state', { detail: 'Another restore of this bot is under way.' })
  await wake(db, 'backup', bot_id)
}

export interface Next {
  readonly kind: 'backup' | 'restore'
  readonly id: string
  readonly bot_id: string
}

/** The next of each bot that has one, in the order in which they were asked for. */
export async function listNext(db: Db, nodeId: string): Promise<Next[]> {
  const { rows } = await sql<Next>`
    select distinct on (bot_id) kind, id, bot_id from (
      select 'backup' as kind, id, bot_id, created_at from backups
        where node_id = ${nodeId} and status = 'running' and not is_deleted
      union all
      select 'restore', id, bot_id, created_at from restores where node_id = ${nodeId} and step <> 'done'
    ) as work order by bot_id, created_at, id`.execute(db)
  return rows
}

/** Those that can go: the row of a restore goes with its backup's, and it is what a restore is taken up by. */
export function listDeleted(db: Db, nodeId: string): Promise<{ id: string; bot_id: string; store: 'disk' | 's3' }[]> {
  return db
    .selectFrom('backups')
    .select(['id', 'bot_id', 'store'])
    .where('node_id', '=', nodeId)
    .where('is_deleted', '=', true)
    .where(
      sql<boolean>`not exists (select from restores where restores.backup_id = backups.id and restores.step <> 'done')`,
    )
    .execute()
}

export async function deleteBackup(db: Db, id: string): Promise<void> {
  await db.deleteFrom('backups').where('id', '=', id).where('is_deleted', '=', true).execute()
}

export type BackupWork = Selectable<Tables['backups']> &
  Pick<
    Selectable<Tables['bots']>,
    'name' | 'user_id' | 'type' | 'language' | 'template_id' | 'memory_mb' | 'cpus' | 'disk_mb' | 'backups_keep'
  >

const botColumns = [
  'bots.name',
  'bots.user_id',
  'bots.type',
  'bots.language',
  'bots.template_id',
  'bots.memory_mb',
  'bots.cpus',
  'bots.disk_mb',
  'bots.backups_keep',
] as const

/** Undefined: it is over, or nobody wants it any more. */
export function findUnfinished(db: Db, id: string): Promise<BackupWork | undefined> {
  return db
    .selectFrom('backups')
    .innerJoin('bots', 'bots.id', 'backups.bot_id')
    .selectAll('backups')
    .select(botColumns)
    .where('backups.id', '=', id)
    .where('backups.status', '=', 'running')
    .where('backups.is_deleted', '=', false)
    .executeTakeFirst()
}

export interface Made {
  readonly sizeBytes: number
  readonly checksum: string
  readonly contentBytes: number | undefined
}

/** Status and event are one transaction of the caller's. False: it was deleted meanwhile. */
export async function completeBackup(db: Db, work: BackupWork, made: Made, now: Date): Promise<boolean> {
  const { sizeBytes, checksum, contentBytes } = made
  const completed = await db
    .updateTable('backups')
    .set({
      status: 'completed',
      size_bytes: String(sizeBytes),
      content_bytes: contentBytes === undefined ? null : String(contentBytes),
      checksum,
      completed_at: now,
    })
    .where('id', '=', work.id)
    .where('status', '=', 'running')
    .where('is_deleted', '=', false)
    .returning('id')
    .executeTakeFirst()
  if (!completed) return false
  await recordEvent(db, 'backup.completed', { bot: work, fields: { backupId: work.id, sizeBytes }, at: now })
  if (work.is_scheduled) await pruneScheduled(db, work)
  return true
}

/** Daily ones beyond those to keep, or beyond what a bot may have. Locked ones neither go nor count as kept. */
async function pruneScheduled(db: Db, { bot_id, backups_keep }: BackupWork): Promise<void> {
  // Held, so that nobody locks or restores one of them before it is marked.
  const daily = await db
    .selectFrom('backups')
    .select('id')
    .where('bot_id', '=', bot_id)
    .where('is_scheduled', '=', true)
    .where('is_locked', '=', false)
    .where('is_deleted', '=', false)
    .where('status', '=', 'completed')
    .orderBy('id', 'desc')
    .forUpdate()
    .execute()
  const { count } = await db
    .selectFrom('backups')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('bot_id', '=', bot_id)
    .where('status', '<>', 'failed')
    .where('is_deleted', '=', false)
    .executeTakeFirstOrThrow()
  const kept = Math.max(1, Math.min(backups_keep, daily.length - Math.max(0, count - backupsMax)))
  const old = daily.slice(kept).map(({ id }) => id)
  if (old.length === 0) return
  const pruned = await db
    .updateTable('backups')
    .set({ is_deleted: true })
    .where('id', 'in', old)
    .where(isNotRestored)
    .returning('id')
    .execute()
  if (pruned.length > 0) await wake(db, 'backup', bot_id)
}

export async function failBackup(
  db: Db,
  { id, bot_id }: Pick<BackupRow, 'id' | 'bot_id'>,
  error: BackupFailure,
): Promise<void> {
  await db
    .updateTable('backups')
    .set({ status: 'failed', error: JSON.stringify(error) })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .execute()
  const old = db
    .selectFrom('backups')
    .select('id')
    .where('bot_id', '=', bot_id)
    .where('status', '=', 'failed')
    .orderBy('id', 'desc')
    .offset(failuresKept)
  await db.updateTable('backups').set({ is_deleted: true }).where('id', 'in', old).execute()
}

export type RestoreWork = Restore &
  Pick<BackupRow, 'store' | 'size_bytes' | 'content_bytes' | 'checksum'> &
  Pick<Selectable<Tables['bots']>, 'name' | 'user_id' | 'type' | 'memory_mb' | 'cpus' | 'disk_mb'>

export function findRestore(db: Db, id: string): Promise<RestoreWork | undefined> {
  return db
    .selectFrom('restores')
    .innerJoin('backups', 'backups.id', 'restores.backup_id')
    .innerJoin('bots', 'bots.id', 'restores.bot_id')
    .selectAll('restores')
    .select(['backups.store', 'backups.size_bytes', 'backups.content_bytes', 'backups.checksum'])
    .select(['bots.name', 'bots.user_id', 'bots.type', 'bots.memory_mb', 'bots.cpus', 'bots.disk_mb'])
    .where('restores.id', '=', id)
    .where('restores.step', '<>', 'done')
    .executeTakeFirst()
}

type RestoreChanges = Partial<
  Pick<Restore, 'status' | 'step' | 'finished_at'> & { wanted: string; previous: string; error: string }
>

export async function changeRestore(db: Db, id: string, changes: RestoreChanges): Promise<void> {
  await db.updateTable('restores').set(changes).where('id', '=', id).execute()
}

/** Sealed, as they are in the table. */
export async function readSealed(db: Db, botId: string): Promise<BotContent['variables']> {
  return (await listVariables(db, botId)).map(({ key, value, is_secret, updated_at }) => ({
    key,
    value: value.toString('base64'),
    isSecret: is_secret,
    updatedAt: updated_at.toISOString(),
  }))
}

/** All of them by these. */
export async function writeSealed(db: Db, botId: string, variables: BotContent['variables']): Promise<void> {
  await db.deleteFrom('startup_variables').where('bot_id', '=', botId).execute()
  if (variables.length === 0) return
  await db
    .insertInto('startup_variables')
    .values(
      variables.map(({ key, value, isSecret, updatedAt }) => ({
        bot_id: botId,
        key,
        value: Buffer.from(value, 'base64'),
        is_secret: isSecret,
        updated_at: new Date(updatedAt),
      })),
    )
    .execute()
}
