import type { Db } from '../db/pool.ts'
import type { Change, Happening, Push } from './events.ts'
import { type HeardMove, lastMove } from './push-order.ts'
import {
  clearProblem,
  confirmLinks,
  type LinkedBot,
  listLinkedBots,
  notePush,
  noteTransfer,
  renameOwner,
  renameRepo,
  setProblem,
} from './queries.ts'

/** What a push asks for; said by whoever can make deployments. */
export interface PushDeployer {
  /** Instead of those of earlier pushes that still wait. */
  deploy(db: Db, botId: string, push: PushedCommit): Promise<void>
  /** A record of why nothing is deployed, where the bot's owner looks for deployments. */
  skip(db: Db, botId: string, push: PushedCommit & { reason: string; isOutdated?: boolean }): Promise<void>
  /** One that was heard of after a newer one, which brings along what it changed. */
  join(db: Db, botId: string, push: PushedCommit & { newestSha: string | null }): Promise<void>
  /** A commit that was pushed before: it turned out to be the newest. */
  deployAgain(db: Db, botId: string, commitSha: string): Promise<void>
}

interface PushedCommit {
  readonly branch: string
  readonly commitSha: string | null
  readonly commitMsg: string
  readonly changes: readonly string[] | null
}

/** In one transaction with the note that it is done: nothing of it happens twice, whoever is killed when. */
export async function handle(db: Db, happening: Exclude<Happening, Revoked>, deployer: PushDeployer): Promise<string> {
  return happening.kind === 'push' ? handlePush(db, happening, deployer) : applyChange(db, happening)
}

type Revoked = { readonly kind: 'authorization-revoked' }

async function handlePush(db: Db, push: Push, deployer: PushDeployer): Promise<string> {
  const { repoId, installationId, fullName } = push
  // The bots are locked first, as when one of them is deleted.
  const linked = await listLinkedBots(db, { repoId, installationId })
  // What came since may have renamed it, or taken it away.
  if (!linked.some((bot) => compareTimes(push, bot) === 'older'))
    await confirmLinks(db, { repoId, installationId }, fullName)
  const bots = linked.filter(
    ({ git_branch, auto_deploy_enabled }) =>
      auto_deploy_enabled && (git_branch === null ? push.isDefaultBranch : git_branch === push.branch),
  )
  for (const bot of bots) await (isBeforeDecision(push, bot) ? recordOutdated : deployTo)(db, bot, { push, deployer })
  return `${bots.length} of ${linked.length} bots`
}

interface Pushed {
  readonly push: Push
  readonly deployer: PushDeployer
}

async function deployTo(db: Db, bot: LinkedBot, { push, deployer }: Pushed): Promise<void> {
  const { bot_id, head_sha } = bot
  const { before = '' } = push
  const commit = commitOf(push)
  const reason = whySkipped(push)
  const at = compareTimes(push, bot)
  const second = push.pushedAt ?? null
  const move = { before, after: push.commitSha ?? noCommit, deploys: reason === undefined, second }
  const heard = [...bot.pushes.slice(1 - movesMax), move]
  const moves = second === null ? [move] : heard.filter((other) => other.second === second)
  const head = at === 'older' ? undefined : lastMove(moves)
  const headSha = at === 'older' ? head_sha : (head?.after ?? null)

  if (reason !== undefined) await deployer.skip(db, bot_id, { ...commit, reason })
  else if (head === move) await deployer.deploy(db, bot_id, commit)
  else await deployer.join(db, bot_id, { ...commit, newestSha: headSha })
  if (head && head !== move && head.after !== head_sha) await deployer.deployAgain(db, bot_id, head.after)
  if (at !== 'older') await noteMoves(db, bot, { push, heard, headSha: headSha ?? head_sha })
}

function commitOf({ branch, commitSha, commitMsg, changes }: Push): PushedCommit {
  return { branch, commitSha: commitSha ?? null, commitMsg, changes }
}

async function noteMoves(
  db: Db,
  bot: LinkedBot,
  { push, heard, headSha }: { push: Push; heard: readonly HeardMove[]; headSha: string | null },
): Promise<void> {
  const { bot_id, pushed_at, head_sha } = bot
  // One that asks not to be deployed leaves those before it as they are, also those that come after it. Of its own second it
  // is a link between others.
  if (push.isSkipWanted && compareTimes(push, bot) === 'newer')
    return notePush(db, bot_id, { pushedAt: pushed_at, moves: heard, headSha: head_sha })
  const second = push.pushedAt ?? ''
  const moves = heard.filter((other) => (other.second ?? '') >= second)
  await notePush(db, bot_id, { pushedAt: second === '' ? pushed_at : new Date(second), moves, headSha })
}

/** One that was missed may come hours later: what somebody did by hand meanwhile counts. */
async function recordOutdated(db: Db, { bot_id }: LinkedBot, { push, deployer }: Pushed): Promise<void> {
  const skipped = whySkipped(push)
  const reason = skipped ?? 'It was heard of after something newer was linked or deployed by hand.'
  await deployer.skip(db, bot_id, { ...commitOf(push), reason, isOutdated: skipped === undefined })
}

// Their clock is not ours, and their times are whole seconds.
const toleranceMs = 2 * 60_000

function isBeforeDecision({ pushedAt }: Push, { decided_at }: LinkedBot): boolean {
  return pushedAt !== undefined && new Date(pushedAt).getTime() + toleranceMs < decided_at.getTime()
}

const noCommit = '0'.repeat(40)
// Of one bot in one second; whoever pushes more often waits for the last one anyway.
const movesMax = 50

/** The platform promises no order, and a repeat by hand may come days later. */
function compareTimes({ pushedAt }: Push, { pushed_at }: LinkedBot): 'older' | 'same' | 'newer' {
  if (pushedAt === undefined || pushed_at === null) return 'newer'
  const differenceMs = new Date(pushedAt).getTime() - pushed_at.getTime()
  return differenceMs < 0 ? 'older' : differenceMs === 0 ? 'same' : 'newer'
}

function whySkipped({ commitSha, isSkipWanted, branch }: Push): string | undefined {
  if (commitSha === undefined) return `The branch ${branch} was deleted.`
  if (isSkipWanted) return 'The message of the commit says [skip deploy].'
  return undefined
}

/**
 * Bots keep running, whatever becomes of their repositories. What is noted is a hint: it may be old, and whoever fetches one
 * asks the platform.
 */
async function applyChange(db: Db, change: Exclude<Change, Revoked>): Promise<string> {
  switch (change.kind) {
    case 'installation':
      await changeInstallation(db, change)
      break
    case 'owner-renamed':
      await renameOwner(db, change.installationId, change.login)
      break
    case 'repositories': {
      const { installationId, added, removed } = change
      for (const repoId of removed) await setProblem(db, { installationId, repoId }, 'removed')
      for (const repoId of added) await clearProblem(db, { installationId, repoId }, 'removed')
      break
    }
    case 'repository':
      await changeRepository(db, change)
      break
  }
  return 'noted'
}

async function changeInstallation(
  db: Db,
  { action, installationId }: Change & { kind: 'installation' },
): Promise<void> {
  if (action === 'deleted') await setProblem(db, { installationId }, 'removed')
  else if (action === 'suspend') await setProblem(db, { installationId }, 'suspended')
  else await clearProblem(db, { installationId }, 'suspended')
}

async function changeRepository(
  db: Db,
  { action, repoId, installationId, fullName }: Change & { kind: 'repository' },
): Promise<void> {
  if (action === 'renamed') await renameRepo(db, { repoId }, fullName)
  else if (action === 'deleted') await setProblem(db, { repoId }, 'deleted')
  else await noteTransfer(db, repoId, installationId)
}
