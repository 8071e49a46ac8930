// Signing in through a configured platform, with a stand-in that speaks its wire format and misbehaves on demand.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { RESTGetAPICurrentUserResult, RESTPostOAuth2AccessTokenResult } from 'discord-api-types/v10'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { makeOwner } from '../../test/people.ts'
import { noteSecret } from '../../test/secrets.ts'
import { timed } from '../../test/until.ts'
import { createOwnerLink } from './owner.ts'

type Behaviour = (request: IncomingMessage, response: ServerResponse, body: string) => void

const user = {
  id: '123456789012345678',
  username: 'ann',
  global_name: 'Ann \u202e<b>',
  discriminator: '0',
  avatar: 'a_1269e74af4df7417b13759eae50c83dc',
}
const requests: { url: string; body: string; authorization: string }[] = []
let token: Behaviour
let me: Behaviour

const json =
  (status: number, value: unknown): Behaviour =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }

function behave(): void {
  requests.length = 0
  token = json(200, {
    access_token: 'platform-access-token-0123456789',
    token_type: 'Bearer',
    expires_in: 604_800,
    refresh_token: 'platform-refresh-token-0123456789',
    scope: 'identify',
  } satisfies RESTPostOAuth2AccessTokenResult)
  me = json(200, user satisfies RESTGetAPICurrentUserResult)
}

const platform = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    requests.push({ url: request.url ?? '', body, authorization: request.headers.authorization ?? '' })
    const act = request.url === '/api/oauth2/token' ? token : me
    act(request, response, body)
  })
})
await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve))
after(() => {
  platform.closeAllConnections()
  platform.close()
})

const env = {
  CHAT_CLIENT_ID: '100000000000000009',
  CHAT_CLIENT_SECRET: 'a-client-secret-0123456789',
  CHAT_API_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}/api/`,
  SIGNUPS: 'open',
}
noteSecret(env.CHAT_CLIENT_SECRET, 'platform-access-token-0123456789', 'platform-refresh-token-0123456789')

/** Begins a log-in at `path` and comes back from the platform with `query`. */
async function login(
  server: TestServer,
  query: Record<string, string> = { code: 'a-code-of-the-platform' },
  path = '/api/v1/auth/chat/login',
) {
  const begun = await fetch(server.url + path, { redirect: 'manual' })
  const asked = new URL(begun.headers.get('location') ?? '')
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const back = new URLSearchParams({ ...query, state: asked.searchParams.get('state') ?? '' })
  const done = await fetch(`${server.url}/api/v1/auth/chat/callback?${back.toString()}`, {
    redirect: 'manual',
    headers: { cookie },
  })
  const session = done.headers
    .getSetCookie()
    .find((line) => line.startsWith('botberth_session='))
    ?.split(';')[0]
  return { asked, status: done.status, session, text: await done.text() }
}

async function whoIs(server: TestServer, cookie: string): Promise<Record<string, unknown>> {
  const { accessToken } = (await fetch(`${server.url}/api/v1/auth/token`, { method: 'POST', headers: { cookie } }).then(
    (answer) => answer.json(),
  )) as { accessToken: string }
  noteSecret(accessToken)
  return (await fetch(`${server.url}/api/v1/me`, { headers: { authorization: `Bearer ${accessToken}` } }).then(
    (answer) => answer.json(),
  )) as Record<string, unknown>
}

test('the platform gets exactly the OAuth2 requests that it documents, with PKCE', async () => {
  behave()
  const server = await startTestServer({ env })
  const { asked, status, session } = await login(server)
  assert.equal(status, 302)
  assert.equal(asked.pathname, '/api/oauth2/authorize')
  assert.deepEqual(
    ['response_type', 'client_id', 'scope', 'redirect_uri', 'code_challenge_method'].map((name) =>
      asked.searchParams.get(name),
    ),
    ['code', env.CHAT_CLIENT_ID, 'identify', `${server.url}/api/v1/auth/chat/callback`, 'S256'],
  )
  const [exchange, profile] = requests
  const form = new URLSearchParams(exchange?.body)
  assert.deepEqual(
    [form.get('grant_type'), form.get('code'), form.get('redirect_uri')],
    ['authorization_code', 'a-code-of-the-platform', `${server.url}/api/v1/auth/chat/callback`],
  )
  assert.match(form.get('code_verifier') ?? '', /^[\w.~-]{43,128}$/)
  assert.equal(
    exchange?.authorization,
    `Basic ${Buffer.from(`${env.CHAT_CLIENT_ID}:${env.CHAT_CLIENT_SECRET}`).toString('base64')}`,
  )
  assert.deepEqual(
    [profile?.url, profile?.authorization],
    ['/api/users/@me', 'Bearer platform-access-token-0123456789'],
  )

  const person = await whoIs(server, session ?? '')
  assert.equal(person['chatUserId'], user.id)
  assert.equal(person['name'], 'Ann <b>', 'direction marks are taken out of names')
  assert.equal(person['avatarUrl'], `https://cdn.discordapp.com/avatars/${user.id}/${user.avatar}.png`)
})

test('name and picture are kept fresh', async () => {
  behave()
  const server = await startTestServer({ env })
  const first = await whoIs(server, (await login(server)).session ?? '')
  me = json(200, { ...user, global_name: null, avatar: null })
  const second = await whoIs(server, (await login(server)).session ?? '')
  assert.equal(second['id'], first['id'])
  assert.deepEqual([second['name'], second['avatarUrl']], ['ann', null])
})

test('the first start’s link ties the owner to whoever signs in through it, and only to them', async () => {
  behave()
  const server = await startTestServer({ env })
  const { linkCode, key } = await makeOwner(server)
  const { status, session } = await login(server, undefined, `/auth/owner?code=${linkCode}`)
  assert.equal(status, 302)
  const owner = await whoIs(server, session ?? '')
  assert.deepEqual([owner['role'], owner['chatUserId']], ['owner', user.id])
  const byKey = (await fetch(`${server.url}/api/v1/me`, { headers: { 'x-api-key': key } }).then((answer) =>
    answer.json(),
  )) as Record<string, unknown>
  assert.equal(byKey['id'], owner['id'])
  assert.equal(
    (await whoIs(server, (await login(server)).session ?? ''))['role'],
    'owner',
    'later by an ordinary log-in',
  )
  me = json(200, { ...user, id: '223456789012345678' })
  assert.equal((await whoIs(server, (await login(server)).session ?? ''))['role'], 'user', 'anybody else')
  assert.equal((await fetch(`${server.url}/sandbox/chat`)).status, 404, 'no sandbox beside a real platform')
})

test('once tied, the owner stays tied: a second link that was under way changes nothing', async () => {
  behave()
  const server = await startTestServer({ env })
  const { linkCode } = await makeOwner(server)
  const second = await createOwnerLink(server.pool.db, server.clock.now())
  noteSecret(second)
  const begin = async (code: string) => {
    const begun = await fetch(`${server.url}/auth/owner?code=${code}`, { redirect: 'manual' })
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
    return () =>
      fetch(`${server.url}/api/v1/auth/chat/callback?code=c&state=${state}`, {
        redirect: 'manual',
        headers: { cookie },
      }).then(({ status }) => status)
  }
  const [finishOne, finishTwo] = [await begin(linkCode), await begin(second)]
  assert.equal(await finishOne(), 302)
  me = json(200, { ...user, id: '323456789012345678' })
  assert.equal(await finishTwo(), 409)
})

test('a platform that fails is 502, one that refuses the code or the person 409; nobody gets in', async () => {
  const html: Behaviour = (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>')
  const server = await startTestServer({ env })
  const cases: [string, () => void, number][] = [
    ['500', () => (token = json(500, {})), 502],
    ['HTML', () => (token = html), 502],
    ['429', () => (token = json(429, { retry_after: 1 })), 502],
    [
      'no JSON',
      () => (token = (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{')),
      502,
    ],
    [
      'a redirect',
      () => (token = (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()),
      502,
    ],
    ['a cut connection', () => (token = (request) => request.socket.destroy()), 502],
    [
      '10 MB',
      () =>
        (me = (_request, response) =>
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ ...user, x: 'x'.repeat(10_000_000) }))),
      502,
    ],
    ['no user', () => (me = json(200, { id: 5 })), 502],
    ['an id that is none', () => (me = json(200, { ...user, id: "1' or 1=1" })), 502],
    ['401 for the token', () => (me = json(401, {})), 502],
    ['a code that it does not take', () => (token = json(400, { error: 'invalid_grant' })), 409],
  ]
  for (const [what, misbehave, expected] of cases) {
    behave()
    misbehave()
    const { status, session, text } = await login(server)
    assert.equal(status, expected, what)
    assert.equal(session, undefined, what)
    assert.match(text, /"requestId"/, what)
  }
  behave()
  assert.equal((await login(server, { error: 'access_denied' })).status, 409, 'the person said no')
})

test('a platform that does not answer is 504 within 10 seconds', async () => {
  behave()
  token = () => {}
  const server = await startTestServer({ env })
  const { result, idleMs } = await timed(() => login(server), 9_000)
  assert.equal(result.status, 504)
  assert(idleMs < 1_000, `${idleMs} ms later`)
})

test('a browser that comes back with an error sees a page, a program a problem', async () => {
  const server = await startTestServer({ env })
  const ask = (accept: string) => fetch(`${server.url}/api/v1/auth/chat/callback`, { headers: { accept } })
  assert.match((await ask('text/html,*/*')).headers.get('content-type') ?? '', /^text\/html/)
  assert.equal((await ask('*/*')).headers.get('content-type'), 'application/problem+json')
})
