import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/pool.ts'
import type { LinkProblem, Tables } from '../db/tables.ts'
import { wake } from '../jobs/wake.ts'
import type { HeardMove } from './push-order.ts'

export type ConnectionRow = Selectable<Tables['codehost_connections']>

export function findConnection(db: Db, userId: string): Promise<ConnectionRow | undefined> {
  return db.selectFrom('codehost_connections').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

interface NewConnection {
  readonly userId: string
  readonly accountId: number
  readonly login: string
  readonly avatarUrl: string | null
  readonly tokens: Buffer
  readonly expiresAt: Date | null
}

/** Instead of whatever was connected before. */
export async function saveConnection(db: Db, connection: NewConnection, now: Date): Promise<void> {
  const values = {
    account_id: connection.accountId,
    login: connection.login,
    avatar_url: connection.avatarUrl,
    tokens: connection.tokens,
    expires_at: connection.expiresAt,
    refresh_until: null,
    is_refresh_uncertain: false,
    checked_at: now,
    connected_at: now,
  }
  await db
    .insertInto('codehost_connections')
    .values({ user_id: connection.userId, ...values })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(values))
    .execute()
}

/** For whoever may get new tokens in place of these; false: somebody else is at it, or has done it. */
export async function claimRefresh(
  db: Db,
  { user_id, tokens }: ConnectionRow,
  { now, until }: { now: Date; until: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('codehost_connections')
    // Whoever began it before, and neither finished it nor gave it back, was killed in the middle.
    .set({
      refresh_until: until,
      is_refresh_uncertain: sql<boolean>`is_refresh_uncertain or refresh_until is not null`,
    })
    .where('user_id', '=', user_id)
    .where('tokens', '=', tokens)
    .where((eb) => eb.or([eb('refresh_until', 'is', null), eb('refresh_until', '<=', now)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Only in place of those that the caller had: a connection that was made anew meanwhile stays as it is. */
export async function changeTokens(
  db: Db,
  { user_id, tokens }: ConnectionRow,
  to: { tokens: Buffer; expiresAt: Date | null; now: Date },
): Promise<void> {
  await db
    .updateTable('codehost_connections')
    .set({
      tokens: to.tokens,
      expires_at: to.expiresAt,
      refresh_until: null,
      is_refresh_uncertain: false,
      checked_at: to.now,
    })
    .where('user_id', '=', user_id)
    .where('tokens', '=', tokens)
    .execute()
}

/** Uncertain: nobody knows what has become of the refresh token, because the answer is lost. */
export async function releaseRefresh(
  db: Db,
  { user_id, tokens }: ConnectionRow,
  { isUncertain }: { isUncertain: boolean },
): Promise<void> {
  await db
    .updateTable('codehost_connections')
    .set({ refresh_until: null, is_refresh_uncertain: sql<boolean>`is_refresh_uncertain or ${isUncertain}` })
    .where('user_id', '=', user_id)
    .where('tokens', '=', tokens)
    .execute()
}

export async function noteChecked(db: Db, { user_id, tokens }: ConnectionRow, now: Date): Promise<void> {
  await db
    .updateTable('codehost_connections')
    .set({ checked_at: now })
    .where('user_id', '=', user_id)
    .where('tokens', '=', tokens)
    .execute()
}

/** Tokens are erased, and pushes deploy nothing of theirs any more. What runs goes on running. */
export async function deleteConnection(db: Db, userId: string, now: Date): Promise<void> {
  await db.deleteFrom('codehost_connections').where('user_id', '=', userId).execute()
  const bots = await db
    .selectFrom('bots')
    .innerJoin('codehost_links', 'codehost_links.bot_id', 'bots.id')
    .select('bots.id')
    .where('bots.user_id', '=', userId)
    .where('bots.auto_deploy_enabled', '=', true)
    .orderBy('bots.id')
    .forUpdate('codehost_links')
    .execute()
  for (const { id } of bots) {
    await supersedePushes(db, { botId: id, now })
    await db.updateTable('bots').set({ auto_deploy_enabled: false, updated_at: now }).where('id', '=', id).execute()
  }
}

/**
 * The platform does not take these tokens any more; newer ones stay. Pushes deploy nothing of theirs any more either, unless
 * the tokens may have been lost on the way: that is no word of the user's, who only has to connect again.
 */
export async function deleteRejected(db: Db, { user_id, tokens }: ConnectionRow, now: Date): Promise<void> {
  const deleted = await db
    .deleteFrom('codehost_connections')
    .where('user_id', '=', user_id)
    .where('tokens', '=', tokens)
    .returning('is_refresh_uncertain')
    .executeTakeFirst()
  if (deleted && !deleted.is_refresh_uncertain) await deleteConnection(db, user_id, now)
}

export async function listUsersOf(db: Db, accountId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('codehost_connections')
    .select('user_id')
    .where('account_id', '=', String(accountId))
    .execute()
  return rows.map(({ user_id }) => user_id)
}

export interface Link {
  readonly installationId: number
  readonly repoId: number
  readonly fullName: string
}

/** Instead of the link that there was. What was pushed to that one, and still waits, is not deployed. */
export async function saveLink(db: Db, botId: string, link: Link, now: Date): Promise<void> {
  const values = {
    installation_id: link.installationId,
    repo_id: link.repoId,
    full_name: link.fullName,
    problem: null,
    pushed_at: null,
    pushes: '[]',
    head_sha: null,
    connected_at: now,
  }
  await db
    .insertInto('codehost_links')
    .values({ bot_id: botId, ...values })
    .onConflict((conflict) => conflict.column('bot_id').doUpdateSet(values))
    .execute()
  await supersedePushes(db, { botId, now })
}

export async function deleteLink(db: Db, botId: string, now: Date): Promise<void> {
  await db.deleteFrom('codehost_links').where('bot_id', '=', botId).execute()
  await supersedePushes(db, { botId, now })
}

/** Nothing that is pushed is deployed any more, or something else: another branch has an order of its own. */
export async function endPushes(
  db: Db,
  botId: string,
  { isOtherBranch, now }: { isOtherBranch: boolean; now: Date },
): Promise<void> {
  if (isOtherBranch) await notePush(db, botId, { pushedAt: null, moves: [], headSha: null })
  await supersedePushes(db, { botId, now })
}

/** Before any of a bot's deployments, as all do who change both: two who begin at different ends wait for each other. */
export async function lockServer(db: Db, botId: string): Promise<void> {
  await db.selectFrom('servers').select('bot_id').where('bot_id', '=', botId).forUpdate().execute()
}

/** What was pushed and still waits is not deployed: something else counts from now on. */
export async function supersedePushes(
  db: Db,
  { botId, now, besides = '' }: { botId: string; now: Date; besides?: string },
): Promise<void> {
  await lockServer(db, botId)
  const superseded = await db
    .updateTable('deployments')
    .set({ status: 'superseded', finished_at: now })
    .where('bot_id', '=', botId)
    .where('status', '=', 'queued')
    .where('is_push', '=', true)
    .where('id', '<>', besides)
    .returning('id')
    .execute()
  for (const { id } of superseded) {
    await wake(db, 'state', id)
    await wake(db, 'cancel', id) // it may be in line for a place to be built in, which others can have
  }
}

/** Which links something happened to: of one repository, of one installation, or of both. */
export interface Affected {
  readonly repoId?: number
  readonly installationId?: number
}

function changeLinks(db: Db, { repoId, installationId }: Affected) {
  let links = db.updateTable('codehost_links')
  if (repoId !== undefined) links = links.where('repo_id', '=', String(repoId))
  if (installationId !== undefined) links = links.where('installation_id', '=', String(installationId))
  return links
}

export async function setProblem(db: Db, affected: Affected, problem: LinkProblem): Promise<void> {
  const links = changeLinks(db, affected).set({ problem })
  // What is suspended can come back; what is gone does not come back with it.
  await (problem === 'suspended' ? links.where('problem', 'is', null) : links).execute()
}

/** One problem is over; another one that came meanwhile is not. */
export async function clearProblem(db: Db, affected: Affected, problem: LinkProblem): Promise<void> {
  await changeLinks(db, affected).set({ problem: null }).where('problem', '=', problem).execute()
}

/** The platform speaks of it as of one that we may use, under this name. */
export async function confirmLinks(
  db: Db,
  { repoId, installationId }: Required<Affected>,
  fullName: string,
): Promise<void> {
  await changeLinks(db, { repoId, installationId })
    .set({ full_name: fullName, problem: null })
    .where((eb) => eb.or([eb('full_name', '<>', fullName), eb('problem', 'is not', null)]))
    .execute()
}

export async function renameRepo(db: Db, affected: Affected, fullName: string): Promise<void> {
  await changeLinks(db, affected).set({ full_name: fullName }).where('full_name', '<>', fullName).execute()
}

/** An account has another name, and so have all its repositories. */
export async function renameOwner(db: Db, installationId: number, login: string): Promise<void> {
  await changeLinks(db, { installationId })
    .set({ full_name: sql<string>`${login}::text || '/' || split_part(full_name, '/', 2)` })
    .execute()
}

/** It is with another owner now: what was linked through the installation of the one before cannot be fetched. */
export async function noteTransfer(db: Db, repoId: number, installationId: number): Promise<void> {
  await changeLinks(db, { repoId })
    .set({ problem: 'transferred' })
    .where('installation_id', '<>', String(installationId))
    .execute()
}

export interface LinkedBot {
  readonly bot_id: string
  readonly git_branch: string | null
  readonly auto_deploy_enabled: boolean
  readonly pushed_at: Date | null
  readonly pushes: HeardMove[]
  readonly head_sha: string | null
  /** When somebody last said by hand what is to run: by linking it, a deployment or a way back. */
  readonly decided_at: Date
}

/** Locked: two pushes at once are put in order. The bots come first, as when one of them is deleted. */
export function listLinkedBots(db: Db, { repoId, installationId }: Required<Affected>): Promise<LinkedBot[]> {
  return db
    .selectFrom('codehost_links')
    .innerJoin('bots', 'bots.id', 'codehost_links.bot_id')
    .select(['codehost_links.bot_id', 'bots.git_branch', 'bots.auto_deploy_enabled'])
    .select(['codehost_links.pushed_at', 'codehost_links.pushes', 'codehost_links.head_sha'])
    .select(
      sql<Date>`greatest(codehost_links.connected_at, (
        select max(created_at) from deployments
        where bot_id = bots.id and not is_push and status not in ('failed', 'canceled', 'superseded')
      ))`.as('decided_at'),
    )
    .where('codehost_links.repo_id', '=', String(repoId))
    .where('codehost_links.installation_id', '=', String(installationId))
    .orderBy('codehost_links.bot_id')
    .forKeyShare('bots')
    .forUpdate('codehost_links')
    .execute()
}

interface Heard {
  readonly pushedAt: Date | null
  readonly moves: readonly HeardMove[]
  readonly headSha: string | null
}

export async function notePush(db: Db, botId: string, { pushedAt, moves, headSha }: Heard): Promise<void> {
  await db
    .updateTable('codehost_links')
    .set({ pushed_at: pushedAt, pushes: JSON.stringify(moves), head_sha: headSha })
    .where('bot_id', '=', botId)
    .execute()
}
