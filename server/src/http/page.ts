import type { FastifyReply } from 'fastify'
import { type Html, html } from './html.ts'

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
}

/** A plain page that works without scripts. */
export function sendPage(reply: FastifyReply, title: string, content: Html): FastifyReply {
  return reply.headers(pageHeaders).type('text/html; charset=utf-8').send(layout(title, content).text)
}

function layout(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
:root { color-scheme: light dark; --text: light-dark(#1b1f24, #e8eaed); --soft: light-dark(#57606a, #a3acb5); --line: light-dark(#8c959f, #59636e); --link: light-dark(#0b5cad, #7cb7ff); }
body { margin: 0 auto; max-width: 44rem; padding: 3rem 1.25rem; font: 16px/1.6 system-ui, sans-serif; color: var(--text); background: light-dark(#fff, #15181c); }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; }
h2 { font-size: 1rem; margin: 2rem 0 .25rem; }
a { color: var(--link); }
.soft { color: var(--soft); }
.notice { border-left: 4px solid light-dark(#bf8700, #d4a72c); padding: .5rem 1rem; background: light-dark(#fff8c5, #2e2a1f); }
code, pre { font: .9em ui-monospace, monospace; }
code { border: 1px solid var(--line); border-radius: 4px; padding: .1em .3em; overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
label { display: block; font-weight: 600; margin-top: 1rem; }
input, textarea { box-sizing: border-box; width: 100%; max-width: 30rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 6px; padding: .5rem .75rem; }
button { display: block; font: inherit; font-weight: 600; margin-top: 1rem; padding: .5rem 1.25rem; border: 0; border-radius: 6px; color: #fff; background: #0b5cad; cursor: pointer; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
</style>
</head>
<body><main>${content}</main></body>
</html>`
}
