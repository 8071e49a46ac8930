import { createHash, randomUUID } from 'node:crypto'
import type { APIApplication, RESTPostOAuth2AccessTokenResult } from 'discord-api-types/v10'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { App } from '../../context.ts'
import { parseBody } from '../../http/body.ts'
import { html } from '../../http/html.ts'
import { sendPage } from '../../http/page.ts'
import { AppError } from '../../lib/app-error.ts'
import { guardSandbox, isForeign, readForm } from '../gate.ts'
import { personNamed } from './people.ts'

/**
 * A stand-in for the chat platform, with its wire format: good enough to sign in, to register bots and to see their
 * profiles, on a machine that reaches no platform. Answers only requests from this machine.
 */
export function sandboxChatRoutes(server: FastifyInstance, app: App, client: { id: string; secret: string }): void {
  const codes = new OneTimeCodes(app)
  const { db } = app.pool

  server.register(async (scope) => {
    guardSandbox(scope, app)

    scope.get(`${base}/oauth2/authorize`, (request, reply) => {
      const asked = readAuthorization(request.query as Record<string, unknown>, client.id, request)
      // Nor may it sign its visitor in under a name of its choice.
      if (asked.prompt === 'none' && asked.login_hint && !isForeign(request))
        return reply.redirect(codes.redirect(asked, asked.login_hint))
      return sendPage(reply, 'Sign in · Sandbox', signInPage(asked))
    })

    scope.post(`${base}/oauth2/authorize`, (request, reply) => {
      const form = readForm(request)
      return reply.redirect(codes.redirect(readAuthorization(form, client.id, request), form['name'] ?? ''), 303)
    })

    scope.post(`${base}/oauth2/token`, (request, reply) => {
      const expected = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
      if (request.headers.authorization !== expected) return reply.code(401).send({ error: 'invalid_client' })
      const {
        grant_type: grant,
        code = '',
        redirect_uri: redirectUri,
        code_verifier: verifier = '',
      } = readForm(request)
      if (grant !== 'authorization_code') return reply.code(400).send({ error: 'unsupported_grant_type' })
      const used = codes.use(code)
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      if (!used || used.redirectUri !== redirectUri || used.challenge !== challenge)
        return reply.code(400).send({ error: 'invalid_grant' })
      return reply.send({
        token_type: 'Bearer',
        access_token: sealJson(app, 'token', { name: used.name, until: app.clock.now().getTime() + tokenMs }),
        expires_in: tokenMs / 1000,
        refresh_token: randomUUID(),
        scope: 'identify',
      } satisfies RESTPostOAuth2AccessTokenResult)
    })

    scope.get(`${base}/users/@me`, (request, reply) => {
      const token = openJson<{ name: string; until: number }>(
        app,
        'token',
        request.headers.authorization?.replace(/^Bearer /, '') ?? '',
      )
      if (!token || token.until < app.clock.now().getTime())
        return reply.code(401).send({ message: '401: Unauthorized', code: 0 })
      return reply.send(personNamed(token.name))
    })

    scope.get<Id>(`${base}/applications/:id/rpc`, async ({ params }, reply) => {
      const found = await db
        .selectFrom('sandbox_applications')
        .selectAll()
        .where('id', '=', params.id)
        .executeTakeFirst()
      return found
        ? reply.send(applicationJson(found))
        : reply.code(404).send({ message: 'Unknown Application', code: 10002 })
    })

    scope.patch<Id>(`${base}/applications/:id`, async (request, reply) => {
      const body = parseBody((request.body as Buffer | undefined) ?? Buffer.alloc(0), request.headers['content-type'])
      return reply.send(applicationJson(await saveApplication(app, request.params.id, body)))
    })

    scope.get(base, async (_request, reply) =>
      sendPage(reply, 'Bots · Sandbox', applicationsPage(await listApplications(app))),
    )

    scope.post(`${base}/applications`, async (request, reply) => {
      const { id = '', ...profile } = readForm(request)
      await saveApplication(app, id, profile)
      return reply.redirect(base, 303)
    })
  })
}

export const base = '/sandbox/chat'
const codeMs = 60_000
const tokenMs = 604_800_000

interface Id {
  Params: { id: string }
}

interface Authorization {
  readonly redirect_uri: string
  readonly state: string
  readonly code_challenge: string
  readonly client_id: string
  readonly response_type: 'code'
  readonly code_challenge_method: 'S256'
  readonly login_hint: string | undefined
  readonly prompt: string | undefined
}

/** Checks what the platform checks too; the only redirect that the sandbox knows is this server's own. */
function readAuthorization(query: Record<string, unknown>, clientId: string, request: FastifyRequest): Authorization {
  const text = (name: string) => (typeof query[name] === 'string' ? query[name] : undefined)
  const [state, challenge, redirectUri] = [text('state'), text('code_challenge'), text('redirect_uri')]
  const own = `http://${request.headers.host}/api/v1/auth/chat/callback`
  const isRight =
    text('client_id') === clientId && text('response_type') === 'code' && text('code_challenge_method') === 'S256'
  if (!isRight || redirectUri !== own || state === undefined || challenge === undefined)
    throw new AppError('invalid_request')
  return {
    client_id: clientId,
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: redirectUri,
    state,
    code_challenge: challenge,
    login_hint: text('login_hint'),
    prompt: text('prompt'),
  }
}

/** Codes carry what they stand for, sealed; only that one was used has to be remembered, for as long as it is valid. */
class OneTimeCodes {
  readonly #app: App
  readonly #used = new Map<string, number>()

  constructor(app: App) {
    this.#app = app
  }

  redirect({ redirect_uri: redirectUri, state, code_challenge: challenge }: Authorization, name: string): string {
    const until = this.#app.clock.now().getTime() + codeMs
    const code = sealJson(this.#app, 'code', { name, redirectUri, challenge, until, nonce: randomUUID() })
    return `${redirectUri}?${new URLSearchParams({ code, state }).toString()}`
  }

  use(code: string): { name: string; redirectUri: string; challenge: string } | undefined {
    const now = this.#app.clock.now().getTime()
    for (const [old, until] of this.#used) if (until < now) this.#used.delete(old)
    const opened = openJson<{ name: string; redirectUri: string; challenge: string; until: number }>(
      this.#app,
      'code',
      code,
    )
    if (!opened || opened.until < now || this.#used.has(code)) return undefined
    this.#used.set(code, opened.until)
    return opened
  }
}

function sealJson({ secrets }: App, purpose: string, value: object): string {
  return secrets.seal(JSON.stringify(value), `sandbox-${purpose}`).toString('base64url')
}

function openJson<T>({ secrets }: App, purpose: string, sealed: string): T | undefined {
  const text = secrets.open(Buffer.from(sealed, 'base64url'), `sandbox-${purpose}`)
  return text === undefined ? undefined : (JSON.parse(text) as T)
}

interface ApplicationRow {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly bot_id: string | null
}

function listApplications({ pool }: App): Promise<ApplicationRow[]> {
  return pool.db.selectFrom('sandbox_applications').selectAll().orderBy('name').limit(200).execute()
}

const snowflake = /^\d{17,20}$/

async function saveApplication({ pool }: App, id: string, given: unknown): Promise<ApplicationRow> {
  const { description, name, botId } = (given ?? {}) as Record<string, unknown>
  const isText = (value: unknown) => value === undefined || (typeof value === 'string' && value.length <= 400)
  if (!snowflake.test(id)) throw new AppError('not_found')
  if (!isText(description) || !isText(name))
    throw new AppError('invalid_request', { detail: '`name` and `description` take up to 400 characters.' })
  if (botId !== undefined && botId !== '' && !(typeof botId === 'string' && snowflake.test(botId)))
    throw new AppError('invalid_request', { detail: '`botId` takes 17 to 20 digits.' })
  const texts = {
    ...(typeof name === 'string' && name && { name }),
    ...(typeof description === 'string' && { description }),
    ...(botId && { bot_id: botId }),
  }
  return pool.db
    .insertInto('sandbox_applications')
    .values({ id, name: `Bot ${id.slice(-4)}`, description: '', ...texts })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ id, ...texts }))
    .returningAll()
    .executeTakeFirstOrThrow()
}

type PublicProfile = Pick<
  APIApplication,
  'id' | 'name' | 'icon' | 'description' | 'bot_public' | 'bot_require_code_grant' | 'verify_key' | 'bot'
>

/** What the platform shows of an application to everybody. `description` is the bot's About Me. */
function applicationJson({ id, name, description, bot_id: botId }: ApplicationRow): PublicProfile {
  const verifyKey = createHash('sha256').update(id).digest('hex')
  const bot = botId !== null && {
    bot: { id: botId, username: name, discriminator: '0000', global_name: null, avatar: null, bot: true },
  }
  const rights = { bot_public: true, bot_require_code_grant: false }
  return { id, name, icon: null, description, ...rights, verify_key: verifyKey, ...bot }
}

const notice = html`<p class="notice">This is a sandbox, not the real chat platform. It exists on this machine only.</p>`

function signInPage(asked: Authorization) {
  const kept = Object.entries(asked).filter(([name]) => !['login_hint', 'prompt', 'name'].includes(name))
  return html`<h1>Sign in</h1>
${notice}
<form method="post" action="${base}/oauth2/authorize">
${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`)}
<label for="name">Your name</label>
<input id="name" name="name" value="${asked.login_hint}" required maxlength="32" autocomplete="off" autofocus>
<p class="soft">Any name will do; the same name is the same person. Nobody becomes the owner this way.</p>
<button>Sign in</button>
</form>`
}

function applicationsPage(applications: readonly ApplicationRow[]) {
  const forms = applications.map(
    ({ id, name, description }) => html`<h2>${name} <span class="soft">${id}</span></h2>
<form method="post" action="${base}/applications">
<input type="hidden" name="id" value="${id}">
<label for="about-${id}">About Me</label>
<textarea id="about-${id}" name="description" rows="3" maxlength="400">${description}</textarea>
<button>Save</button>
</form>`,
  )
  return html`<h1>Bots on the sandbox</h1>
${notice}
${forms.length > 0 ? forms : html`<p>There are none yet.</p>`}
<h2>New bot</h2>
<form method="post" action="${base}/applications">
<label for="id">Id (17 to 20 digits)</label>
<input id="id" name="id" required pattern="[0-9]{17,20}" autocomplete="off">
<label for="bot-name">Name</label>
<input id="bot-name" name="name" required maxlength="100" autocomplete="off">
<label for="bot-user">Id of its user, if it is an old bot that has another</label>
<input id="bot-user" name="botId" pattern="[0-9]{17,20}" autocomplete="off">
<button>Create</button>
</form>`
}
