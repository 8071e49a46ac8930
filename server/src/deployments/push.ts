import type { PushDeployer } from '../codehost/handle.ts'
import type { App } from '../context.ts'
import { AppError } from '../lib/app-error.ts'
import { insertDeployment, insertSkipped } from './queries.ts'

/** What the code host's pushes become. The commit that was pushed is deployed, wherever the branch stands by then. */
export function pushDeployer({ clock }: App, nodeId: string): PushDeployer {
  const skip: PushDeployer['skip'] = (db, botId, { reason, ...push }) =>
    insertSkipped(db, { botId, nodeId, now: clock.now(), push, reason })
  return {
    skip,
    async deploy(db, botId, { commitSha, ...push }) {
      if (commitSha === null) throw new Error('a push without a commit is skipped')
      const wanted = { botId, source: 'push', nodeId, now: clock.now(), push: { ...push, commitSha } }
      try {
        await insertDeployment(db, wanted)
      } catch (error) {
        // Expired, or fifty wait already: refused before anything was written.
        if (!(error instanceof AppError)) throw error
        await skip(db, botId, { ...push, commitSha, reason: error.message })
      }
    },
  }
}
