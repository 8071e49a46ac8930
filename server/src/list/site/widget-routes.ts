import type { App } from '../../context.ts'
import type { Api } from '../../http/endpoint.ts'
import { findListing } from '../listings.ts'
import { widget } from './widget.ts'

const keptSeconds = 300

/** The image of a bot. Pages keep it for a while, but no check mark for longer than it is true. */
export function widgetRoutes(api: Api, { pool, clock }: App): void {
  api.handle('getListingWidget', async ({ params, reply }) => {
    const now = clock.now()
    const row = await findListing(pool, params.botId, now)
    const leftMs = row?.is_certified && row.certified_until ? row.certified_until.getTime() - now.getTime() : Infinity
    const maxAge = Math.min(keptSeconds, Math.floor(leftMs / 1000))
    return reply
      .headers({
        'cache-control': `public, max-age=${maxAge}`,
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
      })
      .type('image/svg+xml')
      .send(widget(row).text)
  })
}
