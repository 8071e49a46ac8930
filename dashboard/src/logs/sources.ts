import { useMemo } from 'react'
import { api } from '../api.ts'
import type { LogSource } from '../live/use-logs.ts'

export function useServerLogs(botId: string): LogSource {
  return useMemo(() => ({ topic: `bot:${botId}:logs`, read: (query) => api.servers.logs(botId, query) }), [botId])
}

export function useDeploymentLogs(id: string): LogSource {
  return useMemo(() => ({ topic: `deployment:${id}`, read: (query) => api.deployments.logs(id, query) }), [id])
}
