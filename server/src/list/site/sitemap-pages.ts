import type { FastifyInstance } from 'fastify'
import { originOf } from '../../auth/sessions.ts'
import type { App } from '../../context.ts'
import { html } from '../../http/html.ts'
import { listSitemap, listSitemapStarts } from '../sitemap.ts'
import { type Parts, sendCompressed } from './answer-pages.ts'
import { botUrl } from './view.ts'

const hourMs = 3_600_000
const fixed = ['/list', '/list/bots', '/list/new', '/list/certified']

/** What search engines ask for. */
export function sitemapPages(server: FastifyInstance, parts: Parts): void {
  const { app, gatekeeper } = parts
  const starts = hourly(app, () => listSitemapStarts(app.pool))
  const cached = { 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' }

  server.get('/robots.txt', (request, reply) =>
    reply
      .headers({ 'cache-control': 'public, max-age=3600' })
      .type('text/plain; charset=utf-8')
      .send(
        `User-agent: *\nDisallow: /api/\nDisallow: /list/api/\nAllow: /list/api/bots/*/widget.svg\nDisallow: /list/my\nDisallow: /list/register\nDisallow: /sandbox/\nSitemap: ${originOf(app, request)}/list/sitemap.xml\n`,
      ),
  )

  server.get('/list/sitemap.xml', async (request, reply) => {
    await gatekeeper.admit({ access: 'visitor' }, request, reply)
    const origin = originOf(app, request)
    const maps = (await starts()).map(
      (start) => html`<sitemap><loc>${origin}/list/sitemap/${start}.xml</loc></sitemap>\n`,
    )
    const text = html`<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>${origin}/list/sitemap/pages.xml</loc></sitemap>
${maps}</sitemapindex>
`.text
    return sendCompressed({ request, reply: reply.headers(cached) }, Buffer.from(text), xml)
  })

  server.get<{ Params: { start: string } }>('/list/sitemap/:start.xml', async (request, reply) => {
    await gatekeeper.admit({ access: 'visitor' }, request, reply)
    const origin = originOf(app, request)
    const { start } = request.params
    const rows =
      start === 'pages'
        ? fixed.map((path) => ({ path, day: undefined }))
        : (await listSitemap(app.pool, start)).map(({ bot_id: botId, updated_at: updatedAt }) => ({
            path: botUrl(botId),
            day: updatedAt.toISOString().slice(0, 10),
          }))
    const text = html`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${rows.map(({ path, day }) => html`<url><loc>${origin}${path}</loc>${day !== undefined && html`<lastmod>${day}</lastmod>`}</url>\n`)}</urlset>
`.text
    return sendCompressed({ request, reply: reply.headers(cached) }, Buffer.from(text), xml)
  })
}

const xml = 'application/xml; charset=utf-8'

/** To go through all listings is dear, and nobody needs it anew each time. */
function hourly<T>({ clock }: App, read: () => Promise<T>): () => Promise<T> {
  let known: { value: T; at: number } | undefined
  return async () => {
    const now = clock.now().getTime()
    if (!known || now < known.at || now >= known.at + hourMs) known = { value: await read(), at: now }
    return known.value
  }
}
