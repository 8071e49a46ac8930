import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/pool.ts'
import type { Tables } from '../db/tables.ts'
import { waking } from '../jobs/wake.ts'
import { AppError } from '../lib/app-error.ts'
import type { Exit } from '../runtime/runtime.ts'

type ServerRow = Selectable<Tables['servers']>

/** A server with what has to be known of its bot. */
export type Server = ServerRow &
  Pick<
    Selectable<Tables['bots']>,
    'name' | 'user_id' | 'identifier' | 'start_command' | 'memory_mb' | 'cpus' | 'disk_mb' | 'expires_at'
  >

const selectServers = (db: Db) =>
  db
    .selectFrom('servers')
    .innerJoin('bots', 'bots.id', 'servers.bot_id')
    .selectAll('servers')
    .select([
      'bots.name',
      'bots.user_id',
      'bots.identifier',
      'bots.start_command',
      'bots.memory_mb',
      'bots.cpus',
      'bots.disk_mb',
      'bots.expires_at',
    ])

export function findServer(db: Db, botId: string): Promise<Server | undefined> {
  return selectServers(db).where('servers.bot_id', '=', botId).executeTakeFirst()
}

export function listRunningServers(db: Db, botIds: readonly string[]): Promise<Server[]> {
  return selectServers(db).where('servers.bot_id', 'in', botIds).where('servers.state', '=', 'running').execute()
}

/** What is wanted of a server, which stays so until the caller's transaction ends. */
export function lockWanted(db: Db, botId: string): Promise<Pick<Server, 'wanted' | 'is_restart_wanted'> | undefined> {
  const columns = ['wanted', 'is_restart_wanted'] as const
  return db.selectFrom('servers').select(columns).where('bot_id', '=', botId).forUpdate().executeTakeFirst()
}

/** A deployment or a restore has it for itself. */
export function isHeld({ deployment_id, restore_id }: Pick<Server, 'deployment_id' | 'restore_id'>): boolean {
  return deployment_id !== null || restore_id !== null
}

/** By its identifier or its bot's id. Somebody else's does not exist. */
export async function getOwnedServer(
  db: Db,
  { userId, identifier }: { userId: string; identifier: string },
  { isLocked = false }: { isLocked?: boolean } = {},
): Promise<Server> {
  const column = identifier.startsWith('bot_') ? 'bots.id' : 'bots.identifier'
  const query = selectServers(db).where(column, '=', identifier).where('bots.user_id', '=', userId)
  const server = await (isLocked ? query.forUpdate('servers') : query).executeTakeFirst()
  if (!server) throw new AppError('not_found')
  return server
}

/** Those that a node has to look after: running ones, and those on their way. */
export function listServersInUse(db: Db, nodeId: string): Promise<{ bot_id: string }[]> {
  return db
    .selectFrom('servers')
    .select('bot_id')
    .where('node_id', '=', nodeId)
    .where(({ or, eb }) => or([eb('wanted', '<>', 'offline'), eb('state', '<>', 'offline')]))
    .execute()
}

type Changes = Partial<{
  [K in keyof ServerRow]: ServerRow[K]
}>

/** Changes a server if it is still the one that the caller looked at; tells whoever watches. */
export async function changeServer(
  db: Db,
  { bot_id, instance_id }: { bot_id: string; instance_id: string | null },
  changes: Omit<Changes, 'last_exit'> & { last_exit?: string },
): Promise<boolean> {
  const changed = await db
    .updateTable('servers')
    .set(changes)
    .where('bot_id', '=', bot_id)
    .where(sql<boolean>`instance_id is not distinct from ${instance_id}`)
    .returning(waking('state', bot_id).as('told'))
    .executeTakeFirst()
  return changed !== undefined
}

/** From now on files of the bot are on this node, and go with the bot. Not found: it was deleted meanwhile. */
export async function claimNode(db: Db, botId: string, nodeId: string): Promise<void> {
  const server = await db
    .updateTable('servers')
    .set({ node_id: sql<string>`coalesce(node_id, ${nodeId})` })
    .where('bot_id', '=', botId)
    .returning('node_id')
    .executeTakeFirst()
  if (!server) throw new AppError('not_found')
  if (server.node_id !== nodeId)
    throw new AppError('invalid_state', { detail: 'The files of this bot are on another node of this service.' })
}

export function exitJson({ code, signal, oomKilled, diskFull = false, at }: Exit): string {
  return JSON.stringify({ code, signal, oomKilled, diskFull, at: at.toISOString() })
}

export function findRelease(
  db: Db,
  releaseId: string,
): Promise<{ release: { start: string; env: Record<string, string> } | null } | undefined> {
  return db.selectFrom('deployments').select('release').where('id', '=', releaseId).executeTakeFirst()
}

export function listVariables(db: Db, botId: string): Promise<Selectable<Tables['startup_variables']>[]> {
  return db.selectFrom('startup_variables').selectAll().where('bot_id', '=', botId).orderBy('key').execute()
}

/** With which a deployment is started: the digest of each sealed value by its key. Not of one that is gone meanwhile. */
export async function noteVariables(db: Db, deploymentId: string, digests: Record<string, string>): Promise<void> {
  await sql`insert into deployment_variables (deployment_id, digests)
    select id, ${JSON.stringify(digests)}::jsonb from deployments where id = ${deploymentId}
    on conflict (deployment_id) do update set digests = excluded.digests`.execute(db)
}

export async function putVariable(db: Db, variable: Tables['startup_variables']): Promise<void> {
  const { value, is_secret, updated_at } = variable
  await db
    .insertInto('startup_variables')
    .values(variable)
    .onConflict((conflict) => conflict.columns(['bot_id', 'key']).doUpdateSet({ value, is_secret, updated_at }))
    .execute()
}

export async function deleteVariables(db: Db, botId: string, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0
  const { numDeletedRows } = await db
    .deleteFrom('startup_variables')
    .where('bot_id', '=', botId)
    .where('key', 'in', keys)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
