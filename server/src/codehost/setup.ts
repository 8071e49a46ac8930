import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from '@octokit/request'
import { AddressGuard } from '../lib/address-guard.ts'
import { randomToken, sameText } from '../lib/secret.ts'
import { type MadeApp, madeApp } from './answers.ts'
import { boundedFetch, webUrlOf } from './platform.ts'

const timeoutMs = 20_000

interface Wanted {
  readonly apiUrl: string
  /** Where the code host and people reach this server. */
  readonly publicUrl: string
  /** Whose app it becomes; undefined: of the person who makes it. */
  readonly organization: string | undefined
  readonly allowedPrivateNets: readonly string[]
}

export interface Setup {
  /** Open it in a browser. */
  readonly url: string
  /** The app, once somebody has agreed to it there. */
  readonly made: Promise<MadeApp>
  /** The address that the browser was sent to, where that browser cannot reach this machine. */
  take(address: string): Promise<void>
  close(): void
}

/**
 * Makes an app on the code host by its manifest flow: a page of ours sends the browser there with all settings, and it
 * comes back with a code that is worth the new app's keys, once.
 */
export async function startSetup(wanted: Wanted): Promise<Setup> {
  const state = randomToken()
  const { promise: made, resolve } = Promise.withResolvers<MadeApp>()
  const take = async (query: URLSearchParams) => {
    const code = query.get('code')
    if (!code || !sameText(query.get('state') ?? '', state)) throw new Error('That address has no code of this set-up.')
    resolve(await convert(wanted, code))
  }
  const server = createServer((asked, answer) => {
    serve(asked, answer).catch((error: unknown) => {
      send(
        answer,
        502,
        `<h1>That did not work</h1><p>${escape(error instanceof Error ? error.message : 'unknown')}</p>`,
      )
    })
  })
  const serve = async ({ url = '/' }: IncomingMessage, answer: ServerResponse) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    if (pathname === '/') return send(answer, 200, form(wanted, { state, redirectUrl: `${own()}/done` }))
    if (pathname !== '/done') return send(answer, 404, '<h1>Not found</h1>')
    await take(searchParams)
    return send(answer, 200, '<h1>Done</h1><p>The app is made. Go back to the terminal.</p>')
  }
  await new Promise<void>((started) => server.listen(0, '127.0.0.1', started))
  const own = () => `http://localhost:${(server.address() as AddressInfo).port}`
  return {
    url: own(),
    made,
    take: (address) => take(URL.canParse(address) ? new URL(address).searchParams : new URLSearchParams()),
    // The last page may still be under way.
    close: () => void server.close(),
  }
}

/** What the app may do and is told of: no more than linking, fetching and reporting take. */
function manifestOf(publicUrl: string, redirectUrl: string): Record<string, unknown> {
  return {
    name: `Botberth ${new URL(publicUrl).hostname}`.slice(0, 34), // the platform takes no more
    url: publicUrl,
    redirect_url: redirectUrl,
    callback_urls: [`${publicUrl}/api/v1/auth/codehost/callback`],
    setup_url: publicUrl,
    hook_attributes: { url: `${publicUrl}/api/v1/codehost/events`, active: true },
    public: true,
    default_permissions: { contents: 'read', metadata: 'read', statuses: 'write' },
    default_events: ['push', 'repository'],
  }
}

async function convert({ apiUrl, allowedPrivateNets }: Wanted, code: string): Promise<MadeApp> {
  const fetch = boundedFetch(new AddressGuard(allowedPrivateNets))
  const { data } = await request('POST /app-manifests/{code}/conversions', {
    baseUrl: apiUrl,
    code,
    request: { fetch, signal: AbortSignal.timeout(timeoutMs) },
  })
  return madeApp(data)
}

function form(
  { apiUrl, publicUrl, organization }: Wanted,
  { state, redirectUrl }: { state: string; redirectUrl: string },
): string {
  const owner = organization === undefined ? '' : `/organizations/${encodeURIComponent(organization)}`
  const action = `${webUrlOf(apiUrl)}${owner}/settings/apps/new?state=${state}`
  return `<h1>Set up the code host</h1>
<p>This makes an app on ${escape(new URL(action).host)} that may read repositories and set the statuses of commits. You choose its
name there.</p>
<form method="post" action="${escape(action)}">
<input type="hidden" name="manifest" value="${escape(JSON.stringify(manifestOf(publicUrl, redirectUrl)))}">
<button>Go on</button>
</form>`
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}

function send(answer: ServerResponse, status: number, body: string): void {
  answer
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
      'referrer-policy': 'no-referrer',
    })
    .end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Botberth</title>${body}`)
}
