import { sql } from 'kysely'
import type { Db } from '../../db/pool.ts'
import { tx } from '../../db/tx.ts'
import { AppError } from '../../lib/app-error.ts'
import { isLogin } from './accounts.ts'
import { insertDelivery } from './deliveries.ts'
import { installationBody, installationRepositoriesBody } from './event-bodies.ts'
import { type Host, urlsAt } from './host.ts'
import { findInstallation, findInstallationOf, type Installation, selectHeld } from './installations.ts'
import { type Repository, selectRepositories } from './repositories.ts'

type Selection = 'all' | readonly string[]

// As many as an event names; the platform's own page has a limit too.
const namedMax = 1_000

/** Installs the app on an account. If it is there already, its repositories become the given ones. */
export async function install(
  host: Host,
  { account, repositories }: { account: unknown; repositories: unknown },
): Promise<Installation> {
  if (!isLogin(account)) throw wrong('`account` is the name of a person or an organization.')
  const selection = readSelection(repositories)
  const existing = await findInstallationOf(host.pool.db, account)
  if (existing) return changeInstallation(host, existing, { repositories: selection })
  const now = host.clock.now()
  const made = await change(host, async (db) => {
    const row = { account, holds_all: selection === 'all', suspended_by: null, suspended_at: null }
    const { id } = await db
      .insertInto('sandbox_installations')
      .values({ ...row, created_at: now, updated_at: now })
      .returning('id')
      .executeTakeFirstOrThrow()
    await select(db, { id, account, selection })
    const installation = await getInstallation(db, id)
    const held = await listHeld(db, id)
    return { installation, event: 'installation', about: (facts) => installationBody('created', facts, held) }
  })
  return made
}

/** Other repositories, or a pause: only what is given changes. */
export async function changeInstallation(
  host: Host,
  { id, account }: Installation,
  { repositories, isSuspended }: { repositories?: unknown; isSuspended?: boolean | undefined },
): Promise<Installation> {
  if (repositories !== undefined)
    await changeRepositories(host, { id, account, selection: readSelection(repositories) })
  const { db } = host.pool
  const before = await getInstallation(db, id)
  if (isSuspended === undefined || isSuspended === (before.suspended_at !== null)) return before
  const now = host.clock.now()
  const suspended = { suspended_at: isSuspended ? now : null, suspended_by: isSuspended ? account : null }
  return change(host, async (db) => {
    await db
      .updateTable('sandbox_installations')
      .set({ ...suspended, updated_at: now })
      .where('id', '=', id)
      .execute()
    const installation = await getInstallation(db, id)
    const action = isSuspended ? 'suspend' : 'unsuspend'
    return { installation, event: 'installation', about: (facts) => installationBody(action, facts, []) }
  })
}

/** Its tokens end with it. */
export async function uninstall(host: Host, installation: Installation): Promise<void> {
  await change(host, async (db) => {
    const held = await listHeld(db, installation.id)
    await db.deleteFrom('sandbox_installations').where('id', '=', installation.id).execute()
    return { installation, event: 'installation', about: (facts) => installationBody('deleted', facts, held) }
  })
}

interface Target {
  readonly id: number
  readonly account: string
  readonly selection: Selection
}

async function changeRepositories(host: Host, target: Target): Promise<void> {
  const { id, selection } = target
  const [app, urls, now] = [await host.identity(), urlsAt(host, host.ownUrl()), host.clock.now()]
  await tx(host.pool.db, async (db) => {
    const before = await listHeld(db, id)
    await db
      .updateTable('sandbox_installations')
      .set({ holds_all: selection === 'all', updated_at: now })
      .where('id', '=', id)
      .execute()
    await db.deleteFrom('sandbox_installation_repositories').where('installation_id', '=', id).execute()
    await select(db, target)
    const after = await listHeld(db, id)
    const installation = await getInstallation(db, id)
    const facts = { installation, sender: installation.account, urls, app }
    for (const [action, changed] of [
      ['added', missingFrom(before, after)],
      ['removed', missingFrom(after, before)],
    ] as const) {
      if (changed.length === 0) continue
      const body = installationRepositoriesBody(action, facts, changed)
      await insertDelivery(db, { event: 'installation_repositories', body, now })
    }
  })
  host.deliveries.wake()
}

function missingFrom(some: readonly Repository[], others: readonly Repository[]): Repository[] {
  const known = new Set(some.map(({ id }) => id))
  return others.filter(({ id }) => !known.has(id))
}

type Facts = Parameters<typeof installationBody>[1]

interface Outcome {
  readonly installation: Installation
  readonly event: string
  readonly about: (facts: Facts) => object
}

/** What happened, and the event that tells of it, in one transaction. */
async function change(host: Host, work: (db: Db) => Promise<Outcome>): Promise<Installation> {
  const [app, urls, now] = [await host.identity(), urlsAt(host, host.ownUrl()), host.clock.now()]
  const installation = await tx(host.pool.db, async (db) => {
    const { installation, event, about } = await work(db)
    await insertDelivery(db, { event, body: about({ installation, sender: installation.account, urls, app }), now })
    return installation
  })
  host.deliveries.wake()
  return installation
}

async function select(db: Db, { id, account, selection }: Target): Promise<void> {
  if (selection === 'all' || selection.length === 0) return
  const names = [...new Set(selection.map((name) => name.toLowerCase()))]
  const found = await selectRepositories(db)
    .where(
      sql<boolean>`lower(r.owner) = ${account.toLowerCase()} and lower(r.owner || '/' || r.name) = any(${names}::text[])`,
    )
    .execute()
  if (found.length !== names.length) throw wrong(`\`repositories\` names one that ${account} does not have.`)
  const rows = found.map((repository) => ({ installation_id: id, repository_id: repository.id }))
  await db.insertInto('sandbox_installation_repositories').values(rows).execute()
}

function listHeld(db: Db, id: number): Promise<Repository[]> {
  return selectHeld(db, id).orderBy('r.id').limit(namedMax).execute()
}

async function getInstallation(db: Db, id: number): Promise<Installation> {
  const found = await findInstallation(db, id)
  if (!found) throw new AppError('not_found')
  return found
}

function readSelection(given: unknown): Selection {
  if (given === 'all' || given === undefined) return 'all'
  if (Array.isArray(given) && given.length <= namedMax && given.every((name) => typeof name === 'string')) return given
  throw wrong('`repositories` is "all" or a list of full names.')
}

function wrong(detail: string): AppError {
  return new AppError('invalid_request', { detail })
}
