import type { Backup } from '@botberth/sdk'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from './api.ts'

/** What the server knows, by the names under which it is kept here. */

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: () => api.me.get(), staleTime: 300_000 })
export const botsQuery = queryOptions({ queryKey: ['bots'], queryFn: () => api.bots.list() })
export const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: () => api.templates.listAsCaller(),
  staleTime: 300_000,
})
export const languagesQuery = queryOptions({
  queryKey: ['languages'],
  queryFn: () => api.languages.list(),
  staleTime: 300_000,
})
export const keysQuery = queryOptions({ queryKey: ['keys'], queryFn: () => api.apiKeys.list() })
export const sessionsQuery = queryOptions({ queryKey: ['sessions'], queryFn: () => api.auth.sessions() })
export const webhooksQuery = queryOptions({ queryKey: ['webhooks'], queryFn: () => api.webhooks.list() })
export const codehostQuery = queryOptions({ queryKey: ['codehost'], queryFn: () => api.codehost.status() })
export const installationsQuery = queryOptions({
  queryKey: ['installations'],
  queryFn: () => api.codehost.installations(),
})
export const hostQuery = queryOptions({ queryKey: ['operator', 'host'], queryFn: () => api.operator.host() })

export const botQuery = (id: string) => queryOptions({ queryKey: ['bot', id], queryFn: () => api.bots.get(id) })

export const deploymentsQuery = (botId: string, page: number) =>
  queryOptions({
    queryKey: ['deployments', botId, page],
    queryFn: () => api.deployments.list(botId, { page, limit: 20 }),
    placeholderData: keepPreviousData,
  })

export const deploymentQuery = (id: string) =>
  queryOptions({ queryKey: ['deployment', id], queryFn: () => api.deployments.get(id) })

export const variableChangesQuery = (id: string) =>
  queryOptions({ queryKey: ['variable-changes', id], queryFn: () => api.deployments.variableChanges(id), gcTime: 0 })

export const startupQuery = (botId: string) =>
  queryOptions({ queryKey: ['startup', botId], queryFn: () => api.variables.list(botId) })

export const backupsQuery = (botId: string) =>
  queryOptions({
    queryKey: ['backups', botId],
    queryFn: () => api.backups.list(botId),
    // Nothing tells of them as they happen, and daily ones come by themselves.
    refetchInterval: ({ state }) => (state.data?.some(isBusy) ? 1_000 : 10_000),
  })

function isBusy({ status, lastRestore }: Backup): boolean {
  return status === 'running' || lastRestore?.status === 'running'
}

/** A folder of a bot. */
export const filesQuery = (botId: string, path: string) =>
  queryOptions({ queryKey: ['files', botId, path], queryFn: () => api.files.list(botId, path) })

export const fileQuery = (botId: string, path: string) =>
  queryOptions({
    queryKey: ['file', botId, path],
    queryFn: () => api.files.read(botId, path),
    // What somebody changes must not change under them, and what it was last time is no help.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })

export const resourcesQuery = (botId: string) =>
  queryOptions({ queryKey: ['resources', botId], queryFn: () => api.servers.resources(botId) })

export const historyQuery = (botId: string, minutes: number) =>
  queryOptions({
    queryKey: ['history', botId, minutes],
    queryFn: () => api.servers.resourceHistory(botId, { minutes }),
    refetchInterval: 60_000,
  })

/** What the server said in a bot's log while it looked after it: crashes are among it. */
export const crashesQuery = (botId: string, minutes: number) =>
  queryOptions({
    queryKey: ['crashes', botId, minutes],
    queryFn: () =>
      api.servers.logs(botId, {
        stream: 'system',
        q: 'The bot ',
        since: new Date(Date.now() - minutes * 60_000).toISOString(),
        tail: 1000,
      }),
    refetchInterval: 60_000,
  })

export const reposQuery = (installationId: number) =>
  queryOptions({ queryKey: ['repos', installationId], queryFn: () => api.codehost.repos(installationId) })

export const webhookQuery = (id: string) =>
  queryOptions({ queryKey: ['webhook', id], queryFn: () => api.webhooks.get(id) })

export const deliveriesQuery = (id: string, page: number) =>
  queryOptions({
    queryKey: ['deliveries', id, page],
    queryFn: () => api.webhooks.deliveries(id, { page, limit: 20 }),
    // Nothing tells of deliveries as they happen.
    refetchInterval: 5_000,
    placeholderData: keepPreviousData,
  })

export const deliveryQuery = (id: string, deliveryId: string) =>
  queryOptions({ queryKey: ['delivery', id, deliveryId], queryFn: () => api.webhooks.delivery(id, deliveryId) })

export const auditQuery = (page: number) =>
  queryOptions({
    queryKey: ['audit', page],
    queryFn: () => api.me.audit({ page, limit: 50 }),
    placeholderData: keepPreviousData,
  })

export const pairingQuery = (code: string) =>
  queryOptions({ queryKey: ['pairing', code], queryFn: () => api.auth.pairing(code), retry: false })

export const usersQuery = (page: number) =>
  queryOptions({
    queryKey: ['operator', 'users', page],
    queryFn: () => api.operator.users({ page, limit: 20 }),
    placeholderData: keepPreviousData,
  })

export const allBotsQuery = (page: number) =>
  queryOptions({
    queryKey: ['operator', 'bots', page],
    queryFn: () => api.operator.bots({ page, limit: 20 }),
    placeholderData: keepPreviousData,
  })

export const reportsQuery = (page: number) =>
  queryOptions({
    queryKey: ['operator', 'reports', page],
    queryFn: () => api.operator.reports({ page, limit: 20 }),
    placeholderData: keepPreviousData,
  })
