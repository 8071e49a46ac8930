import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { html } from '../../http/html.ts'
import { sendPage } from '../../http/page.ts'
import { AppError } from '../../lib/app-error.ts'
import { sameText } from '../../lib/secret.ts'
import { isForeign, readForm } from '../gate.ts'
import { loginFor } from './accounts.ts'
import { readObject } from './call.ts'
import { base, type Host } from './host.ts'
import type { SandboxApp } from './identity.ts'
import { issueCode, issueUserTokens, redeem, refreshMs, userMs } from './tokens.ts'
import { notice } from './view-pages.ts'

/** The web flow: a person agrees, a code comes back, the code becomes tokens, and those become newer ones. */
export function oauthRoutes(scope: FastifyInstance, host: Host): void {
  const path = `${base}/login/oauth`

  scope.get(`${path}/authorize`, async (request, reply) => {
    const asked = readAuthorization(request.query as Record<string, unknown>, await host.identity(), request)
    // A page of another site must not sign its visitor in under a name of its choice.
    if (asked.prompt === 'none' && asked.login && !isForeign(request))
      return reply.redirect(await agreed(host, asked, asked.login))
    return sendPage(reply, 'Authorize Botberth · Sandbox', authorizePage(asked))
  })

  scope.post(`${path}/authorize`, async (request, reply) => {
    const form = readForm(request)
    const asked = readAuthorization(form, await host.identity(), request)
    if (form['decision'] === 'cancel') return reply.redirect(refused(asked), 303)
    return reply.redirect(await agreed(host, asked, form['name'] ?? ''), 303)
  })

  scope.post(`${path}/access_token`, async (request, reply) => {
    const answer = await exchange(host, request)
    if (answer === undefined) return reply.code(404).send({ error: 'Not Found' })
    if (request.headers.accept?.includes('json')) return reply.send(answer)
    const fields = Object.entries(answer).map(([name, value]): [string, string] => [name, String(value)])
    return reply.type('application/x-www-form-urlencoded; charset=utf-8').send(new URLSearchParams(fields).toString())
  })
}

interface Authorization {
  readonly client_id: string
  readonly redirect_uri: string
  readonly state: string | undefined
  readonly code_challenge: string | undefined
  readonly code_challenge_method: string | undefined
  readonly login: string | undefined
  readonly prompt: string | undefined
}

/** Checks what the platform checks too; the only redirect that the sandbox knows is this server's own. */
function readAuthorization(
  query: Readonly<Record<string, unknown>>,
  { clientId }: SandboxApp,
  request: FastifyRequest,
): Authorization {
  const text = (name: string) => (typeof query[name] === 'string' && query[name] !== '' ? query[name] : undefined)
  const own = `http://${request.headers.host}/api/v1/auth/codehost/callback`
  const [challenge, method] = [text('code_challenge'), text('code_challenge_method')]
  const isRight =
    text('client_id') === clientId &&
    (query['redirect_uri'] === undefined || text('redirect_uri') === own) &&
    (challenge === undefined ? method === undefined : method === 'S256' && /^[\w-]{43}$/.test(challenge))
  if (!isRight) throw new AppError('invalid_request')
  return {
    client_id: clientId,
    redirect_uri: own,
    state: text('state'),
    code_challenge: challenge,
    code_challenge_method: method,
    login: text('login_hint') ?? text('login'),
    prompt: text('prompt'),
  }
}

async function agreed(host: Host, asked: Authorization, typed: string): Promise<string> {
  const challenge = asked.code_challenge ?? null
  const code = await issueCode(host, 'code', { login: loginFor(typed), redirectUri: asked.redirect_uri, challenge })
  return answerUrl(asked, { code })
}

function refused(asked: Authorization): string {
  return answerUrl(asked, {
    error: 'access_denied',
    error_description: 'The user has denied your application access.',
  })
}

function answerUrl({ redirect_uri: uri, state }: Authorization, fields: Record<string, string>): string {
  return `${uri}?${new URLSearchParams({ ...fields, ...(state !== undefined && { state }) }).toString()}`
}

/** What went wrong is said in an answer of 200, as on the platform; undefined: there is no such app. */
async function exchange(host: Host, request: FastifyRequest): Promise<Record<string, string | number> | undefined> {
  const app = await host.identity()
  const given = readFields(request)
  if (given['client_id'] !== app.clientId) return undefined
  if (!sameText(given['client_secret'] ?? '', app.clientSecret))
    return failure('incorrect_client_credentials', 'The client_id and/or client_secret passed are incorrect.')
  if (given['grant_type'] === 'refresh_token') {
    const old = await redeem(host, 'refresh', given['refresh_token'] ?? '')
    return old
      ? tokensJson(host, old.login)
      : failure('bad_refresh_token', 'The refresh token passed is incorrect or expired.')
  }
  if (given['grant_type'] !== undefined && given['grant_type'] !== 'authorization_code')
    return failure('unsupported_grant_type', 'The grant_type is not supported.')
  const used = await redeem(host, 'code', given['code'] ?? '')
  const challenge = createHash('sha256')
    .update(given['code_verifier'] ?? '')
    .digest('base64url')
  if (!used || (used.challenge !== null && used.challenge !== challenge))
    return failure('bad_verification_code', 'The code passed is incorrect or expired.')
  if (given['redirect_uri'] !== undefined && given['redirect_uri'] !== used.redirectUri)
    return failure(
      'redirect_uri_mismatch',
      'The redirect_uri MUST match the registered callback URL for this application.',
    )
  return tokensJson(host, used.login)
}

/** From a form, from JSON, from the query; the client also from `Authorization`. */
function readFields(request: FastifyRequest): Record<string, string | undefined> {
  const isJson = request.headers['content-type']?.includes('json') === true
  const body: Record<string, unknown> = isJson ? readObject(request) : readForm(request)
  const encoded = /^basic +(.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  const [id, secret] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  const client = id && secret ? { client_id: id, client_secret: secret } : {}
  const all = Object.entries({ ...(request.query as object), ...client, ...body })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

async function tokensJson(host: Host, login: string): Promise<Record<string, string | number>> {
  const { accessToken, refreshToken } = await issueUserTokens(host, login)
  return {
    access_token: accessToken,
    expires_in: userMs / 1000,
    refresh_token: refreshToken,
    refresh_token_expires_in: refreshMs / 1000,
    token_type: 'bearer',
    scope: '',
  }
}

function failure(error: string, description: string): Record<string, string> {
  return { error, error_description: description, error_uri: 'https://docs.github.com/apps' }
}

function authorizePage(asked: Authorization) {
  const kept = Object.entries(asked).filter(
    ([name, value]) => !['login', 'prompt'].includes(name) && value !== undefined,
  )
  return html`<h1>Authorize Botberth</h1>
${notice}
<p>Botberth wants to know who you are, and which installations of its app are yours.</p>
<form method="post" action="${base}/login/oauth/authorize">
${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<label for="name">Your name on the code host</label>
<input id="name" name="name" value="${asked.login}" required maxlength="39" autocomplete="off" autofocus>
<p class="soft">Any name will do; the same name is the same person, who owns the repositories under that name.</p>
<button name="decision" value="authorize">Authorize</button>
<button name="decision" value="cancel" formnovalidate>Cancel</button>
</form>`
}
