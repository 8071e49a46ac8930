import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { botQuery, botsQuery } from '../../queries.ts'
import { type Action, useAction } from '../../ui/action.ts'

export function usePower(botId: string): Action<'start' | 'stop' | 'restart'> {
  return useAction((signal: 'start' | 'stop' | 'restart') => api.servers[signal](botId), {
    changes: [botQuery(botId).queryKey, botsQuery.queryKey, ['resources', botId]],
  })
}

/** Deploys, and goes where it can be watched. */
export function useDeploy(botId: string): Action<void> {
  const navigate = useNavigate()
  return useAction((_: void, intent) => api.deployments.create({ botId, source: 'dashboard' }, intent), {
    changes: [['deployments', botId], botQuery(botId).queryKey],
    after: ({ id }) =>
      void navigate({ to: '/bots/$botId/deployments/$deploymentId', params: { botId, deploymentId: id } }),
  })
}
