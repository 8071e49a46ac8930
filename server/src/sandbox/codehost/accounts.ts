import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/pool.ts'
import { sha256 } from '../../lib/secret.ts'

/** Letters, digits and single hyphens inside, as on the platform. */
const loginPattern = /^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,38}$/i

export function isLogin(text: unknown): text is string {
  return typeof text === 'string' && loginPattern.test(text)
}

/** A person of the sandbox: whoever types a name. The same name is the same person. */
export function loginFor(typed: string): string {
  const login = typed
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/gi, '-')
    .slice(0, 39)
    .replace(/^-|-$/g, '')
  return isLogin(login) ? login : 'visitor'
}

/** The same for a name ever after: there is no list of people. Below 2^47, so that every language reads it exactly. */
export function accountId(login: string): number {
  return 1_000_000 + sha256(`codehost:${login.toLowerCase()}`).readUIntBE(0, 5)
}

export function isSameLogin(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

/** Whether a person may act for an account: their own, or an organization that they are a member of. */
export async function belongsTo(db: Db, login: string, account: string): Promise<boolean> {
  if (isSameLogin(login, account)) return true
  const found = await db
    .selectFrom('sandbox_members')
    .select('member')
    .where('organization', '=', account.toLowerCase())
    .where('member', '=', login.toLowerCase())
    .executeTakeFirst()
  return found !== undefined
}

/** Its members from now on; with none it is a person again. */
export async function setMembers(db: Db, organization: string, members: readonly string[]): Promise<void> {
  const rows = [...new Set(members.map((member) => member.toLowerCase()))].map((member) => ({
    organization: organization.toLowerCase(),
    member,
  }))
  await db.deleteFrom('sandbox_members').where('organization', '=', organization.toLowerCase()).execute()
  if (rows.length > 0) await db.insertInto('sandbox_members').values(rows).execute()
}

/** For the column of a query that holds a login. */
export function isOrganization(column: string): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from sandbox_members m where m.organization = lower(${sql.ref(column)}))`
}
