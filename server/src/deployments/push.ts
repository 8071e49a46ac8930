import type { PushDeployer } from '../codehost/handle.ts'
import { supersedePushes } from '../codehost/queries.ts'
import type { App } from '../context.ts'
import { AppError } from '../lib/app-error.ts'
import {
  changePushed,
  type DeploymentRow,
  findPushed,
  insertDeployment,
  insertSkipped,
  isOvertaken,
  skippedCode,
  unionOf,
} from './queries.ts'

/** What the code host's pushes become. The commit that was pushed is deployed, wherever the branch stands by then. */
export function pushDeployer({ clock }: App, nodeId: string): PushDeployer {
  const skip: PushDeployer['skip'] = (db, botId, { reason, isOutdated = false, ...push }) =>
    insertSkipped(db, { botId, nodeId, now: clock.now(), push, reason, isOutdated })
  const deploy: PushDeployer['deploy'] = async (db, botId, { commitSha, ...push }) => {
    if (commitSha === null) throw new Error('a push without a commit is skipped')
    const wanted = { botId, source: 'push', nodeId, now: clock.now(), push: { ...push, commitSha } }
    try {
      await insertDeployment(db, wanted)
    } catch (error) {
      // Expired, or fifty wait already: refused before anything was written.
      if (!(error instanceof AppError)) throw error
      await skip(db, botId, { ...push, commitSha, reason: error.message })
    }
  }
  return {
    skip,
    deploy,
    async join(db, botId, { newestSha, ...push }) {
      // Found first: both may be pushes of one commit.
      const newest = newestSha === null ? undefined : await findPushed(db, botId, newestSha)
      const reason = 'A newer push was heard of before this one.'
      await insertSkipped(db, { botId, nodeId, now: clock.now(), push, reason, isOutdated: true })
      // What runs has the changes of both.
      if (!newest || newest.status === 'succeeded') return
      const changes = unionOf([newest.push_changes, push.changes])
      await changePushed(db, newest.id, changes)
      const wasUnwatched = newest.error?.code === skippedCode && newest.push_changes !== null
      if (wasUnwatched) await deploy(db, botId, { ...asPush(newest), changes })
    },
    async deployAgain(db, botId, commitSha) {
      const pushed = await findPushed(db, botId, commitSha)
      if (!pushed) return
      if (await isOvertaken(db, pushed)) return deploy(db, botId, { ...asPush(pushed), changes: null })
      // It is under way, or runs: what was heard of since only waits, and is part of it.
      await changePushed(db, pushed.id, null)
      await supersedePushes(db, { botId, besides: pushed.id, now: clock.now() })
    },
  }
}

function asPush({ branch, commit_sha, commit_msg }: DeploymentRow) {
  return { branch: branch ?? '', commitSha: commit_sha, commitMsg: commit_msg ?? '' }
}
