import { type Selectable, sql } from 'kysely'
import { lockServer, supersedePushes } from '../codehost/queries.ts'
import type { Db } from '../db/pool.ts'
import type { DeploymentStatus, LinkProblem, Step, Tables } from '../db/tables.ts'
import { wake, waking } from '../jobs/wake.ts'
import { AppError } from '../lib/app-error.ts'
import { newId } from '../lib/ids.ts'
import { recordEvent } from '../webhooks/events.ts'

export type DeploymentRow = Selectable<Tables['deployments']>

const unfinished = ['queued', 'fetching', 'installing', 'building', 'starting'] as const
const waitingMax = 50
/** Of one bot, to go back to. */
const releasesKept = 5
/** Of one bot, whose variables can be compared with today's. */
const notedMax = 20

interface Wanted {
  readonly botId: string
  readonly source: string
  readonly nodeId: string
  readonly now: Date
  readonly rollbackOf?: string
  /** By a push: those that wait and are of earlier pushes are not needed any more. */
  readonly push?: Push
}

interface Push {
  readonly branch: string
  readonly commitSha: string
  readonly commitMsg: string
  /** Paths that it changed; null: not known. */
  readonly changes: readonly string[] | null
}

/** Takes its place behind those that wait. Holds the server's row, so that two cannot take the last place. */
export async function insertDeployment(
  db: Db,
  { botId, source, nodeId, now, rollbackOf, push }: Wanted,
): Promise<DeploymentRow> {
  const server = await db
    .selectFrom('servers')
    .innerJoin('bots', 'bots.id', 'servers.bot_id')
    .select(['servers.node_id', 'bots.expires_at'])
    .where('servers.bot_id', '=', botId)
    .forUpdate('servers')
    .executeTakeFirst()
  if (!server) throw new AppError('not_found')
  if (server.expires_at <= now) throw new AppError('bot_expired')
  const waiting = await db
    .selectFrom('deployments')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('bot_id', '=', botId)
    .where('status', '=', 'queued')
    .where((eb) => eb.or([eb('is_push', '=', false), eb.val(push === undefined)]))
    .executeTakeFirstOrThrow()
  if (waiting.count >= waitingMax)
    throw new AppError('limit_reached', { detail: `${waitingMax} deployments of this bot are waiting already.` })
  if (push) await supersedePushes(db, { botId, now })
  const undeployed = push ? await listUndeployed(db, botId) : []
  const node = server.node_id ?? nodeId
  if (server.node_id === null)
    await db.updateTable('servers').set({ node_id: node }).where('bot_id', '=', botId).execute()
  const deployment = await db
    .insertInto('deployments')
    .values({
      id: newId('dep', now),
      bot_id: botId,
      node_id: node,
      source,
      status: 'queued',
      branch: push?.branch ?? null,
      commit_sha: push?.commitSha ?? null,
      commit_msg: push?.commitMsg ?? null,
      is_push: push !== undefined,
      push_changes: push ? unionOf([push.changes, ...undeployed]) : null,
      rollback_of: rollbackOf ?? null,
      previous_release_id: null,
      error: null,
      release: null,
      created_at: now,
      started_at: null,
      finished_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await wake(db, 'deployment', botId)
  await wake(db, 'state', deployment.id)
  return deployment
}

// More of them, and it is not worth while to know exactly.
const undeployedMax = 50

/** What pushes have changed that came to nothing since the last success: the next one brings it along. */
async function listUndeployed(db: Db, botId: string): Promise<(string[] | null)[]> {
  const rows = await db
    .selectFrom('deployments')
    .select('push_changes')
    .where('bot_id', '=', botId)
    .where('is_push', '=', true)
    .where('status', 'in', ['failed', 'canceled', 'superseded'])
    .where((eb) => eb.or([eb('error', 'is', null), eb(sql<string>`error ->> 'code'`, '<>', skippedCode)]))
    .where(
      'id',
      '>',
      sql<string>`coalesce((select max(id) from deployments where bot_id = ${botId} and status = 'succeeded'), '')`,
    )
    .orderBy('id', 'desc')
    .limit(undeployedMax + 1)
    .execute()
  return rows.length > undeployedMax ? [null] : rows.map(({ push_changes }) => push_changes)
}

/** Null: of one of them it is not known. */
export function unionOf(changes: readonly (readonly string[] | null)[]): string[] | null {
  return changes.every((paths) => paths !== null) ? [...new Set(changes.flat())] : null
}

/** The newest deployment that a push of this commit has led to, held until the transaction ends. */
export async function findPushed(db: Db, botId: string, commitSha: string): Promise<DeploymentRow | undefined> {
  await lockServer(db, botId)
  return db
    .selectFrom('deployments')
    .selectAll()
    .where('bot_id', '=', botId)
    .where('is_push', '=', true)
    .where('commit_sha', '=', commitSha)
    .orderBy('id', 'desc')
    .limit(1)
    .forUpdate()
    .executeTakeFirst()
}

/** Whether it neither is under way nor runs, or something else was begun after it. */
export async function isOvertaken(db: Db, { id, bot_id, status }: DeploymentRow): Promise<boolean> {
  if (['failed', 'canceled', 'superseded'].includes(status)) return true
  const later = await db
    .selectFrom('deployments')
    .select('id')
    .where('bot_id', '=', bot_id)
    .where('id', '>', id)
    .where('status', 'not in', ['queued', 'failed', 'canceled', 'superseded'])
    .limit(1)
    .executeTakeFirst()
  return later !== undefined
}

export async function changePushed(db: Db, id: string, changes: string[] | null): Promise<void> {
  await db.updateTable('deployments').set({ push_changes: changes }).where('id', '=', id).execute()
}

/** A push that deploys nothing, and why: over from the beginning. */
export async function insertSkipped(
  db: Db,
  { botId, nodeId, now, push, reason, isOutdated = false }: SkippedPush,
): Promise<void> {
  const id = newId('dep', now)
  await db
    .insertInto('deployments')
    .values({
      id,
      bot_id: botId,
      node_id: nodeId,
      source: 'push',
      status: isOutdated ? 'superseded' : 'canceled',
      branch: push.branch,
      commit_sha: push.commitSha,
      commit_msg: push.commitMsg,
      is_push: true,
      // Of one that is outdated they are with the newer one.
      push_changes: isOutdated ? [] : null,
      rollback_of: null,
      previous_release_id: null,
      error: JSON.stringify({ code: isOutdated ? 'push_outdated' : skippedCode, message: reason, lastLog: '' }),
      release: null,
      created_at: now,
      started_at: null,
      finished_at: now,
    })
    .execute()
  await wake(db, 'state', id)
}

interface SkippedPush {
  readonly botId: string
  readonly nodeId: string
  readonly now: Date
  readonly push: { readonly branch: string; readonly commitSha: string | null; readonly commitMsg: string }
  readonly reason: string
  /** Not skipped for its own sake: a newer one has taken its place. */
  readonly isOutdated?: boolean
}

/** Known to the trigger that notes commit statuses too. */
export const skippedCode = 'push_skipped'

interface Next {
  readonly id: string
  readonly bot_id: string
  /** Null: it is due. */
  readonly not_before: Date | null
}

/**
 * The next of each bot that has one: what is under way, then what is due. One whose time has not come holds up nobody, a
 * way back least of all; it comes only if nothing else waits.
 */
export function listNext(db: Db, nodeId: string, now: Date): Promise<Next[]> {
  const notBefore = sql<Date | null>`case when is_cancel_wanted then null else not_before end`
  return db
    .selectFrom('deployments')
    .distinctOn('bot_id')
    .select(['id', 'bot_id'])
    .select(notBefore.as('not_before'))
    .where('node_id', '=', nodeId)
    .where('status', 'in', unfinished)
    .orderBy('bot_id')
    .orderBy(sql`status = 'queued'`)
    .orderBy(sql`coalesce(${notBefore} > ${now}, false)`)
    .orderBy('id')
    .execute()
}

/** `isLocked`: until the end of the transaction nobody else changes it. */
export async function getOwnedDeployment(
  db: Db,
  userId: string,
  id: string,
  { isLocked } = { isLocked: false },
): Promise<DeploymentRow> {
  const row = await db
    .selectFrom('deployments')
    .innerJoin('bots', 'bots.id', 'deployments.bot_id')
    .selectAll('deployments')
    .where('deployments.id', '=', id)
    .where('bots.user_id', '=', userId)
    .$if(isLocked, (query) => query.forUpdate('deployments'))
    .executeTakeFirst()
  if (!row) throw new AppError('not_found')
  return row
}

export async function listDeployments(
  db: Db,
  botId: string,
  range: { limit: number; offset: number },
): Promise<{ rows: DeploymentRow[]; total: number }> {
  const rows = await db
    .selectFrom('deployments')
    .selectAll()
    .where('bot_id', '=', botId)
    .orderBy('id', 'desc')
    .limit(range.limit)
    .offset(range.offset)
    .execute()
  const total = await db
    .selectFrom('deployments')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('bot_id', '=', botId)
    .executeTakeFirst()
  return { rows, total: total?.count ?? 0 }
}

/** With what has to be known of its bot; undefined if it is over or gone. */
export async function findUnfinished(db: Db, id: string): Promise<Work | undefined> {
  return db
    .selectFrom('deployments')
    .innerJoin('bots', 'bots.id', 'deployments.bot_id')
    .leftJoin('codehost_links', 'codehost_links.bot_id', 'bots.id')
    .selectAll('deployments')
    .select([
      'codehost_links.installation_id',
      'codehost_links.repo_id',
      'codehost_links.full_name',
      'codehost_links.problem',
    ])
    .select([
      'bots.name',
      'bots.user_id',
      'bots.type',
      'bots.language',
      'bots.git_url',
      'bots.git_branch',
      'bots.template_id',
      'bots.deploy_key',
      'bots.start_command',
      'bots.build_command',
      'bots.memory_mb',
      'bots.cpus',
      'bots.disk_mb',
      'bots.first_deployed_at',
    ])
    .where('deployments.id', '=', id)
    .where('deployments.status', 'in', unfinished)
    .executeTakeFirst()
}

export type Work = DeploymentRow &
  Pick<
    Selectable<Tables['bots']>,
    | 'name'
    | 'user_id'
    | 'type'
    | 'language'
    | 'git_url'
    | 'git_branch'
    | 'template_id'
    | 'deploy_key'
    | 'start_command'
    | 'build_command'
    | 'memory_mb'
    | 'cpus'
    | 'disk_mb'
    | 'first_deployed_at'
  > & {
    /** Of the repository that it is linked to; null: of none. */
    installation_id: string | null
    repo_id: string | null
    full_name: string | null
    problem: LinkProblem | null
  }

type Changes = Partial<
  Omit<DeploymentRow, 'steps' | 'error' | 'release'> & { steps: string; error: string; release: string }
>

/** Of one that is not over yet. */
const changing = (db: Db, id: string, changes: Changes) =>
  db
    .updateTable('deployments')
    .set(changes)
    .where('id', '=', id)
    .where('status', 'in', unfinished)
    .returning(waking('state', id).as('told'))

/** Changes one that is not over yet; false if it is. */
export async function changeDeployment(db: Db, id: string, changes: Changes): Promise<boolean> {
  return (await changing(db, id, changes).executeTakeFirst()) !== undefined
}

/** False if it is over or to be canceled. Once it is being started that is too late. */
export async function enterStep(
  db: Db,
  id: string,
  changes: { status: DeploymentStatus; steps: string },
): Promise<boolean> {
  const isOpen = sql<boolean>`(status = 'starting' or not is_cancel_wanted)`
  return (await changing(db, id, changes).where(isOpen).executeTakeFirst()) !== undefined
}

/** The digest of each of a bot's sealed values, by its key. */
const variableDigests = (botId: string) =>
  sql<string>`(select coalesce(jsonb_object_agg(key, encode(sha256(value), 'hex')), '{}') from startup_variables where bot_id = ${botId})`

export interface VariableChange {
  readonly key: string
  readonly change: 'added' | 'changed' | 'removed'
}

/** What became of a bot's variables since a deployment of it was started. Undefined: not known. */
export async function variableChanges(db: Db, { id, bot_id }: DeploymentRow): Promise<VariableChange[] | undefined> {
  const noted = await db
    .selectFrom('deployment_variables')
    .select('digests')
    .where('deployment_id', '=', id)
    .executeTakeFirst()
  if (!noted) return undefined
  const { rows } = await sql<VariableChange>`
    select coalesce(old.key, new.key) as key,
      case when old.key is null then 'added' when new.key is null then 'removed' else 'changed' end as change
    from jsonb_each_text(${JSON.stringify(noted.digests)}::jsonb) old
    full join jsonb_each_text(${variableDigests(bot_id)}) new on new.key = old.key
    where old.value is distinct from new.value
    order by 1`.execute(db)
  return rows
}

/** Status, release and event are one transaction of the caller's. */
export async function completeDeployment(db: Db, work: Work, now: Date): Promise<void> {
  const { steps } = await db
    .selectFrom('deployments')
    .select('steps')
    .where('id', '=', work.id)
    .executeTakeFirstOrThrow()
  const isMine = await changeDeployment(db, work.id, {
    status: 'succeeded',
    steps: JSON.stringify(steps.map((step) => (step.status === 'running' ? endStep(step, 'succeeded', now) : step))),
    finished_at: now,
    is_release_kept: work.rollback_of === null,
  })
  if (!isMine) return
  await supersedeOvertaken(db, work, now)
  await db
    .updateTable('bots')
    .set({ first_deployed_at: sql<Date>`coalesce(first_deployed_at, ${now})` })
    .where('id', '=', work.bot_id)
    .execute()
  await recordEvent(db, 'deploy.completed', {
    bot: work,
    fields: {
      commitSha: work.commit_sha,
      commitMsg: work.commit_msg,
      branch: work.branch,
      durationMs: now.getTime() - (work.started_at ?? now).getTime(),
    },
    at: now,
  })
}

/**
 * Those that were asked for before this one, and were put off: they would undo what is newer. What somebody asked for
 * is done all the same, because it takes what is newest by then; unless its commit is fixed, or it would undo a rollback.
 */
async function supersedeOvertaken(db: Db, { id, bot_id, rollback_of }: Work, now: Date): Promise<void> {
  const message = 'It waited, and a later deployment was done meanwhile.'
  const rows = await db
    .updateTable('deployments')
    .set({
      status: 'superseded',
      finished_at: now,
      error: JSON.stringify({ code: 'overtaken', message, lastLog: '' }),
    })
    .where('bot_id', '=', bot_id)
    .where('status', '=', 'queued')
    .where('id', '<', id)
    .where((is) => is.or([is('is_push', '=', true), is('commit_sha', 'is not', null), is.val(rollback_of !== null)]))
    .returning('id')
    .execute()
  for (const row of rows) await wake(db, 'state', row.id)
}

/**
 * Back to the queue until then. A push gives way to a newer one that waits already, and that one brings along what it
 * changed: they would be put off in turns otherwise.
 */
export async function putOffDeployment(db: Db, work: Work, { until, now }: { until: Date; now: Date }): Promise<void> {
  await lockServer(db, work.bot_id)
  const newer = work.is_push ? await findNewerPush(db, work) : undefined
  if (!newer) {
    await changeDeployment(db, work.id, { status: 'queued', not_before: until })
    return
  }
  const mine = await findUnfinished(db, work.id)
  if (mine) await changePushed(db, newer.id, unionOf([newer.push_changes, mine.push_changes]))
  await changeDeployment(db, work.id, { status: 'superseded', finished_at: now })
}

function findNewerPush(db: Db, { id, bot_id }: Work) {
  return db
    .selectFrom('deployments')
    .select(['id', 'push_changes'])
    .where('bot_id', '=', bot_id)
    .where('id', '>', id)
    .where('status', '=', 'queued')
    .where('is_push', '=', true)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export async function failDeployment(
  db: Db,
  id: string,
  { status, error, now }: { status: DeploymentStatus & ('failed' | 'canceled'); error?: object; now: Date },
): Promise<boolean> {
  return changeDeployment(db, id, {
    status,
    finished_at: now,
    ...(error && { error: JSON.stringify(error, storable) }),
  })
}

/** What bots and builds print may hold characters that the database does not take. */
const storable = (_key: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\0', '\ufffd').toWellFormed() : value

/** Ends a push that changed nothing of concern, unless it has got other changes to bring along meanwhile. */
export async function skipDeployment(
  db: Db,
  id: string,
  { changes, error, now }: { changes: readonly string[]; error: object; now: Date },
): Promise<boolean> {
  const skipped = await changing(db, id, { status: 'canceled', finished_at: now, error: JSON.stringify(error) })
    .where(sql<boolean>`push_changes = ${changes}::text[]`)
    .executeTakeFirst()
  return skipped !== undefined
}

/** Forgets releases but the newest ones and the running one; returns what is kept. */
export async function pruneReleases(db: Db, botId: string): Promise<string[]> {
  await sql`delete from deployment_variables where deployment_id in (
    select v.deployment_id from deployment_variables v join deployments d on d.id = v.deployment_id
    where d.bot_id = ${botId} order by v.deployment_id desc offset ${notedMax})`.execute(db)
  const rows = await db
    .selectFrom('deployments')
    .select('id')
    .where('bot_id', '=', botId)
    .where('is_release_kept', '=', true)
    .orderBy('id', 'desc')
    .execute()
  const wanted = await db
    .selectFrom('deployments')
    .select(['id', 'rollback_of', 'previous_release_id'])
    .where('bot_id', '=', botId)
    .where('status', 'in', unfinished)
    .execute()
  const restores = await db
    .selectFrom('restores')
    .select(['wanted', 'previous'])
    .where('bot_id', '=', botId)
    .where('step', '<>', 'done')
    .execute()
  // Last: what was under way a moment ago may have gone back to another.
  const server = await db.selectFrom('servers').select('release_id').where('bot_id', '=', botId).executeTakeFirst()
  const needed = new Set([
    server?.release_id,
    ...restores.flatMap(({ wanted, previous }) => [wanted?.releaseId, previous?.releaseId]),
    ...wanted.flatMap((row) => [row.id, row.rollback_of, row.previous_release_id]),
  ])
  const all = rows.map(({ id }) => id)
  const isKept = (id: string, index: number) => index < releasesKept || needed.has(id)
  const kept = all.filter(isKept)
  const spare = all.filter((id, index) => !isKept(id, index))
  if (spare.length > 0)
    await db.updateTable('deployments').set({ is_release_kept: false }).where('id', 'in', spare).execute()
  return [...new Set([...kept, ...[...needed].filter((id) => typeof id === 'string')])]
}

export function endStep(step: Step, status: Step['status'], now: Date): Step {
  return { ...step, status, durationMs: Math.max(0, now.getTime() - Date.parse(step.startedAt)) }
}

export function withStep(steps: readonly Step[], step: Step): string {
  return JSON.stringify([...steps.filter(({ name }) => name !== step.name), step])
}
