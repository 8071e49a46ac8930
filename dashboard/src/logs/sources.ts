import { useMemo } from 'react'
import { api } from '../api.ts'
import type { LogSource } from '../live/use-logs.ts'
import type { LogRange } from './range.ts'

export function useServerLogs(botId: string, { since, until }: LogRange = {}): LogSource {
  return useMemo(() => {
    const range = { ...(since !== undefined && { since }), ...(until !== undefined && { until }) }
    return { topic: `bot:${botId}:logs`, range, read: (query) => api.servers.logs(botId, { ...range, ...query }) }
  }, [botId, since, until])
}

export function useDeploymentLogs(id: string): LogSource {
  return useMemo(() => ({ topic: `deployment:${id}`, read: (query) => api.deployments.logs(id, query) }), [id])
}
