import type { AnswerOf } from '@botberth/contract/endpoints.ts'
import { getOwnedBot } from '../bots/queries.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import type { Api } from '../http/endpoint.ts'
import { readPage } from '../http/paging.ts'
import { wake } from '../jobs/wake.ts'
import { AppError } from '../lib/app-error.ts'
import { logQuery } from '../servers/routes.ts'
import type { DeploymentLogs } from './logs.ts'
import {
  changeDeployment,
  type DeploymentRow,
  failDeployment,
  getOwnedDeployment,
  insertDeployment,
  listDeployments,
  variableChanges,
} from './queries.ts'

export function deploymentRoutes(api: Api, app: App, { logs, nodeId }: { logs: DeploymentLogs; nodeId: string }): void {
  api.handle('createDeployment', async ({ caller, body, db }) => {
    const { id: botId } = await getOwnedBot(db, caller.userId, body.botId)
    const { source = 'api' } = body
    return deploymentJson(await insertDeployment(db, { botId, source, nodeId, now: app.clock.now() }))
  })

  api.handle('listDeployments', async ({ caller, params, query, db }) => {
    const bot = await getOwnedBot(db, caller.userId, params.id)
    return readPage(query, async (range) => {
      const { rows, total } = await listDeployments(db, bot.id, range)
      return { rows: rows.map(deploymentJson), total }
    })
  })

  api.handle('getDeployment', async ({ caller, params, db }) =>
    deploymentJson(await getOwnedDeployment(db, caller.userId, params.id)),
  )

  api.handle('readDeploymentLogs', async ({ caller, params, query, db }) => {
    const deployment = await getOwnedDeployment(db, caller.userId, params.id)
    return logs.read(deployment, logQuery(query))
  })

  api.handle('listVariableChanges', async ({ caller, params, db }) => {
    const data = await variableChanges(db, await getOwnedDeployment(db, caller.userId, params.id))
    if (!data)
      throw new AppError('invalid_state', {
        detail: 'That deployment was not started, or before its variables were written down.',
      })
    return { data }
  })

  api.handle('cancelDeployment', ({ caller, params }) =>
    tx(app.pool.db, async (db) => {
      const deployment = await getOwnedDeployment(db, caller.userId, params.id, { isLocked: true })
      const now = app.clock.now()
      if (deployment.status === 'queued') await failDeployment(db, deployment.id, { status: 'canceled', now })
      else if (['fetching', 'installing', 'building'].includes(deployment.status))
        await changeDeployment(db, deployment.id, { is_cancel_wanted: true })
      else if (deployment.status !== 'canceled')
        throw new AppError('invalid_state', {
          detail: `The deployment is ${deployment.status}: it is too late to cancel it.`,
        })
      await wake(db, 'cancel', deployment.id)
      return deploymentJson(await getOwnedDeployment(db, caller.userId, params.id))
    }),
  )

  api.handle('rollBack', ({ caller, params, body }) =>
    tx(app.pool.db, async (db) => {
      const bot = await getOwnedBot(db, caller.userId, params.id)
      const target = await getOwnedDeployment(db, caller.userId, body.deploymentId)
      if (target.bot_id !== bot.id) throw new AppError('not_found')
      const rollbackOf = target.rollback_of ?? target.id
      const original = await getOwnedDeployment(db, caller.userId, rollbackOf)
      if (!original.is_release_kept)
        throw new AppError('invalid_state', {
          detail: 'The release of that deployment is no longer kept, or it never had one.',
        })
      const { source = 'rollback' } = body
      const wanted = { botId: bot.id, source, nodeId, now: app.clock.now(), rollbackOf }
      const made = await insertDeployment(db, wanted)
      const { branch, commit_sha, commit_msg } = original
      await changeDeployment(db, made.id, { branch, commit_sha, commit_msg })
      return deploymentJson({ ...made, branch, commit_sha, commit_msg })
    }),
  )
}

export function deploymentJson(row: DeploymentRow): AnswerOf<'getDeployment'> {
  return {
    id: row.id,
    botId: row.bot_id,
    source: row.source,
    status: row.status,
    branch: row.branch,
    commitSha: row.commit_sha,
    commitMsg: row.commit_msg,
    rollbackOf: row.rollback_of,
    error: row.error,
    steps: stepsOf(row),
    createdAt: row.created_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    durationMs: row.started_at && row.finished_at ? row.finished_at.getTime() - row.started_at.getTime() : null,
  }
}

/** What still waited when the deployment was called off does not wait any more. */
function stepsOf({ steps, finished_at }: DeploymentRow): AnswerOf<'getDeployment'>['steps'] {
  const shown = steps.map((step) =>
    step.status === 'waiting' && finished_at ? { ...step, status: 'canceled' as const } : step,
  )
  return shown as AnswerOf<'getDeployment'>['steps']
}
