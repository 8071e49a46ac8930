import { sql } from 'kysely'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { AppError } from '../lib/app-error.ts'
import type { CodehostClient } from './client.ts'

// Longer than a report may take, and no longer than a commit can wait for one that was killed in the middle.
const claimMs = 15_000
const reportMs = 10_000
const firstRetryMs = 2_000
const longestRetryMs = 15 * 60_000
// A commit whose status nobody could be told for so long is history.
const giveUpMs = 24 * 60 * 60_000
const descriptionMax = 140
// Longer than a request that nobody waits for any more lives on the way.
const repeatMs = 60_000
// Any number that no other lock of ours has.
const claimLock = 7_236_012_985

type State = 'pending' | 'success' | 'failure' | 'error'

interface Due {
  readonly deployment_id: string
  readonly installation_id: string
  readonly repo_id: string
  readonly commit_sha: string
  readonly state: State
  readonly attempts: number
  readonly created_at: Date
  readonly bot_id: string
  readonly bot_name: string
  readonly identifier: string
  readonly status: string
  readonly message: string | null
  readonly is_uncertain: boolean
  readonly is_outdated: boolean
}

/** Tells the platform what became of one commit; false: nothing is due. Whatever comes of it, deployments go on. */
export async function reportNext(app: App, client: CodehostClient): Promise<boolean> {
  if ((await heldUntil(app.pool.db)) > app.clock.now()) return false
  const due = await claimNext(app)
  if (!due) return false
  try {
    // A later deployment of the same commit speaks for it, whatever this one has to say by now.
    const isTaken = due.is_outdated || (await report(app, client, due))
    if (!isTaken) app.log.warn({ deployment: due.deployment_id }, 'the code host takes no status of this commit')
    await settle(app.pool.db, due, afterReport(due, app.clock.now()))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await putOff(app, due, error)
  }
  return true
}

/** What an earlier attempt was to tell may arrive after this: the last word is said once more when that has passed. */
function afterReport({ state, is_uncertain, is_outdated }: Due, now: Date): Settled {
  const isLast = state !== 'pending'
  const next_at = isLast && is_uncertain && !is_outdated ? new Date(now.getTime() + repeatMs) : null
  return { attempts: 0, next_at, is_uncertain: is_uncertain && !isLast }
}

async function report(app: App, client: CodehostClient, due: Due): Promise<boolean> {
  const repo = { installationId: Number(due.installation_id), repoId: Number(due.repo_id) }
  const signal = AbortSignal.timeout(reportMs)
  const access = await client.makeRepositoryToken(repo, { statuses: 'write' }, signal)
  if (!access) return false
  const body = {
    state: due.state,
    // By what never changes: rules about commits name it. Two bots of one repository have two.
    context: `botberth/${due.identifier}`,
    description: describe(due),
    target_url: `${app.publicUrl()}/bots/${due.bot_id}/deployments/${due.deployment_id}`,
  }
  return client.setCommitStatus({ ...access, commitSha: due.commit_sha }, body, signal)
}

const words: Readonly<Record<string, string>> = {
  queued: 'waits for its turn',
  succeeded: 'is deployed',
  failed: 'failed to deploy',
  canceled: 'was canceled',
  superseded: 'gave way to a newer push',
}

function describe({ bot_name, status, state, message }: Due): string {
  const what = state === 'pending' ? 'is being deployed' : (words[status] ?? status)
  const why = message === null ? '' : `: ${message}`
  const text = `${bot_name} ${state === 'success' && status === 'canceled' ? 'skips this push' : what}${why}`
  const letters = [...text]
  return letters.length > descriptionMax ? `${letters.slice(0, descriptionMax - 1).join('')}…` : text
}

/** Nobody else has it for a while, nor another one of the same commit: two reports at once could overtake each other. */
function claimNext({ pool, clock }: App): Promise<Due | undefined> {
  const now = clock.now()
  return tx(pool.db, async (db) => {
    // One claim at a time: two at once would not see each other.
    await sql`select pg_advisory_xact_lock(${claimLock})`.execute(db)
    const { rows } = await sql<Due>`
      update commit_statuses s set claimed_until = ${new Date(now.getTime() + claimMs)},
        -- Whoever had it and neither settled it nor gave it back may have told it, and the request may still arrive.
        is_uncertain = is_uncertain or claimed_until is not null
      from deployments d join bots b on b.id = d.bot_id
      where d.id = s.deployment_id and s.deployment_id = (
        select due.deployment_id from commit_statuses due join deployments of_due on of_due.id = due.deployment_id
        where due.next_at <= ${now} and (due.claimed_until is null or due.claimed_until <= ${now})
          and not exists (
            select from commit_statuses other join deployments of_other on of_other.id = other.deployment_id
            where other.commit_sha = due.commit_sha and of_other.bot_id = of_due.bot_id and other.claimed_until > ${now}
          )
        order by due.next_at limit 1
      )
      returning s.deployment_id, s.installation_id, s.repo_id, s.commit_sha, s.state, s.attempts, s.created_at,
        s.is_uncertain, b.id as bot_id, b.name as bot_name, b.identifier, d.status, d.error ->> 'message' as message,
        exists (
          select from commit_statuses newer join deployments of_newer on of_newer.id = newer.deployment_id
          where newer.commit_sha = s.commit_sha and of_newer.bot_id = d.bot_id and newer.deployment_id > d.id
        ) as is_outdated`.execute(db)
    return rows[0]
  })
}

async function putOff(app: App, due: Due, error: AppError): Promise<void> {
  const now = app.clock.now().getTime()
  const isLast = now - due.created_at.getTime() > giveUpMs
  app.log.warn({ err: error, deployment: due.deployment_id, isLast }, 'a commit status could not be reported')
  const askedMs = Number(error.headers['retry-after'] ?? 0) * 1000
  const delayMs = Math.max(askedMs, Math.min(longestRetryMs, firstRetryMs * 2 ** due.attempts))
  await settle(app.pool.db, due, {
    attempts: due.attempts + 1,
    next_at: isLast ? null : new Date(now + delayMs),
    // Who has had enough of us has taken nothing.
    is_uncertain: due.is_uncertain || askedMs === 0,
  })
  // It has had enough of all of us, not of this one.
  if (askedMs > 0) await holdAll(app.pool.db, new Date(now + askedMs))
}

const notBefore = 'codehost_statuses_after'

/** Also those that are made meanwhile. */
async function holdAll(db: Db, until: Date): Promise<void> {
  const value = until.toISOString()
  await db
    .insertInto('instance')
    .values({ name: notBefore, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

async function heldUntil(db: Db): Promise<Date> {
  const row = await db.selectFrom('instance').select('value').where('name', '=', notBefore).executeTakeFirst()
  return new Date(row?.value ?? 0)
}

interface Settled {
  readonly attempts: number
  readonly next_at: Date | null
  readonly is_uncertain: boolean
}

/** What has become of it meanwhile is told next, at once. */
async function settle(
  db: Db,
  { deployment_id, state }: Due,
  { is_uncertain, attempts, next_at }: Settled,
): Promise<void> {
  await db
    .updateTable('commit_statuses')
    .set({
      claimed_until: null,
      is_uncertain,
      attempts: sql`case when state = ${state} then ${attempts}::integer else attempts end`,
      next_at: sql`case when state = ${state} then ${next_at}::timestamptz else next_at end`,
    })
    .where('deployment_id', '=', deployment_id)
    .execute()
}

/** When the next one is due, undefined: none waits. */
export async function nextStatusAt(db: Db): Promise<Date | undefined> {
  const row = await db
    .selectFrom('commit_statuses')
    .select((eb) => eb.fn<Date>('greatest', ['next_at', 'claimed_until']).as('at'))
    .where('next_at', 'is not', null)
    .orderBy('at')
    .limit(1)
    .executeTakeFirst()
  if (!row) return undefined
  const until = await heldUntil(db)
  return until > row.at ? until : row.at
}
