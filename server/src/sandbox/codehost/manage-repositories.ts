import type { Db } from '../../db/pool.ts'
import { tx } from '../../db/tx.ts'
import { AppError } from '../../lib/app-error.ts'
import { branchProblem } from '../../source/git-url.ts'
import { isLogin, isSameLogin } from './accounts.ts'
import { insertDelivery } from './deliveries.ts'
import { installationRepositoriesBody, type RepositoryAction, repositoryBody } from './event-bodies.ts'
import { addCommit, findBranch, initRepository, removeRepository } from './git.ts'
import { type Host, repositoryFolder, urlsAt } from './host.ts'
import type { SandboxApp } from './identity.ts'
import { type Installation, listHolders } from './installations.ts'
import { announcePush, beginPush } from './push.ts'
import { findRepository, findRepositoryById, isRepositoryName, type Repository } from './repositories.ts'

const repositoriesMax = 5_000
/** Words that stand in the place of an owner in the sandbox's own paths. */
const reserved = [
  'accounts',
  'api',
  'apps',
  'avatars',
  'deliveries',
  'events',
  'faults',
  'forms',
  'installations',
  'login',
  'organizations',
  'repos',
  'settings',
]

type Files = Readonly<Record<string, string | null>>

/** Makes it with one commit of the given files on `main`, or empty. */
export async function createRepository(
  host: Host,
  { fullName, isPrivate, files }: { fullName: unknown; isPrivate: boolean; files: unknown },
): Promise<Repository> {
  const { owner, name } = readFullName(fullName)
  const checked = readFiles(files)
  const now = host.clock.now()
  const repository = await tx(host.pool.db, async (db) => {
    await checkRoom(db)
    const row = { owner, name, is_private: isPrivate, default_branch: 'main', created_at: now, updated_at: now }
    const made = await db
      .insertInto('sandbox_repositories')
      .values({ ...row, pushed_at: null })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    if (!made) throw taken()
    return getById(db, made.id)
  })
  const folder = repositoryFolder(host, repository.id)
  await initRepository(folder, 'main')
  await tellHolders(host, repository)
  if (Object.keys(checked).length === 0) return repository
  return commitFiles(host, repository, { branch: 'main', message: 'Initial commit', files: checked })
}

/** As if it was pushed: the platform's own editor does the same. */
export async function commitFiles(
  host: Host,
  repository: Repository,
  {
    branch,
    message,
    files,
    author = repository.owner,
  }: { branch: unknown; message: unknown; files: unknown; author?: string },
): Promise<Repository> {
  const checked = readFiles(files)
  const name = branch ?? repository.default_branch
  if (typeof name !== 'string' || branchProblem(name) !== undefined)
    throw wrong('`branch` must be a valid branch name.')
  if (Object.keys(checked).length === 0) throw wrong('`files` names none.')
  if (message !== undefined && (typeof message !== 'string' || message.length > 10_000 || message.includes('\0')))
    throw wrong('`message` takes up to 10,000 characters.')
  const folder = repositoryFolder(host, repository.id)
  const from = (await findBranch(folder, name)) ?? (await findBranch(folder, repository.default_branch))
  await beginPush(host, repository.id)
  try {
    await addCommit(folder, {
      branch: name,
      from,
      author: { name: author, email: `${author}@sandbox.invalid` },
      message: message || 'Change files',
      files: checked,
      at: host.clock.now(),
    })
  } finally {
    await announcePush(host, repository.id, author)
  }
  return getById(host.pool.db, repository.id)
}

/** Another name, another owner, seen by others or not: only what is given changes, and events tell of each. */
export async function updateRepository(
  host: Host,
  before: Repository,
  { fullName, isPrivate }: { fullName?: unknown; isPrivate?: boolean | undefined },
): Promise<Repository> {
  const { owner, name } = fullName === undefined ? before : readFullName(fullName)
  const now = host.clock.now()
  const app = await host.identity()
  const after = await tx(host.pool.db, async (db) => {
    const other = await findRepository(db, owner, name)
    if (other && other.id !== before.id) throw taken()
    const holders = await listHolders(db, before.id)
    await db
      .updateTable('sandbox_repositories')
      .set({ owner, name, updated_at: now, ...(isPrivate !== undefined && { is_private: isPrivate }) })
      .where('id', '=', before.id)
      .execute()
    const isMoved = !isSameLogin(owner, before.owner)
    // An installation holds repositories of its own account only.
    if (isMoved)
      await db.deleteFrom('sandbox_installation_repositories').where('repository_id', '=', before.id).execute()
    const after = await getById(db, before.id)
    if (isMoved) await insertHoldEvents(host, db, { action: 'removed', repository: before, holders, app })
    const holdersNow = isMoved ? await listHolders(db, before.id) : holders
    if (isMoved) await insertHoldEvents(host, db, { action: 'added', repository: after, holders: holdersNow, app })
    for (const installation of holdersNow)
      for (const action of actionsOf(before, after))
        await insertRepositoryEvent(host, db, { action, before, after, installation })
    return after
  })
  host.deliveries.wake()
  return after
}

export async function deleteRepository(host: Host, repository: Repository): Promise<void> {
  await tx(host.pool.db, async (db) => {
    const holders = await listHolders(db, repository.id)
    await db.deleteFrom('sandbox_repositories').where('id', '=', repository.id).execute()
    for (const installation of holders)
      await insertRepositoryEvent(host, db, { action: 'deleted', before: repository, after: repository, installation })
  })
  await removeRepository(repositoryFolder(host, repository.id))
  host.deliveries.wake()
}

function actionsOf(before: Repository, after: Repository): RepositoryAction[] {
  return [
    ...(isSameLogin(before.owner, after.owner) ? [] : (['transferred'] as const)),
    ...(before.name === after.name ? [] : (['renamed'] as const)),
    ...(before.is_private === after.is_private ? [] : ([after.is_private ? 'privatized' : 'publicized'] as const)),
  ]
}

async function insertRepositoryEvent(
  host: Host,
  db: Db,
  {
    action,
    before,
    after,
    installation,
  }: { action: RepositoryAction; before: Repository; after: Repository; installation: Installation },
): Promise<void> {
  const about = { repository: after, installation, sender: before.owner, urls: urlsAt(host, host.ownUrl()) }
  await insertDelivery(db, { event: 'repository', body: repositoryBody(action, about, before), now: host.clock.now() })
}

/** Installations on all repositories of an account get new ones by themselves. */
async function tellHolders(host: Host, repository: Repository): Promise<void> {
  const { db } = host.pool
  const [app, holders] = [await host.identity(), await listHolders(db, repository.id)]
  await insertHoldEvents(host, db, { action: 'added', repository, holders, app })
  host.deliveries.wake()
}

interface HoldChange {
  readonly action: 'added' | 'removed'
  readonly repository: Repository
  readonly holders: readonly Installation[]
  readonly app: SandboxApp
}

async function insertHoldEvents(host: Host, db: Db, { action, repository, holders, app }: HoldChange): Promise<void> {
  const [urls, now] = [urlsAt(host, host.ownUrl()), host.clock.now()]
  for (const installation of holders) {
    const about = { installation, sender: repository.owner, urls, app }
    const body = installationRepositoriesBody(action, about, [repository])
    await insertDelivery(db, { event: 'installation_repositories', body, now })
  }
}

async function checkRoom(db: Db): Promise<void> {
  const { count } = await db
    .selectFrom('sandbox_repositories')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow()
  if (Number(count) >= repositoriesMax) throw new AppError('limit_reached')
}

async function getById(db: Db, id: number): Promise<Repository> {
  const found = await findRepositoryById(db, id)
  if (!found) throw new AppError('not_found')
  return found
}

function readFullName(text: unknown): { owner: string; name: string } {
  const [owner, name, ...more] = typeof text === 'string' ? text.split('/') : []
  if (!isLogin(owner) || reserved.includes(owner.toLowerCase()) || !isRepositoryName(name) || more.length > 0)
    throw wrong('`fullName` is OWNER/NAME: letters, digits and hyphens, then also dots and underscores.')
  return { owner, name }
}

const filesMax = 1_000

/** Texts by path; null takes a file away. */
function readFiles(files: unknown): Files {
  if (files === undefined || files === null) return {}
  const isObject = typeof files === 'object' && !Array.isArray(files)
  const entries = isObject ? Object.entries(files) : []
  const isRight = ([path, text]: [string, unknown]) => isPath(path) && (text === null || typeof text === 'string')
  if (!isObject || entries.length > filesMax || !entries.every(isRight))
    throw wrong('`files` is an object of texts by relative path; null takes a file away.')
  return Object.fromEntries(entries) as Files
}

function isPath(path: string): boolean {
  const parts = path.split('/')
  return path.length <= 1024 && !/\p{Cc}/u.test(path) && parts.every((part) => !/^(|\.|\.\.|\.git)$/i.test(part))
}

function wrong(detail: string): AppError {
  return new AppError('invalid_request', { detail })
}

function taken(): AppError {
  return new AppError('invalid_state', { detail: 'There is a repository of that name already.' })
}
