import type { Db } from '../../db/pool.ts'
import type { Status } from './wire-commits.ts'
import { invalidField } from './wire-error.ts'

const states = ['error', 'failure', 'pending', 'success']
const descriptionMax = 140
const contextMax = 255
// The platform takes a thousand for one commit; ours are looked at all together.
const listedMax = 1000

export function readStatus(body: Readonly<Record<string, unknown>>) {
  const { state, description, target_url: targetUrl, context } = body
  const wrong = (field: string, message: string) => invalidField('Status', field, message)
  if (typeof state !== 'string' || !states.includes(state)) throw wrong('state', 'State is not included in the list')
  if (!isText(description, descriptionMax))
    throw wrong('description', `Description is too long (maximum is ${descriptionMax} characters)`)
  if (!isText(context, contextMax)) throw wrong('context', `Context is too long (maximum is ${contextMax} characters)`)
  if (!isText(targetUrl, 2048) || (targetUrl && !/^https?:\/\//.test(targetUrl)))
    throw wrong('target_url', 'target_url must use http(s) scheme')
  return { state, description: description ?? null, target_url: targetUrl || null, context: context || 'default' }
}

function isText(value: unknown, most: number): value is string | null | undefined {
  return (
    value === undefined ||
    value === null ||
    (typeof value === 'string' && value.length <= most && !value.includes('\0'))
  )
}

export function insertStatus(db: Db, status: Omit<Status, 'id'> & { readonly repository_id: number }): Promise<Status> {
  return db.insertInto('sandbox_statuses').values(status).returningAll().executeTakeFirstOrThrow()
}

/** Newest first. */
export function listStatuses(db: Db, repositoryId: number, sha: string): Promise<Status[]> {
  return db
    .selectFrom('sandbox_statuses')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('sha', '=', sha)
    .orderBy('id', 'desc')
    .limit(listedMax)
    .execute()
}

export function listRecentStatuses(db: Db, repositoryId: number, most: number): Promise<Status[]> {
  return db
    .selectFrom('sandbox_statuses')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('id', 'desc')
    .limit(most)
    .execute()
}

export function latestByContext(newestFirst: readonly Status[]): Status[] {
  const seen = new Map<string, Status>()
  for (const status of newestFirst) if (!seen.has(status.context)) seen.set(status.context, status)
  return [...seen.values()]
}

export function combinedState(latest: readonly Status[]): 'failure' | 'pending' | 'success' {
  if (latest.some(({ state }) => state === 'error' || state === 'failure')) return 'failure'
  return latest.length === 0 || latest.some(({ state }) => state === 'pending') ? 'pending' : 'success'
}
