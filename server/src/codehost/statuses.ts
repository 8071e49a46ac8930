import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'
import type { CodehostClient } from './client.ts'

// Longer than the two requests of one report may take.
const claimMs = 30_000
const requestMs = 10_000
const firstRetryMs = 2_000
const longestRetryMs = 15 * 60_000
// A commit whose status nobody could be told for so long is history.
const giveUpMs = 24 * 60 * 60_000
const descriptionMax = 140

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
}

/** Tells the platform what became of one commit; false: nothing is due. Whatever comes of it, deployments go on. */
export async function reportNext(app: App, client: CodehostClient): Promise<boolean> {
  const due = await claimNext(app)
  if (!due) return false
  try {
    const isTaken = await report(app, client, due)
    if (!isTaken) app.log.warn({ deployment: due.deployment_id }, 'the code host takes no status of this commit')
    await settle(app.pool.db, due, { attempts: 0, next_at: null })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await putOff(app, due, error)
  }
  return true
}

async function report(app: App, client: CodehostClient, due: Due): Promise<boolean> {
  const repo = { installationId: Number(due.installation_id), repoId: Number(due.repo_id) }
  const access = await client.makeRepositoryToken(repo, { statuses: 'write' }, AbortSignal.timeout(requestMs))
  if (!access) return false
  const body = {
    state: due.state,
    // By what never changes: rules about commits name it. Two bots of one repository have two.
    context: `botberth/${due.identifier}`,
    description: describe(due),
    target_url: `${app.publicUrl()}/bots/${due.bot_id}/deployments/${due.deployment_id}`,
  }
  return client.setCommitStatus({ ...access, commitSha: due.commit_sha }, body, AbortSignal.timeout(requestMs))
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

/** Nobody else has it for a while: two reports of one commit could overtake each other. */
async function claimNext({ pool, clock }: App): Promise<Due | undefined> {
  const now = clock.now()
  const [due] = await pool.query<Due & Record<string, unknown>>(
    `update commit_statuses s set claimed_until = $2
     from deployments d join bots b on b.id = d.bot_id
     where d.id = s.deployment_id and s.deployment_id = (
       select deployment_id from commit_statuses
       where next_at <= $1 and (claimed_until is null or claimed_until <= $1)
       order by next_at limit 1 for update skip locked
     )
     returning s.deployment_id, s.installation_id, s.repo_id, s.commit_sha, s.state, s.attempts, s.created_at,
       b.id as bot_id, b.name as bot_name, b.identifier, d.status, d.error ->> 'message' as message`,
    [now, new Date(now.getTime() + claimMs)],
  )
  return due
}

async function putOff(app: App, due: Due, error: AppError): Promise<void> {
  const now = app.clock.now().getTime()
  const isLast = now - due.created_at.getTime() > giveUpMs
  app.log.warn({ err: error, deployment: due.deployment_id, isLast }, 'a commit status could not be reported')
  const askedMs = Number(error.headers['retry-after'] ?? 0) * 1000
  const delayMs = Math.max(askedMs, Math.min(longestRetryMs, firstRetryMs * 2 ** due.attempts))
  await settle(app.pool.db, due, { attempts: due.attempts + 1, next_at: isLast ? null : new Date(now + delayMs) })
  // It has had enough of all of us, not of this one.
  if (askedMs > 0) await putOffAll(app.pool.db, new Date(now + askedMs))
}

async function putOffAll(db: Db, until: Date): Promise<void> {
  await db.updateTable('commit_statuses').set({ next_at: until }).where('next_at', '<', until).execute()
}

/** What has become of it meanwhile is told next, at once. */
async function settle(
  db: Db,
  { deployment_id, state }: Due,
  { attempts, next_at }: { attempts: number; next_at: Date | null },
) {
  const done = await db
    .updateTable('commit_statuses')
    .set({ claimed_until: null, attempts, next_at })
    .where('deployment_id', '=', deployment_id)
    .where('state', '=', state)
    .executeTakeFirst()
  if (done.numUpdatedRows > 0n) return
  await db
    .updateTable('commit_statuses')
    .set({ claimed_until: null })
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
  return row?.at
}
