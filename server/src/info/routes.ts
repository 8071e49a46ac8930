import type { Health } from '@botberth/contract/info.ts'
import type { App } from '../context.ts'
import type { Api } from '../http/endpoint.ts'
import { readTemplates } from '../source/template.ts'

/** The public endpoints of the hosting API. */
export function infoRoutes(api: Api, { pool, version }: App): void {
  api.handle('getHealth', ({ reply }): Health => {
    const isUp = pool.isUp
    if (!isUp) reply.code(503).header('retry-after', '1')
    const uptime = Number(process.uptime().toFixed(3))
    return isUp ? { status: 'ok', db: 'connected', uptime } : { status: 'degraded', db: 'disconnected', uptime }
  })

  const answer = { version, apiPrefix: 'v1' as const }
  api.handle('getVersion', () => answer)

  const templates = { data: readTemplates().map((template) => ({ ...template, variables: [...template.variables] })) }
  api.handle('listTemplates', () => templates)
  api.handle('listMyTemplates', () => templates)
}
