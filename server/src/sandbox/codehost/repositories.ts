import { sql } from 'kysely'
import type { Db } from '../../db/pool.ts'
import { isOrganization } from './accounts.ts'

export interface Repository {
  readonly id: number
  readonly owner: string
  readonly name: string
  readonly is_private: boolean
  readonly default_branch: string
  readonly announced: Record<string, string>
  readonly created_at: Date
  readonly updated_at: Date
  readonly pushed_at: Date | null
  readonly is_organization: boolean
}

/** Letters, digits, `.`, `-` and `_`, as on the platform; `.git` at the end belongs to URLs. */
export function isRepositoryName(text: unknown): text is string {
  return typeof text === 'string' && /^[\w.-]{1,100}$/.test(text) && !/^\.{1,2}$|\.git$|\.wiki$/i.test(text)
}

export function fullName({ owner, name }: Pick<Repository, 'owner' | 'name'>): string {
  return `${owner}/${name}`
}

export function selectRepositories(db: Db) {
  return db
    .selectFrom('sandbox_repositories as r')
    .selectAll('r')
    .select(isOrganization('r.owner').as('is_organization'))
}

export function findRepository(db: Db, owner: string, name: string): Promise<Repository | undefined> {
  return selectRepositories(db)
    .where(sql<boolean>`lower(r.owner) = ${owner.toLowerCase()} and lower(r.name) = ${name.toLowerCase()}`)
    .executeTakeFirst()
}

export function findRepositoryById(db: Db, id: number): Promise<Repository | undefined> {
  return selectRepositories(db).where('r.id', '=', id).executeTakeFirst()
}
