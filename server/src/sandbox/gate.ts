import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { App } from '../context.ts'
import { isLocalRequest } from '../http/local.ts'
import { AppError } from '../lib/app-error.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Changes nothing, so that a page of another site may lead here. */
    isHarmless?: boolean
  }
}

/** Lets only requests from this machine through, and none that a page of some other site makes its visitor send. */
export function guardSandbox(scope: FastifyInstance, app: App): void {
  scope.addHook('onRequest', (request, _reply, done) => {
    const isHarmless = ['GET', 'HEAD'].includes(request.method) || request.routeOptions.config.isHarmless === true
    if (!isLocalRequest(app.config, request.raw)) done(new AppError('not_found'))
    else if (!isHarmless && isForeign(request)) done(new AppError('forbidden'))
    else done()
  })
}

/** Whether a browser says that another site has sent it here. */
export function isForeign({ headers }: FastifyRequest): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers
  return (origin !== undefined && origin !== `http://${host}`) || site === 'cross-site' || site === 'same-site'
}

export function readForm(request: FastifyRequest): Record<string, string> {
  return Object.fromEntries(new URLSearchParams((request.body as Buffer | undefined)?.toString('utf8') ?? ''))
}
