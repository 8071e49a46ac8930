import { errors } from '@botberth/contract/errors.ts'
import { openApi } from '@botberth/contract/openapi.ts'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { App } from '../context.ts'
import { apiBases } from '../http/endpoint.ts'
import { type Html, html } from '../http/html.ts'

/** The pages that are not the dashboard's: the API reference, its error page, and the way to both. */
export function pageRoutes(server: FastifyInstance, { version }: App): void {
  server.get('/', (_request, reply) => sendPage(reply, homePage(version)))
  server.get('/list', (_request, reply) => sendPage(reply, listPage()))
  server.get('/docs/errors', (_request, reply) => sendPage(reply, errorsPage()))

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

  server.register(async (scope) => {
    // The reference runs inline scripts and styles; it gets nothing from and sends nothing to anywhere else.
    scope.addHook('onSend', (_request, reply, payload, done) => {
      reply.header('content-security-policy', docsPolicy)
      done(null, payload)
    })
    await scope.register(scalar, {
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
  })
}

const docsPolicy =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
}

function sendPage(reply: FastifyReply, page: Html): FastifyReply {
  return reply.headers(pageHeaders).type('text/html; charset=utf-8').send(page.text)
}

function layout(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
:root { color-scheme: light dark; --text: light-dark(#1b1f24, #e8eaed); --soft: light-dark(#57606a, #a3acb5); --line: light-dark(#d8dee4, #3a4149); --link: light-dark(#0b5cad, #7cb7ff); }
body { margin: 0 auto; max-width: 44rem; padding: 3rem 1.25rem; font: 16px/1.6 system-ui, sans-serif; color: var(--text); background: light-dark(#fff, #15181c); }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; }
h2 { font-size: 1rem; margin: 2rem 0 .25rem; }
a { color: var(--link); }
p, li { color: var(--text); } .soft { color: var(--soft); }
code { font: .9em ui-monospace, monospace; border: 1px solid var(--line); border-radius: 4px; padding: .1em .3em; overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
</style>
</head>
<body><main>${content}</main></body>
</html>`
}

function homePage(version: string): Html {
  return layout(
    'Botberth',
    html`<h1>Botberth is running</h1>
<p>It hosts chat bots and lists them. This is version ${version}.</p>
<ul>
<li><a href="/docs">API reference</a>: try the hosting API at <code>${apiBases.hosting}</code> and the bot list API at <code>${apiBases.list}</code></li>
<li><a href="/list">The public bot list</a></li>
<li><a href="/api/v1/templates">Templates to start a bot from</a></li>
<li><a href="/readyz">Whether everything is in order</a></li>
</ul>`,
  )
}

function listPage(): Html {
  return layout(
    'Bot list · Botberth',
    html`<h1>Bot list</h1>
<p>No bot is listed here yet.</p>
<p><a href="/">Back to Botberth</a></p>`,
  )
}

function errorsPage(): Html {
  const entries = Object.entries(errors).map(
    ([code, { status, title, text, remedy }]) => html`<section id="${code}">
<h2><code>${code}</code> <span class="soft">${status}</span> ${title}</h2>
<p>${text}</p>
<p class="soft">${remedy}</p>
</section>`,
  )
  return layout(
    'Errors · Botberth',
    html`<h1>Errors</h1>
<p>Every error answer of both APIs is <code>application/problem+json</code> with one of these codes in <code>code</code>. Codes are never renamed.</p>
${entries}`,
  )
}
