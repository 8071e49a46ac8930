import { sql } from 'kysely'
import type { Db } from '../../db/pool.ts'
import { isOrganization } from './accounts.ts'
import { selectRepositories } from './repositories.ts'

export interface Installation {
  readonly id: number
  readonly account: string
  readonly holds_all: boolean
  readonly suspended_by: string | null
  readonly suspended_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly is_organization: boolean
}

/** What the app asks for, and so what every installation of it has granted. */
export const permissions = { contents: 'read', metadata: 'read', statuses: 'write' } as const
export const events = ['push', 'repository'] as const

/** Postgres counts ids up to here; a larger one is the id of nothing. */
const idMax = 2_147_483_647

export function readId(text: unknown): number | undefined {
  const id = typeof text === 'string' && /^\d{1,10}$/.test(text) ? Number(text) : text
  return typeof id === 'number' && Number.isInteger(id) && id > 0 && id <= idMax ? id : undefined
}

export function selectInstallations(db: Db) {
  return db
    .selectFrom('sandbox_installations as i')
    .selectAll('i')
    .select(isOrganization('i.account').as('is_organization'))
}

export function findInstallation(db: Db, id: number | undefined): Promise<Installation | undefined> {
  return selectInstallations(db)
    .where('i.id', '=', id ?? 0)
    .executeTakeFirst()
}

export function findInstallationOf(db: Db, account: string): Promise<Installation | undefined> {
  return selectInstallations(db).where(sql<boolean>`lower(i.account) = ${account.toLowerCase()}`).executeTakeFirst()
}

/** Those that hold a repository: the account's, or none. */
export function listHolders(db: Db, repositoryId: number): Promise<Installation[]> {
  return selectInstallations(db)
    .innerJoin('sandbox_repositories as r', (join) => join.on('r.id', '=', repositoryId))
    .where(holds)
    .execute()
}

/** Of accounts that a person may act for. */
export function selectInstallationsOf(db: Db, login: string) {
  const person = login.toLowerCase()
  const isMember = sql`exists (select 1 from sandbox_members m where m.organization = lower(i.account) and m.member = ${person})`
  return selectInstallations(db).where(sql<boolean>`(lower(i.account) = ${person} or ${isMember})`)
}

/** The repositories of an installation; with `ids`, only those of them. */
export function selectHeld(db: Db, installationId: number, ids: readonly number[] | null = null) {
  const held = selectRepositories(db)
    .innerJoin('sandbox_installations as i', (join) => join.on('i.id', '=', installationId))
    .where(holds)
  return ids === null ? held : held.where(sql<boolean>`r.id = any(${[...ids]}::integer[])`)
}

export async function isHeld(
  db: Db,
  { repositoryId, installationId }: { repositoryId: number; installationId: number },
): Promise<boolean> {
  return (await selectHeld(db, installationId).where('r.id', '=', repositoryId).executeTakeFirst()) !== undefined
}

/** A join of `sandbox_installations as i` with `sandbox_repositories as r`. */
const holds = sql<boolean>`lower(r.owner) = lower(i.account) and (i.holds_all or exists (
  select 1 from sandbox_installation_repositories x where x.installation_id = i.id and x.repository_id = r.id
))`
