import { DatabaseAway, type Db } from '../../db/pool.ts'
import { tx } from '../../db/tx.ts'
import { KeyedLock } from '../../lib/keyed-lock.ts'
import { insertDelivery } from './deliveries.ts'
import { noCommit, pushBody, type RefChange } from './event-bodies.ts'
import { type Commit, countCommits, findObjectCommit, readCommits, readRefs, setHead } from './git.ts'
import { type Host, repositoryFolder, urlsAt } from './host.ts'
import { listHolders } from './installations.ts'
import { findRepositoryById, type Repository } from './repositories.ts'

/** As many as the platform lists. */
const commitsMax = 2048
// One push can carry any number of refs; the platform also sends no events past some number.
const changesMax = 100

const locks = new KeyedLock()

/** Before git gets to move a ref: if this server is killed before `announcePush`, the next one knows where to look. */
export async function beginPush({ pool }: Host, repositoryId: number): Promise<void> {
  await countPushes(pool.db, repositoryId, 1)
}

/** When git has done its work, whatever came of it and whoever still wants to know. */
export async function announcePush(host: Host, repositoryId: number, pusher: string | undefined): Promise<void> {
  await announceChanges(host, repositoryId, pusher)
  await countPushes(host.pool.db, repositoryId, -1)
}

/** What was pushed to a server that was killed before it could tell of it. */
export async function announceLeft(host: Host): Promise<void> {
  const { db } = host.pool
  const left = await db
    .selectFrom('sandbox_repositories')
    .select(['id', 'pushes_under_way'])
    .where('pushes_under_way', '>', 0)
    .execute()
  for (const { id, pushes_under_way } of left) {
    try {
      await announceChanges(host, id, undefined)
      await countPushes(db, id, -pushes_under_way)
    } catch (error) {
      // One repository that cannot be read is no reason to leave out the others; the next start tries it again.
      if (error instanceof DatabaseAway) throw error
      host.log.error({ err: error, repository: id }, 'sandbox: a push was not told of')
    }
  }
}

async function countPushes(db: Db, repositoryId: number, more: number): Promise<void> {
  await db
    .updateTable('sandbox_repositories')
    .set((eb) => ({ pushes_under_way: eb.fn<number>('greatest', [eb.val(0), eb('pushes_under_way', '+', more)]) }))
    .where('id', '=', repositoryId)
    .execute()
}

/**
 * Tells of every ref that is not where the last event left it. What was pushed and what was told are compared, not
 * remembered, so that a push is told of once even if this server is killed in between.
 */
export function announceChanges(host: Host, repositoryId: number, pusher: string | undefined): Promise<void> {
  return locks.run(`${host.folder}:${repositoryId}`, async () => {
    const repository = await findRepositoryById(host.pool.db, repositoryId)
    if (!repository) return
    const folder = repositoryFolder(host, repositoryId)
    const refs = await readRefs(folder)
    const { announced } = repository
    const names = [...new Set([...Object.keys(refs), ...Object.keys(announced)])]
    const changed = names.filter((ref) => refs[ref] !== announced[ref])
    if (changed.length === 0) return
    const known = Object.values(announced)
    const changes: RefChange[] = []
    for (const ref of changed.slice(0, changesMax)) {
      const [before, after] = [announced[ref] ?? noCommit, refs[ref] ?? noCommit]
      changes.push({ ref, before, after, ...(await readPushed(folder, { before, after, known })) })
    }
    const branch = await chooseDefault(folder, repository, refs)
    await record(
      host,
      { ...repository, default_branch: branch, pushed_at: host.clock.now() },
      { refs, changes, pusher },
    )
    host.deliveries.wake()
  })
}

type Pushed = Pick<RefChange, 'isForced' | 'commits' | 'headCommit'>

async function readPushed(
  folder: string,
  { before, after, known }: { before: string; after: string; known: readonly string[] },
): Promise<Pushed> {
  const head = after === noCommit ? undefined : await findObjectCommit(folder, after)
  if (head === undefined) return { isForced: false, commits: [], headCommit: undefined }
  const old = before === noCommit ? undefined : await findObjectCommit(folder, before)
  // Of a new branch, what no other one had. Two thousand hashes still fit into a command line.
  const without = old === undefined ? known.slice(0, 2000) : [old]
  const range = [head, ...without.map((sha) => `^${sha}`)]
  // The newest are kept; the oldest of them comes first.
  const commits = (await readCommits(folder, range, { most: commitsMax })).toReversed()
  const headCommit: Commit | undefined =
    commits.find(({ sha }) => sha === head) ?? (await readCommits(folder, [head], { most: 1 }))[0]
  const isForced = old !== undefined && (await countCommits(folder, [old, `^${head}`])) > 0
  return { isForced, commits, headCommit }
}

/** The first branch of an empty repository becomes its default one, whatever it is called. */
async function chooseDefault(
  folder: string,
  { default_branch: branch, announced }: Repository,
  refs: Readonly<Record<string, string>>,
): Promise<string> {
  const branches = (all: object) => Object.keys(all).filter((ref) => ref.startsWith('refs/heads/'))
  const [first] = branches(refs)
  if (first === undefined || refs[`refs/heads/${branch}`] !== undefined || branches(announced).length > 0) return branch
  const name = first.slice('refs/heads/'.length)
  await setHead(folder, name)
  return name
}

async function record(
  host: Host,
  repository: Repository,
  {
    refs,
    changes,
    pusher,
  }: { refs: Record<string, string>; changes: readonly RefChange[]; pusher: string | undefined },
): Promise<void> {
  const now = host.clock.now()
  const urls = urlsAt(host, host.ownUrl())
  await tx(host.pool.db, async (db) => {
    await db
      .updateTable('sandbox_repositories')
      .set({ announced: JSON.stringify(refs), default_branch: repository.default_branch, pushed_at: now })
      .where('id', '=', repository.id)
      .execute()
    for (const installation of await listHolders(db, repository.id)) {
      if (installation.suspended_at !== null) continue
      const about = { repository, installation, sender: pusher ?? repository.owner, urls }
      for (const change of changes) await insertDelivery(db, { event: 'push', body: pushBody(change, about), now })
    }
  })
}
