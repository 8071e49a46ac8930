import type { FastifyInstance } from 'fastify'
import { encodingFor } from '../../http/encoding.ts'
import { assets } from './assets.ts'

/** Styles, script and pictures, which change their names when they change. */
export function assetPages(server: FastifyInstance): void {
  for (const { url, type, plain, packed } of Object.values(assets)) {
    server.get(url, (request, reply) => {
      void reply.type(type).headers({
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
      })
      const encoding = type === 'image/png' ? undefined : encodingFor(request)
      if (encoding === undefined) return reply.send(plain)
      return reply.header('content-encoding', encoding).send(packed(encoding))
    })
  }
}
