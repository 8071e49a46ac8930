import type { FastifyInstance, FastifyRequest } from 'fastify'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { App } from '../context.ts'
import { isLocalRequest } from '../http/local.ts'
import { AppError } from '../lib/app-error.ts'
import { sameText } from '../lib/secret.ts'
import type { Wall } from '../runtime/runtime.ts'
import type { RequestTimes } from './request-times.ts'

interface Parts {
  readonly times: RequestTimes
  readonly walls: () => readonly Wall[]
  readonly isStarted: () => boolean
  readonly more: Registry
}

/** For supervisors and load balancers; never limited. Metrics are the operator's alone. */
export function probeRoutes(server: FastifyInstance, app: App, { times, walls, isStarted, more }: Parts): void {
  const { pool } = app

  // Alive: the process answers, whatever the state of what it depends on. A restart would not help.
  server.get('/healthz', () => ({ status: 'ok' }))

  server.get('/readyz', (_request, reply) => {
    const isReady = pool.isUp && isStarted()
    if (!isReady) reply.code(503).header('retry-after', '1')
    // Without the reasons, which are the operator's to know.
    const states = Object.fromEntries(walls().map(({ name, state }) => [name, state]))
    return {
      status: isReady ? 'ready' : 'not ready',
      checks: { database: pool.isUp ? 'ok' : 'away', start: isStarted() ? 'ok' : 'under way' },
      walls: states,
    }
  })

  const registry = metricsRegistry(app)
  server.get('/metrics', async (request, reply) => {
    if (!mayReadMetrics(app, request)) throw new AppError('forbidden')
    return reply
      .type(registry.contentType)
      .send(`${await registry.metrics()}\n${await more.metrics()}\n${times.text()}`)
  })
}

function metricsRegistry({ pool }: App): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const up: Gauge = new Gauge({
    name: 'botberth_database_up',
    help: 'Whether the database answers (1) or is away (0).',
    registers: [registry],
    collect: () => up.set(pool.isUp ? 1 : 0),
  })
  return registry
}

function mayReadMetrics({ config }: App, request: FastifyRequest): boolean {
  const [scheme, token] = request.headers.authorization?.split(' ') ?? []
  if (config.metricsToken && scheme?.toLowerCase() === 'bearer' && token) return sameText(token, config.metricsToken)
  return isLocalRequest(config, request.raw)
}
