import { gzipSync } from 'node:zlib'
import { errors } from '@botberth/contract/errors.ts'
import { openApi } from '@botberth/contract/openapi.ts'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { App } from '../context.ts'
import { pathOf } from '../http/errors.ts'
import { type Html, html } from '../http/html.ts'
import { sendPage } from '../http/page.ts'
import { apiBases } from '../http/paths.ts'

/** The name of whoever looks at a page, if they are signed in. */
type NameOf = (request: FastifyRequest) => Promise<string | undefined>

/** Stands in for a dashboard that has not been built. */
export function homePageRoute(server: FastifyInstance, { version }: App, nameOf: NameOf): void {
  server.get('/', async (request, reply) => sendPage(reply, 'Botberth', homePage(version, await nameOf(request))))
}

/** The pages that are not the dashboard's: the API reference and its error page. */
export function pageRoutes(server: FastifyInstance, { version }: App): void {
  server.get('/docs/errors', (_request, reply) => sendPage(reply, 'Errors · Botberth', errorsPage()))

  for (const api of ['hosting', 'list'] as const) {
    const serverUrl = apiBases[api]
    const document = JSON.stringify(openApi({ api, version, serverUrl }))
    server.get(`${serverUrl}/openapi.json`, (_request, reply) =>
      reply
        .type('application/json')
        .header('cache-control', 'no-cache')
        .header('access-control-allow-origin', '*')
        .send(document),
    )
  }

  const kept = new Map<string, ReturnType<typeof askReference>>()
  const ask = (url: string) => {
    const asked = kept.get(url) ?? askReference(url)
    kept.set(url, asked)
    asked.catch(() => kept.delete(url)) // the next one may have more luck
    return asked
  }
  const sendReference = async (request: FastifyRequest, reply: FastifyReply) => {
    const isScript = request.routeOptions.url === scriptPath
    const isFolder = pathOf(request.url).endsWith('/')
    const { type, location, body } = await ask(isScript ? scriptPath : isFolder ? '/docs/' : '/docs')
    if (location !== undefined) return reply.redirect(location, 301)
    // It runs inline scripts and styles; it gets nothing from and sends nothing to anywhere else.
    reply.type(type).header('content-security-policy', docsPolicy)
    return reply.send(isScript ? scriptFor(request, reply, body) : body)
  }
  for (const path of ['/docs', scriptPath]) server.get(path, sendReference)
}

const scriptPath = '/docs/js/scalar.js'

/** Of a server inside ours. Its package is 4 MB of source, so it is read when somebody first looks at the reference. */
async function askReference(url: string): Promise<{ type: string; location: string | undefined; body: string }> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const inner = fastify()
  await inner.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      pageTitle: 'Botberth API reference',
      sources: [
        { title: 'Hosting API', slug: 'hosting', url: `${apiBases.hosting}/openapi.json` },
        { title: 'Bot list API', slug: 'list', url: `${apiBases.list}/openapi.json` },
      ],
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  })
  const { statusCode, headers, body } = await inner.inject({ url })
  if (statusCode >= 400) throw new Error(`the reference answers ${statusCode} to ${url}`)
  return { type: String(headers['content-type']), location: headers.location, body }
}

let compressed: Buffer | undefined

/** The reference is 4 MB of script that changes only with its package: compressed once, and kept by browsers. */
function scriptFor(request: FastifyRequest, reply: FastifyReply, script: string): Buffer | string {
  reply.header('cache-control', 'public, max-age=86400').header('vary', 'accept-encoding')
  if (!request.headers['accept-encoding']?.includes('gzip')) return script
  compressed ??= gzipSync(script)
  reply.header('content-encoding', 'gzip').header('content-length', compressed.length)
  return compressed
}

const docsPolicy =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"

function homePage(version: string, name: string | undefined): Html {
  const account = name
    ? html`<p>Signed in as <strong><bdi>${name}</bdi></strong>.</p><form method="post" action="/sign-out"><button>Sign out</button></form>`
    : html`<p><a href="/api/v1/auth/chat/login">Sign in</a></p>`
  return html`<h1>Botberth is running</h1>
<p>It hosts chat bots and lists them. This is version ${version}.</p>
<p class="notice">The dashboard has not been built. <code>npm start</code> builds it.</p>
${account}
<ul>
<li><a href="/docs">API reference</a>: try the hosting API at <code>${apiBases.hosting}</code> and the bot list API at <code>${apiBases.list}</code></li>
<li><a href="/list">The public bot list</a></li>
<li><a href="/api/v1/templates">Templates to start a bot from</a></li>
<li><a href="/readyz">Whether everything is in order</a></li>
</ul>`
}

function errorsPage(): Html {
  const entries = Object.entries(errors).map(
    ([code, { status, title, text, remedy }]) => html`<section id="${code}">
<h2><code>${code}</code> <span class="soft">${status}</span> ${title}</h2>
<p>${text}</p>
<p class="soft">${remedy}</p>
</section>`,
  )
  return html`<h1>Errors</h1>
<p>Every error answer of both APIs is <code>application/problem+json</code> with one of these codes in <code>code</code>. Codes are never renamed.</p>
${entries}`
}
