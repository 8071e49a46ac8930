import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { App } from '../context.ts'
import { readCookie } from '../http/cookies.ts'
import { type Html, html } from '../http/html.ts'
import { sendPage } from '../http/page.ts'
import { AppError, validationError } from '../lib/app-error.ts'
import type { Credentials } from './credentials.ts'
import type { Gatekeeper } from './gate.ts'
import { decide, readUserCode } from './pairing.ts'
import { findPairing, findUser } from './queries.ts'
import { clearSessionCookie, sessionCookie } from './sessions.ts'
import { signOut } from './sign-out.ts'

interface Parts {
  readonly app: App
  readonly credentials: Credentials
  readonly gatekeeper: Gatekeeper
}

interface AuthPages {
  nameOf(request: FastifyRequest): Promise<string | undefined>
  /** Where the dashboard does not ask whether a device may have a key. */
  addDevicePage(): void
}

/** The pages that work without the dashboard: approving a device, signing out. */
export function authPages(server: FastifyInstance, { app, credentials, gatekeeper }: Parts): AuthPages {
  const { db } = app.pool
  const visitor = (request: FastifyRequest) => credentials.findByCookie(readCookie(request, sessionCookie(app)))

  server.post('/device', async (request, reply) => {
    const caller = await gatekeeper.admit({ access: 'session' }, request, reply)
    const form = new URLSearchParams((request.body as Buffer | undefined)?.toString('utf8'))
    const decision = form.get('decision')
    if (decision !== 'approve' && decision !== 'deny')
      throw validationError([{ pointer: '/decision', detail: 'must be approve or deny' }])
    const approve = decision === 'approve'
    await decide(app, { userCode: form.get('code') ?? '', approve, userId: caller?.userId ?? '', ip: request.ip })
    return sendPage(reply, 'Pair a command line · Botberth', donePage(approve))
  })

  server.post('/sign-out', async (request, reply) => {
    const { userId = '', sessionId = '' } = (await gatekeeper.admit({ access: 'session' }, request, reply)) ?? {}
    await signOut(app, credentials, { userId, sessionId, ip: request.ip })
    clearSessionCookie(app, reply)
    return reply.redirect('/', 303)
  })

  return {
    async nameOf(request) {
      if (!app.pool.isUp) return undefined
      // Somebody who is suspended is nobody here, and still gets the page.
      const caller = await visitor(request).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'account_suspended') return undefined
        throw error
      })
      return caller && (await findUser(db, caller.userId))?.name
    },
    addDevicePage() {
      server.get('/device', async (request, reply) => {
        const typed = (request.query as { code?: unknown }).code
        const caller = await visitor(request)
        if (!caller)
          return reply.redirect(
            `/api/v1/auth/chat/login?${new URLSearchParams({ returnTo: request.url }).toString()}`,
            302,
          )
        await gatekeeper.limit(caller, request, reply) // or codes could be guessed
        const pairing =
          typeof typed === 'string' ? await findPairing(db, readUserCode(typed), app.clock.now()) : undefined
        return sendPage(
          reply,
          'Pair a command line · Botberth',
          pairing ? pairingPage(pairing) : codePage(typed !== undefined),
        )
      })
    },
  }
}

function codePage(isUnknown: boolean): Html {
  return html`<h1>Pair a command line</h1>
${isUnknown && html`<p class="notice">There is no pairing with this code, or it is older than ten minutes.</p>`}
<form method="get" action="/device">
<label for="code">The code that the command line shows</label>
<input id="code" name="code" required autocomplete="off" autocapitalize="characters" maxlength="9">
<button>Go on</button>
</form>`
}

function pairingPage({
  user_code,
  client_name,
  status,
}: {
  user_code: string
  client_name: string
  status: string
}): Html {
  if (status !== 'pending') return html`<h1>Pair a command line</h1><p>This pairing was ${status}.</p>`
  return html`<h1>Pair a command line</h1>
<p><strong><bdi>${client_name}</bdi></strong> asks for an API key that can do everything you can do.</p>
<p>It shows the code <code>${user_code}</code>. Approve only if that is what you see there.</p>
<form method="post" action="/device">
<input type="hidden" name="code" value="${user_code}">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="deny">Deny</button>
</form>`
}

function donePage(isApproved: boolean): Html {
  return isApproved
    ? html`<h1>Paired</h1><p>Go back to the command line. The key is listed under your API keys, where you can revoke it.</p>`
    : html`<h1>Denied</h1><p>The command line gets nothing.</p>`
}
