import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import { startTestServer, TestClock, type TestServer } from '../../test/api.ts'
import { type Answer, call, data, race } from '../../test/call.ts'
import { createAwayPool, createTestPool } from '../../test/db.ts'
import { followLogin, makeOwner, type Person, signIn } from '../../test/people.ts'
import { sendRaw } from '../../test/raw.ts'
import { noteSecret } from '../../test/secrets.ts'
import { until } from '../../test/until.ts'
import { randomToken } from '../lib/secret.ts'

test('a key is shown once, listed without itself, and stops working from the next request on', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const made = await call(server, 'POST /auth/api-keys', { as: ann, body: { name: '  CI  ' } })
  assert.equal(made.status, 201)
  const { id, key } = made.body as { id: string; key: string }
  noteSecret(key)
  assert.match(key, /^svc_live_[0-9A-Za-z]{43}$/)
  assert.deepEqual(Object.keys(made.body).toSorted(), ['createdAt', 'id', 'key', 'last4', 'lastUsedAt', 'name'])
  assert.equal(made.body['name'], 'CI')
  assert.equal(made.headers.get('location'), `/api/v1/auth/api-keys/${id}`)
  assert.equal(made.body['last4'], key.slice(-4))

  const [newest] = data(await call(server, 'GET /auth/api-keys', { as: ann }))
  assert.deepEqual(Object.keys(newest ?? {}).toSorted(), ['createdAt', 'id', 'last4', 'lastUsedAt', 'name'])
  assert.equal(newest?.['lastUsedAt'], null)

  assert.equal((await call(server, 'GET /me', { as: { key } })).status, 200)
  assert.deepEqual((await call(server, `DELETE /auth/api-keys/${id}`, { as: ann })).body, { id, deleted: true })
  assert.equal((await call(server, 'GET /me', { as: { key } })).status, 401)
  assert.equal((await call(server, `DELETE /auth/api-keys/${id}`, { as: ann })).status, 404)
})

test('names of keys: 1 to 128 characters, not only spaces, no control characters, need not be unique', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const status = async (name: unknown) => {
    const answer = await call(server, 'POST /auth/api-keys', { as: ann, body: { name } })
    if (answer.status === 201) noteSecret(String(answer.body['key']))
    return answer.status
  }
  for (const name of ['a', 'a', '🤖'.repeat(128), 'with spaces', '<b>']) assert.equal(await status(name), 201, name)
  for (const name of ['', ' ', 'x'.repeat(129), 'a\nb', 'a\u0007', 5, null, undefined, {}])
    assert.equal(await status(name), 400, JSON.stringify(name))
})

test('when a key was last used is noted once a minute at most', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const lastUsed = async () => {
    await new Promise((resolve) => setTimeout(resolve, 50)) // it is noted behind the request
    return data(await call(server, 'GET /auth/api-keys', { headers: { authorization: `Bearer ${ann.token}` } }))[0]?.[
      'lastUsedAt'
    ]
  }
  await call(server, 'GET /me', { as: ann })
  const first = await lastUsed()
  assert.equal(first, server.clock.now().toISOString())
  server.clock.advance(30_000)
  await call(server, 'GET /me', { as: ann })
  assert.equal(await lastUsed(), first)
  server.clock.advance(31_000)
  await call(server, 'GET /me', { as: ann })
  assert.equal(await lastUsed(), server.clock.now().toISOString())
})

test('100 parallel creations at 199 of 200 keys: exactly one succeeds', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  await server.pool.query(
    `insert into api_keys (id, user_id, name, hash, last4, created_at)
     select 'key_filler' || n, $1, 'filler', sha256(n::text::bytea), '0000', now() from generate_series(1, 198) n`,
    [ann.id],
  )
  const answers = await race(100, () => call(server, 'POST /auth/api-keys', { as: ann, body: { name: 'race' } }))
  const made = answers.filter(({ status }) => status === 201)
  for (const { body } of made) noteSecret(String(body['key']))
  assert.equal(made.length, 1)
  assert(
    answers
      .filter(({ status }) => status !== 201)
      .every(({ status, body }) => status === 409 && body['code'] === 'limit_reached'),
  )
})

test('if both credentials are sent one valid one suffices, and the key says who it is', async () => {
  const server = await startTestServer()
  const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
  const who = async (headers: Record<string, string>) => {
    const { status, body } = await call(server, 'GET /me', { headers })
    return status === 200 ? body['name'] : status
  }
  const bearer = (token: string) => `Bearer ${token}`
  assert.equal(await who({ 'x-api-key': ann.key, authorization: bearer(bob.token) }), 'ann')
  assert.equal(await who({ 'x-api-key': 'wrong', authorization: bearer(bob.token) }), 'bob')
  assert.equal(await who({ 'x-api-key': ann.key, authorization: bearer('a.b.c') }), 'ann')
  assert.equal(await who({ 'x-api-key': '', authorization: bearer(bob.token) }), 'bob')
  assert.equal(await who({ 'x-api-key': '', authorization: '' }), 401)
  assert.equal(await who({ authorization: `bearer   ${bob.token}` }), 'bob')
  assert.equal(await who({ authorization: ann.key }), 401)
})

// Every path of the specification that needs a credential, those of features that are still to come included.
const hostingPaths =
  `GET /bots|GET /bots/x|POST /bots|PATCH /bots/x|DELETE /bots/x|POST /bots/x/renew|GET /bots/x/deployments|
POST /deployments|POST /servers/x/power|GET /servers/x/resources|GET /servers/x/startup|PUT /servers/x/startup/variable|
GET /codehost/installations|GET /codehost/installations/x/repos|POST /codehost/connect-repo|GET /auth/codehost/status|
DELETE /auth/codehost/disconnect|POST /auth/api-keys|GET /auth/api-keys|DELETE /auth/api-keys/x|POST /webhooks/subscriptions|
GET /webhooks/subscriptions|DELETE /webhooks/subscriptions/x`
    .replaceAll('\n', '')
    .split('|')

test('each of the 23 hosting paths is 401 with no, a revoked, an expired, a forged or a foreign credential', async () => {
  assert.equal(hostingPaths.length, 23)
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const revoked = await signIn(server, 'bob')
  const [{ id } = {}] = data(await call(server, 'GET /auth/api-keys', { as: revoked }))
  await call(server, `DELETE /auth/api-keys/${String(id)}`, { as: revoked })
  const { sub, jti } = JSON.parse(Buffer.from(ann.token.split('.')[1] ?? '', 'base64url').toString()) as {
    sub: string
    jti: string
  }
  const now = Math.floor(server.clock.now().getTime() / 1000)
  const sign = (key: Uint8Array, times: { iat: number; exp: number }, alg = 'HS256') =>
    new SignJWT(times).setProtectedHeader({ alg, typ: 'JWT' }).setSubject(sub).setJti(jti).sign(key)
  const own = server.app.secrets.keyFor('jwt')
  const none = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${ann.token.split('.')[1]}.`
  const wrong: Record<string, Record<string, string>> = {
    none: {},
    'a revoked key': { 'x-api-key': revoked.key },
    'an unknown key': { 'x-api-key': `svc_live_${randomToken()}` },
    'a list key': { 'x-api-key': `svc_list_${randomToken()}` },
    'an expired token': { authorization: `Bearer ${await sign(own, { iat: now - 700_000, exp: now - 1 })}` },
    'a token from the future': { authorization: `Bearer ${await sign(own, { iat: now + 60, exp: now + 700_000 })}` },
    'a token of another secret': {
      authorization: `Bearer ${await sign(Buffer.alloc(32, 7), { iat: now, exp: now + 600 })}`,
    },
    'a token of another algorithm': {
      authorization: `Bearer ${await sign(own, { iat: now, exp: now + 600 }, 'HS384')}`,
    },
    'alg none': { authorization: `Bearer ${none}` },
    'the cookie, which is no credential here': { cookie: ann.cookie },
  }
  for (const [what, headers] of Object.entries(wrong)) {
    for (const line of hostingPaths) {
      const [method = '', path = ''] = line.split(' ')
      const { status, body, headers: answered } = await call(server, `${method} ${path}`, { headers })
      assert.equal(status, 401, `${line} with ${what}`)
      assert.equal(
        body['detail'],
        'Send an API key in `x-api-key`, or a token in `Authorization: Bearer`. None was sent, or it is not valid.',
      )
      assert(answered.get('www-authenticate'))
    }
  }
  const valid = await sign(own, { iat: now, exp: now + 600 })
  assert.equal(
    (await call(server, 'GET /me', { headers: { authorization: `Bearer ${valid}` } })).status,
    200,
    'the same claims, signed right, get in',
  )
  assert.equal((await call(server, 'GET /nonsense', { as: ann })).status, 404)
  assert.equal((await call(server, 'PUT /auth/api-keys', { as: ann })).status, 405)
})

test('a token lasts 7 days and no longer, unless its session ends before', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const me = () =>
    call(server, 'GET /me', { headers: { authorization: `Bearer ${ann.token}` } }).then(({ status }) => status)
  server.clock.advance(7 * 86_400_000 - 2_000)
  assert.equal(await me(), 200)
  server.clock.advance(2_000)
  assert.equal(await me(), 401)
})

test('signing out ends the cookie and its tokens; signing out everywhere ends all of them', async () => {
  const server = await startTestServer()
  const [first, second] = [await signIn(server, 'ann'), await signIn(server, 'ann')]
  const status = (person: Person) =>
    call(server, 'GET /me', { headers: { authorization: `Bearer ${person.token}` } }).then((answer) => answer.status)
  const out = await call(server, 'POST /auth/logout', { headers: { cookie: first.cookie } })
  assert.deepEqual(out.body, { signedOut: 1 })
  assert.match(out.headers.get('set-cookie') ?? '', /botberth_session=; .*Max-Age=0/)
  assert.deepEqual([await status(first), await status(second)], [401, 200])
  assert.equal((await call(server, 'POST /auth/token', { headers: { cookie: first.cookie } })).status, 401)

  const third = await signIn(server, 'ann')
  const everywhere = await call(server, 'POST /auth/logout', {
    headers: { authorization: `Bearer ${third.token}` },
    body: { everywhere: true },
  })
  assert.deepEqual(everywhere.body, { signedOut: 2 })
  assert.deepEqual([await status(second), await status(third)], [401, 401])
  assert.equal((await call(server, 'GET /me', { as: third })).status, 200, 'keys live on')
  assert.equal((await call(server, 'POST /auth/logout', { as: third })).status, 401, 'a key is no session')
})

test('people see where they are signed in, and end one of the places', async () => {
  const server = await startTestServer()
  const here = await signIn(server, 'ann')
  server.clock.advance(60_000)
  const there = await signIn(server, 'ann')
  const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0'
  await call(server, 'POST /auth/token', { headers: { cookie: there.cookie, 'user-agent': userAgent } })
  const asked = (person: Person, path = 'GET /auth/sessions') =>
    call(server, path, { headers: { authorization: `Bearer ${person.token}` } })
  const seen = async (person: Person) => (await asked(person)).body['data'] as Record<string, unknown>[]

  const [newest, oldest, ...others] = await seen(here)
  assert.deepEqual(others, [])
  const { client, ip, current } = newest ?? {}
  assert.deepEqual({ client, ip, current }, { client: 'Firefox, Linux', ip: '127.0.0.1', current: false })
  assert.equal(oldest?.['current'], true)
  assert.deepEqual(
    (await seen(there)).map(({ current }) => current),
    [true, false],
  )
  const byKey = await call(server, 'GET /auth/sessions', { as: here })
  assert.equal((byKey.body['data'] as unknown[]).length, 2, 'a key sees them too, and is none of them')

  const ended = await asked(here, `DELETE /auth/sessions/${String(newest?.['id'])}`)
  assert.deepEqual(ended.body, { id: newest?.['id'], deleted: true })
  assert.equal(ended.headers.get('set-cookie'), null)
  assert.equal((await asked(there)).status, 401)
  assert.equal((await asked(here, `DELETE /auth/sessions/${String(newest?.['id'])}`)).status, 404, 'it is gone')
  const own = await asked(here, `DELETE /auth/sessions/${String(oldest?.['id'])}`)
  assert.match(own.headers.get('set-cookie') ?? '', /botberth_session=; .*Max-Age=0/)
  assert.equal((await asked(here)).status, 401)
})

test('the cookie is exchanged for pages of our own origin only', async () => {
  const server = await startTestServer()
  const { cookie } = await signIn(server, 'ann')
  const status = (headers: Record<string, string>) =>
    call(server, 'POST /auth/token', { headers: { cookie, ...headers } }).then((answer) => answer.status)
  assert.equal(await status({}), 200)
  assert.equal(await status({ origin: server.url, 'sec-fetch-site': 'same-origin' }), 200)
  assert.equal(await status({ origin: 'https://evil.example' }), 403)
  assert.equal(await status({ origin: 'null' }), 403)
  assert.equal(await status({ 'sec-fetch-site': 'cross-site' }), 403)
  assert.equal(await status({ 'sec-fetch-site': 'same-site' }), 403)
})

test('each kind of credential is worth something in its own place only, warm or cold', async () => {
  const server = await startTestServer()
  const { key, token, cookie } = await signIn(server, 'ann')
  const value = cookie.split('=')[1] ?? ''
  await fetch(`${server.url}/`, { headers: { cookie } }) // all three are known to the server now
  const status = (request: string, headers: Record<string, string>) =>
    call(server, request, { headers }).then((answer) => answer.status)
  for (const wrong of [token, value, `cookie:${value}`, `cookie${value}`])
    assert.equal(await status('GET /me', { 'x-api-key': wrong }), 401)
  for (const wrong of [key, value]) assert.equal(await status('GET /me', { authorization: `Bearer ${wrong}` }), 401)
  assert.equal(
    await status('POST /auth/token', { authorization: `Bearer ${token}` }),
    401,
    'a token does not renew itself',
  )
  assert.equal(await status('POST /auth/token', { 'x-api-key': key }), 401)
  assert.equal(await status('POST /auth/token', { cookie: `botberth_session=${key}` }), 401)
})

test('somebody who deletes their account while their requests are under way is nobody, never a 500', async () => {
  const server = await startTestServer()
  for (let round = 0; round < 5; round++) {
    const ann = await signIn(server, `ann${round}`)
    const pairing = (await call(server, 'POST /auth/device')).body as { deviceCode: string; userCode: string }
    noteSecret(pairing.deviceCode)
    const requests = [
      call(server, 'DELETE /me', { as: ann }),
      ...Array.from({ length: 8 }, () => call(server, 'POST /auth/api-keys', { as: ann, body: { name: 'x' } })),
      ...Array.from({ length: 4 }, () => call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' } })),
      call(server, `POST /auth/device/${pairing.userCode}`, { as: ann, body: { approve: true } }),
      call(server, 'POST /auth/logout', { headers: { authorization: `Bearer ${ann.token}` } }),
      call(server, 'GET /me', { as: ann }),
    ]
    for (const { status, body } of await Promise.all(requests)) {
      if (typeof body['key'] === 'string') noteSecret(body['key'])
      assert([200, 201, 401].includes(status), `${status} ${JSON.stringify(body)}`)
    }
  }
})

test('what somebody approved is worth nothing after they signed out everywhere or were suspended', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const approved = async (person: Person) => {
    const { deviceCode, userCode } = (await call(server, 'POST /auth/device')).body as {
      deviceCode: string
      userCode: string
    }
    noteSecret(deviceCode)
    await call(server, `POST /auth/device/${userCode}`, { as: person, body: { approve: true } })
    return () => call(server, 'POST /auth/device/token', { body: { deviceCode } }).then(({ status }) => status)
  }
  const ann = await signIn(server, 'ann')
  const first = await approved(ann)
  await call(server, 'POST /auth/logout', {
    headers: { authorization: `Bearer ${ann.token}` },
    body: { everywhere: true },
  })
  assert.equal(await first(), 404)
  const second = await approved(ann)
  await call(server, `PATCH /operator/users/${ann.id}`, { as: owner, body: { suspended: true } })
  assert.equal(await second(), 404)
})

test('two log-ins in one browser do not end each other', async () => {
  const server = await startTestServer()
  const begin = async (name: string) => {
    const begun = await fetch(`${server.url}/api/v1/auth/chat/login?prompt=none&login_hint=${name}`, {
      redirect: 'manual',
    })
    const code = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' })
    return {
      cookie: begun.headers.get('set-cookie')?.split(';')[0] ?? '',
      callback: code.headers.get('location') ?? '',
    }
  }
  const [one, two] = [await begin('ann'), await begin('bob')]
  const headers = { cookie: `${one.cookie}; ${two.cookie}` }
  assert.equal(
    (await fetch(`${server.url}/api/v1/auth/chat/callback?state=stray`, { headers, redirect: 'manual' })).status,
    409,
  )
  for (const { callback } of [two, one])
    assert.equal((await fetch(callback, { headers, redirect: 'manual' })).status, 302)
})

test('friendly defaults are for requests from this machine: sign-ups and bots', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const bots = async (headers: Record<string, string>) =>
    ((await call(server, 'GET /me', { as: ann, headers })).body['limits'] as { bots: number | null }).bots
  assert.equal(await bots({}), null)
  for (const name of ['x-forwarded-for', 'x-forwarded-port', 'cf-connecting-ip', 'true-client-ip', 'x-original-host'])
    assert.equal(await bots({ [name]: '192.0.2.1' }), 20, name)
})

test('the session cookie is out of reach of scripts, and over TLS bound to the host', async () => {
  const server = await startTestServer()
  const login = await fetch(`${server.url}/api/v1/auth/chat/login`, { redirect: 'manual' })
  assert.match(
    login.headers.get('set-cookie') ?? '',
    /^botberth_login_[0-9a-f]{8}=\w+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
  )
  noteSecret(/=(\w+);/.exec(login.headers.get('set-cookie') ?? '')?.[1] ?? '')
  const shared = await startTestServer({
    env: { PUBLIC_URL: 'https://bots.example', CHAT_CLIENT_ID: '100000000000000009', CHAT_CLIENT_SECRET: 'x' },
  })
  Object.assign(shared.app, { publicUrl: () => 'https://bots.example' })
  const secure = await fetch(`${shared.url}/api/v1/auth/chat/login`, { redirect: 'manual' })
  assert.match(secure.headers.get('set-cookie') ?? '', /^__Host-botberth_login_[0-9a-f]{8}=\w+; .*; Secure$/)
  assert.match(
    secure.headers.get('location') ?? '',
    /^https:\/\/discord\.com\/api\/v10\/oauth2\/authorize\?.*code_challenge_method=S256/,
  )
})

test('a log-in is finished once, in the browser that began it, within ten minutes', async () => {
  const server = await startTestServer()
  const begin = async () => {
    const first = await fetch(`${server.url}/api/v1/auth/chat/login?prompt=none&login_hint=ann&returnTo=/list`, {
      redirect: 'manual',
    })
    const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? ''
    const second = await fetch(first.headers.get('location') ?? '', { redirect: 'manual' })
    return { cookie, callback: second.headers.get('location') ?? '' }
  }
  const finish = async (callback: string, cookie: string) => {
    const answer = await fetch(callback, { redirect: 'manual', headers: { cookie } })
    return {
      status: answer.status,
      location: answer.headers.get('location'),
      session: answer.headers.getSetCookie().some((line) => line.startsWith('botberth_session=')),
    }
  }
  const one = await begin()
  const two = await begin()
  assert.deepEqual(await finish(one.callback, ''), { status: 409, location: null, session: false }, 'no cookie')
  assert.deepEqual(
    await finish(one.callback, two.cookie),
    { status: 409, location: null, session: false },
    'another browser',
  )
  const swapped = new URL((await begin()).callback)
  swapped.searchParams.set('state', new URL(two.callback).searchParams.get('state') ?? '')
  assert.equal((await finish(swapped.href, two.cookie)).status, 409, 'a code of another log-in: PKCE')
  assert.deepEqual(await finish(one.callback, one.cookie), { status: 302, location: '/list', session: true })
  assert.equal((await finish(one.callback, one.cookie)).status, 409, 'replayed')
  const late = await begin()
  server.clock.advance(600_001)
  assert.equal((await finish(late.callback, late.cookie)).status, 409, 'too late')
  assert.equal((await fetch(`${server.url}/api/v1/auth/chat/callback`, { redirect: 'manual' })).status, 409)
})

test('after signing in one goes only to paths of this server', async () => {
  const server = await startTestServer()
  for (const returnTo of [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/%5cevil',
    'javascript:alert(1)',
    '/.//evil.example/x',
    '/..//evil.example',
    '/%2e//evil.example',
    '/a/..//evil.example',
    '/a\nb',
  ]) {
    const login = await fetch(
      `${server.url}/api/v1/auth/chat/login?prompt=none&login_hint=ann&returnTo=${encodeURIComponent(returnTo)}`,
      { redirect: 'manual' },
    )
    const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
    const code = await fetch(login.headers.get('location') ?? '', { redirect: 'manual' })
    const done = await fetch(code.headers.get('location') ?? '', { redirect: 'manual', headers: { cookie } })
    assert.equal(new URL(done.headers.get('location') ?? '', server.url).origin, server.url, returnTo)
  }
})

test('the same name is the same person, with the name kept fresh, and never the owner', async () => {
  const server = await startTestServer()
  await makeOwner(server)
  const [once, again, owner] = [
    await signIn(server, 'Ann Lee'),
    await signIn(server, 'ANN LEE'),
    await signIn(server, 'Owner'),
  ]
  assert.equal(once.id, again.id)
  const { body } = await call(server, 'GET /me', { as: again })
  assert.match(String(body['chatUserId']), /^\d{18}$/)
  assert.deepEqual(
    { ...body, id: '', chatUserId: '' },
    { id: '', name: 'ANN LEE', avatarUrl: null, chatUserId: '', role: 'user', limits: { bots: null, apiKeys: 200 } },
  )
  assert.equal((await call(server, 'GET /me', { as: owner })).body['role'], 'user')
})

test('the owner’s link works once, within ten minutes, and looking at it does not use it up', async () => {
  const server = await startTestServer()
  const { key, linkCode } = await makeOwner(server)
  const link = `/auth/owner?code=${linkCode}`
  await fetch(server.url + link, { method: 'HEAD' })
  const cookie = await followLogin(server, link)
  const { body } = await call(server, 'POST /auth/token', { headers: { cookie } })
  noteSecret(String(body['accessToken']))
  assert.equal(
    (await call(server, 'GET /me', { headers: { authorization: `Bearer ${String(body['accessToken'])}` } })).body[
      'role'
    ],
    'owner',
  )
  assert.equal((await call(server, 'GET /me', { as: { key } })).body['role'], 'owner')
  assert.equal((await fetch(server.url + link, { redirect: 'manual' })).status, 409)
  assert.equal((await fetch(`${server.url}/auth/owner`, { redirect: 'manual' })).status, 409)
})

test('another kind of one-time code is worth nothing as the owner’s link', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const invite = String((await call(server, 'POST /operator/invites', { as: owner })).body['url'])
  const code = new URL(invite).searchParams.get('invite') ?? ''
  noteSecret(code)
  assert.equal((await fetch(`${server.url}/auth/owner?code=${code}`, { redirect: 'manual' })).status, 409)
})

test('sign-ups: open, by invitation, closed', async () => {
  const tryLogin = (server: TestServer, name: string, query = '') =>
    signIn(server, name, query).then(
      () => 'in',
      (error: Error) => /"code":"(\w+)"/.exec(error.message)?.[1],
    )
  const closed = await startTestServer({ env: { SIGNUPS: 'closed' } })
  assert.equal(await tryLogin(closed, 'ann'), 'signups_closed')
  const byInvite = await startTestServer({ env: { SIGNUPS: 'invite' } })
  const owner = await makeOwner(byInvite)
  assert.equal(await tryLogin(byInvite, 'ann'), 'signups_closed')
  const url = new URL(String((await call(byInvite, 'POST /operator/invites', { as: owner })).body['url']))
  const code = url.searchParams.get('invite') ?? ''
  noteSecret(code)
  assert.equal(await tryLogin(byInvite, 'ann', `&invite=${code}`), 'in')
  assert.equal(await tryLogin(byInvite, 'bob', `&invite=${code}`), 'signups_closed', 'an invitation is for one')
  assert.equal(await tryLogin(byInvite, 'ann'), 'in', 'whoever has an account comes back without one')
})

test('the operator’s endpoints are the owner’s alone', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const ann = await signIn(server, 'ann')
  for (const line of [
    'GET /operator/host',
    'GET /operator/users',
    'GET /operator/bots',
    `PATCH /operator/users/${ann.id}`,
    'POST /operator/invites',
  ]) {
    const [method = '', path = ''] = line.split(' ')
    assert.equal(
      (await call(server, `${method} ${path}`, { as: ann, body: method === 'PATCH' ? {} : undefined })).status,
      403,
      line,
    )
  }
  const host = await call(server, 'GET /operator/host', { as: owner })
  assert.equal(host.status, 200)
  assert((host.body['disk'] as { totalBytes: number }).totalBytes > 0)
  // This one was told to have none.
  const walls = host.body['walls'] as { name: string; state: string; remedy: string | null }[]
  assert.equal(walls.find(({ name }) => name === 'files')?.state, 'off')
  assert(walls.every(({ state, remedy }) => (state === 'on') === (remedy === null)))
  const { walls: states } = (await (await fetch(`${server.url}/readyz`)).json()) as { walls: Record<string, string> }
  assert.deepEqual(states, Object.fromEntries(walls.map(({ name, state }) => [name, state])))
  const users = await call(server, 'GET /operator/users?limit=1', { as: owner })
  assert.deepEqual([users.body['total'], users.body['totalPages'], data(users)[0]?.['id']], [2, 2, ann.id])
})

test('a suspended account gets in nowhere, at once, and comes back as it was', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const ann = await signIn(server, 'ann')
  const suspend = (suspended: boolean) =>
    call(server, `PATCH /operator/users/${ann.id}`, { as: owner, body: { suspended } })
  assert.equal((await suspend(true)).body['suspended'], true)
  for (const headers of [{ 'x-api-key': ann.key }, { authorization: `Bearer ${ann.token}` }]) {
    const { status, body } = await call(server, 'GET /me', { headers })
    assert.deepEqual([status, body['code']], [403, 'account_suspended'])
  }
  await assert.rejects(signIn(server, 'ann'), /account_suspended/)
  await suspend(false)
  assert.equal((await call(server, 'GET /me', { as: ann })).status, 200)
  const kinds = data(await call(server, 'GET /me/audit', { as: ann })).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['unsuspended', 'suspended', 'key_created', 'login'])
  const me = await call(server, 'GET /me', { as: owner })
  assert.equal(
    (await call(server, `PATCH /operator/users/${String(me.body['id'])}`, { as: owner, body: { suspended: true } }))
      .status,
    409,
  )
  assert.equal((await call(server, 'PATCH /operator/users/usr_nobody', { as: owner, body: {} })).status, 404)
})

test('limits that the operator sets are shown to whom they hold for', async () => {
  const server = await startTestServer({ env: { BOTS_PER_USER: '5' } })
  const owner = await makeOwner(server)
  const ann = await signIn(server, 'ann')
  const bots = async () => ((await call(server, 'GET /me', { as: ann })).body['limits'] as { bots: number }).bots
  assert.equal(await bots(), 5)
  await call(server, `PATCH /operator/users/${ann.id}`, { as: owner, body: { limits: { bots: 50 } } })
  assert.equal(await bots(), 50)
  await call(server, `PATCH /operator/users/${ann.id}`, { as: owner, body: { limits: { bots: null } } })
  assert.equal(await bots(), 5)
  assert.equal(
    (await call(server, `PATCH /operator/users/${ann.id}`, { as: owner, body: { limits: { bots: -1 } } })).status,
    400,
  )
})

test('everybody can take their data along and go; the owner cannot go', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const ann = await signIn(server, 'ann')
  const hook = { url: 'https://example.com/hook', events: ['server.crashed'] }
  await call(server, 'POST /webhooks/subscriptions', { as: ann, body: hook })
  const exported = await call(server, 'GET /me/export', { as: ann })
  assert.equal((exported.body['webhooks'] as { url: string }[])[0]?.url, hook.url)
  assert.doesNotMatch(JSON.stringify(exported.body), /whsec_/)
  assert.equal((exported.body['me'] as { id: string }).id, ann.id)
  assert.equal((exported.body['apiKeys'] as unknown[]).length, 1)
  assert.doesNotMatch(JSON.stringify(exported.body), /svc_live_/)
  assert.deepEqual((await call(server, 'DELETE /me', { as: ann })).body, { id: ann.id, deleted: true })
  assert.equal((await call(server, 'GET /me', { as: ann })).status, 401)
  assert.equal((await call(server, 'GET /me', { headers: { authorization: `Bearer ${ann.token}` } })).status, 401)
  assert.equal((await call(server, 'DELETE /me', { as: owner })).status, 409)
  const rows = await server.pool.query(
    `select 1 from api_keys where user_id = $1 union all select 1 from sessions where user_id = $1 union all select 1 from audit_events where user_id = $1`,
    [ann.id],
  )
  assert.deepEqual(rows, [])
})

test('pairing: pending, approved by somebody who is signed in, claimed once', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const start = await call(server, 'POST /auth/device', { body: { name: 'laptop' } })
  assert.equal(start.status, 200)
  const { deviceCode, userCode, verificationUrl, interval } = start.body as {
    deviceCode: string
    userCode: string
    verificationUrl: string
    interval: number
  }
  noteSecret(deviceCode)
  assert.match(userCode, /^[A-Z]{4}-[A-Z]{4}$/)
  assert.equal(verificationUrl, `${server.url}/device?code=${userCode}`)
  assert(interval > 0)
  const claim = () => call(server, 'POST /auth/device/token', { body: { deviceCode } })
  assert.deepEqual([(await claim()).status, (await claim()).body['code']], [409, 'authorization_pending'])
  assert.equal((await call(server, `POST /auth/device/${userCode}`, { body: { approve: true } })).status, 401)
  assert.equal(
    (await call(server, `GET /auth/device/${userCode.toLowerCase().replace('-', '')}`, { as: ann })).body['clientName'],
    'laptop',
  )
  assert.equal(
    (await call(server, `POST /auth/device/${userCode}`, { as: ann, body: { approve: true } })).body['status'],
    'approved',
  )
  assert.equal(
    (await call(server, `POST /auth/device/${userCode}`, { as: ann, body: { approve: false } })).status,
    409,
    'decided once',
  )
  const claims = await Promise.all([claim(), claim(), claim()])
  const granted = claims.filter(({ status }) => status === 200)
  assert.equal(granted.length, 1)
  const key = String(granted[0]?.body['key'])
  noteSecret(key)
  assert.equal((await call(server, 'GET /me', { as: { key } })).body['name'], 'ann')
  assert.equal((await claim()).status, 404)
  assert.equal(data(await call(server, 'GET /auth/api-keys', { as: ann }))[0]?.['name'], 'laptop')
})

test('pairing: denied, too late, unknown', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const start = async () => {
    const { body } = await call(server, 'POST /auth/device')
    noteSecret(String(body['deviceCode']))
    return body as { deviceCode: string; userCode: string }
  }
  const claim = (deviceCode: string) => call(server, 'POST /auth/device/token', { body: { deviceCode } })
  const denied = await start()
  await call(server, `POST /auth/device/${denied.userCode}`, { as: ann, body: { approve: false } })
  assert.deepEqual(
    [(await claim(denied.deviceCode)).status, (await claim(denied.deviceCode)).body['code']],
    [403, 'authorization_denied'],
  )
  const late = await start()
  server.clock.advance(600_001)
  assert.equal((await claim(late.deviceCode)).status, 404)
  assert.equal(
    (await call(server, `POST /auth/device/${late.userCode}`, { as: ann, body: { approve: true } })).status,
    404,
  )
  assert.equal((await claim('nonsense')).status, 404)
  assert.equal((await claim('')).status, 400)
})

test('the pairing page asks whoever is signed in, and only there', async () => {
  const server = await startTestServer()
  const { cookie } = await signIn(server, 'ann')
  const { body } = await call(server, 'POST /auth/device', { body: { name: '<script>' } })
  noteSecret(String(body['deviceCode']))
  const page = `${server.url}/device?code=${String(body['userCode'])}`
  const stranger = await fetch(page, { redirect: 'manual' })
  assert.match(stranger.headers.get('location') ?? '', /^\/api\/v1\/auth\/chat\/login\?returnTo=%2Fdevice/)
  assert.match(
    await fetch(page, { headers: { cookie } }).then((answer) => answer.text()),
    /&lt;script&gt;<\/bdi><\/strong> asks for an API key/,
  )
  const decide = (headers: Record<string, string>) =>
    fetch(`${server.url}/device`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ code: String(body['userCode']), decision: 'approve' }),
    })
  assert.equal((await decide({})).status, 401)
  assert.equal((await decide({ cookie, origin: 'https://evil.example' })).status, 403)
  assert.match(await decide({ cookie, origin: server.url }).then((answer) => answer.text()), /<h1>Paired<\/h1>/)
})

test('an Idempotency-Key: one record, the secret not repeated, another body refused, another credential apart', async () => {
  const server = await startTestServer()
  const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
  const create = async (as: Person, name: string, key: string) => {
    const answer = await call(server, 'POST /auth/api-keys', {
      as,
      body: { name },
      headers: { 'idempotency-key': key },
    })
    if (answer.status === 201) noteSecret(String(answer.body['key']))
    return answer
  }
  const answers = await Promise.all(Array.from({ length: 10 }, () => create(ann, 'a', 'same')))
  const made = answers.filter(({ status }) => status === 201)
  assert.equal(made.length, 1)
  for (const { status, body } of answers.filter((answer) => answer !== made[0])) {
    assert.deepEqual([status, body['code'], body['id']], [409, 'secret_not_repeatable', made[0]?.body['id']])
  }
  assert.equal(data(await call(server, 'GET /auth/api-keys', { as: ann })).length, 2)
  const other = await create(ann, 'b', 'same')
  assert.deepEqual([other.status, other.body['code']], [422, 'idempotency_key_reused'])
  assert.equal((await create(bob, 'a', 'same')).status, 201)
  assert.equal((await create(ann, 'a', 'bad key')).status, 400)
  server.clock.advance(24 * 3_600_000 + 1)
  assert.equal((await create(ann, 'b', 'same')).status, 201, 'after a day it is forgotten')
})

test('a request that failed does not use its Idempotency-Key up', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const headers = { 'idempotency-key': 'k' }
  assert.equal((await call(server, 'POST /auth/api-keys', { as: ann, body: {}, headers })).status, 400)
  const made = await call(server, 'POST /auth/api-keys', { as: ann, body: { name: 'x' }, headers })
  noteSecret(String(made.body['key']))
  assert.equal(made.status, 201)
})

test('two servers on one database: what one revokes the other refuses, and the limit is one', async () => {
  const clock = new TestClock()
  const pool = await createTestPool()
  const [database] = await pool.query<{ name: string }>('select current_database() as name')
  const env = { API_RATE_LIMIT: '50' }
  const one = await startTestServer({ pool, clock, env })
  const two = await startTestServer({ pool: await createTestPool(database?.name), clock, env })
  const ann = await signIn(one, 'ann')
  const statusAt = (server: TestServer) => call(server, 'GET /me', { as: ann }).then(({ status }) => status)
  assert.equal(await statusAt(two), 200)

  const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => statusAt(index % 2 ? one : two)))
  assert.equal(answers.filter((status) => status === 429).length, 11, '50 a minute, one of them was above')
  clock.advance(60_000)

  assert.equal(await statusAt(two), 200)
  const [{ id } = {}] = data(await call(one, 'GET /auth/api-keys', { as: ann }))
  await call(one, `DELETE /auth/api-keys/${String(id)}`, { as: ann })
  assert.equal(await statusAt(one), 401, 'at once')
  // The clock stands still: what the other server remembers does not expire, so it was told.
  await until('the other server to refuse the key', async () => (await statusAt(two)) === 401)

  const bob = await signIn(one, 'bob')
  const headers = { authorization: `Bearer ${bob.token}` }
  assert.equal((await call(two, 'GET /me', { headers })).status, 200)
  await call(one, 'POST /auth/logout', { headers })
  await until('a token too', async () => (await call(two, 'GET /me', { headers })).status === 401)
})

test('a limit above 100 refuses nobody while there is budget, on one server or two, and everybody after', async () => {
  const clock = new TestClock()
  const pool = await createTestPool()
  const [database] = await pool.query<{ name: string }>('select current_database() as name')
  const env = { API_RATE_LIMIT: '1000' }
  const one = await startTestServer({ pool, clock, env })
  const two = await startTestServer({ pool: await createTestPool(database?.name), clock, env })
  const ann = await signIn(one, 'ann')
  const burst = async (server: TestServer, count: number) => {
    const head = `GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${ann.key}\r\n`
    const requests = `${`${head}\r\n`.repeat(count - 1)}${head}Connection: close\r\n\r\n`
    const answers = await sendRaw(server.port, requests)
    return [...answers.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
  }
  for (const [server, count] of [
    [one, 300],
    [two, 150],
    [one, 300],
  ] as const) {
    const statuses = await burst(server, count)
    assert.deepEqual([statuses.length, new Set(statuses)], [count, new Set([200])])
  }
  const rest = await burst(two, 400)
  const allowed = rest.filter((status) => status === 200).length
  assert(allowed <= 250 && allowed >= 250 - 20, `${allowed} of the last 250`)
})

test('the limit for a credential has the same fields as the public one', async () => {
  const server = await startTestServer({ env: { API_RATE_LIMIT: '4' } })
  const ann = await signIn(server, 'ann') // three requests with the session
  const answers: Answer[] = []
  for (let i = 0; i < 5; i++) answers.push(await call(server, 'GET /me', { as: ann }))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 429],
  )
  assert.equal(answers[0]?.headers.get('ratelimit-policy'), '"api";q=4;w=60')
  assert.equal(answers[4]?.headers.get('retry-after'), '60')
  assert.equal(
    (await call(server, 'GET /me', { headers: { authorization: `Bearer ${ann.token}` } })).status,
    200,
    'another credential',
  )
})

test('behind a proxy on the same host: no sandbox, no open metrics, no unlimited rate', async () => {
  const local = await startTestServer()
  const ann = await signIn(local, 'ann')
  const proxied: Record<string, string>[] = [
    { 'x-forwarded-for': '192.0.2.1' },
    { forwarded: 'for=192.0.2.1' },
    { via: '1.1 proxy' },
    { 'x-real-ip': '127.0.0.1' },
  ]
  for (const headers of proxied) {
    assert.equal((await fetch(`${local.url}/sandbox/chat`, { headers })).status, 404)
    assert.equal((await fetch(`${local.url}/metrics`, { headers })).status, 403)
    assert.equal((await fetch(`${local.url}/api/v1/auth/chat/login`, { headers, redirect: 'manual' })).status, 409)
    assert.equal((await call(local, 'GET /me', { as: ann, headers })).headers.get('x-ratelimit-limit'), '6000')
  }
  assert.equal((await call(local, 'GET /me', { as: ann })).headers.get('x-ratelimit-limit'), null)
  const foreign = (path: string) =>
    sendRaw(local.port, `GET ${path} HTTP/1.1\r\nHost: rebind.example\r\nConnection: close\r\n\r\n`)
  assert.match(await foreign('/sandbox/chat'), /^HTTP\/1\.1 404/)
  assert.match(await foreign('/metrics'), /^HTTP\/1\.1 403/)
  for (const host of ['evil.example/.localhost', 'a@b.localhost', 'evil.example?.localhost']) {
    const answer = await sendRaw(local.port, `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    assert.match(answer, /^HTTP\/1\.1 403/, host)
  }
  assert.match(await sendRaw(local.port, 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n'), /^HTTP\/1\.\d 403/)
  const behind = await startTestServer({ env: { TRUST_PROXY: '127.0.0.1' } })
  assert.equal((await fetch(`${behind.url}/sandbox/chat`)).status, 404)
  assert.equal((await fetch(`${behind.url}/metrics`)).status, 403)
})

test('while the database is away every endpoint that needs it answers 503', async () => {
  const server = await startTestServer({ pool: await createAwayPool() })
  const key = `svc_live_${randomToken()}`
  for (const line of [
    'GET /me',
    'GET /auth/api-keys',
    'POST /auth/api-keys',
    'POST /auth/device',
    'GET /auth/chat/login',
  ]) {
    const [method = '', path = ''] = line.split(' ')
    const { status, body, headers } = await call(server, `${method} ${path}`, { headers: { 'x-api-key': key } })
    assert.deepEqual([status, body['code'], headers.get('retry-after')], [503, 'unavailable', '1'], line)
  }
})

test('what cannot be found and what is somebody else’s are answered with the same bytes', async () => {
  const server = await startTestServer()
  const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
  const [{ id } = {}] = data(await call(server, 'GET /auth/api-keys', { as: ann }))
  const ask = async (keyId: string) => {
    const { status, body } = await call(server, `DELETE /auth/api-keys/${keyId}`, {
      as: bob,
      headers: { 'x-request-id': 'same' },
    })
    return JSON.stringify({ status, ...body, instance: '' })
  }
  const foreign = await ask(String(id))
  assert.equal(foreign, await ask(String(id).replace(/.$/, 'x')))
  assert.equal(foreign, await ask('malformed'))
  assert.match(foreign, /"status":404/)
  assert.equal(data(await call(server, 'GET /auth/api-keys', { as: ann })).length, 1)
})

test('signing out takes a body or none, and a page of another site cannot do it', async () => {
  const server = await startTestServer()
  const { token, cookie } = await signIn(server, 'ann')
  const out = async (headers: Record<string, string>, body?: string) => {
    const answer = await fetch(`${server.url}/api/v1/auth/logout`, {
      method: 'POST',
      headers,
      ...(body !== undefined && { body }),
    })
    return [answer.status, ((await answer.json()) as { code?: string }).code]
  }
  const json = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  assert.deepEqual(await out(json, '{"everywhere":"yes"}'), [400, 'validation_failed'])
  assert.deepEqual(await out(json, '{'), [400, 'invalid_json'])
  assert.deepEqual(await out(json, `"${'x'.repeat(300_000)}"`), [413, 'payload_too_large'])
  assert.deepEqual(await out({ ...json, 'content-type': 'text/plain' }, 'x'), [415, 'unsupported_media_type'])
  assert.deepEqual(await out({ cookie, origin: 'https://evil.example' }), [403, 'forbidden'])
  assert.deepEqual(await out(json), [200, undefined])
})

test('log-in paths refuse what they cannot read', async () => {
  const server = await startTestServer()
  for (const request of [
    'GET /auth/chat/login?prompt=login',
    'GET /auth/chat/login?returnTo=a&returnTo=b',
    `GET /auth/chat/callback?state=${'x'.repeat(201)}`,
  ]) {
    const { status, body } = await call(server, request)
    assert.deepEqual([status, body['code']], [400, 'validation_failed'], request)
  }
})

test('a pairing that somebody with 200 keys approved gives no key until one is revoked', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const { deviceCode, userCode } = (await call(server, 'POST /auth/device')).body as {
    deviceCode: string
    userCode: string
  }
  noteSecret(deviceCode)
  await call(server, `POST /auth/device/${userCode}`, { as: ann, body: { approve: true } })
  await server.pool.query(
    `insert into api_keys (id, user_id, name, hash, last4, created_at)
     select 'key_filler' || n, $1, 'filler', sha256(n::text::bytea), '0000', now() from generate_series(1, 199) n`,
    [ann.id],
  )
  const claim = () => call(server, 'POST /auth/device/token', { body: { deviceCode } })
  assert.equal((await claim()).body['code'], 'limit_reached')
  await call(server, 'DELETE /auth/api-keys/key_filler1', { as: ann })
  const { status, body } = await claim()
  noteSecret(String(body['key']))
  assert.equal(status, 200)
})

test('the same Idempotency-Key makes one invitation, and is refused for anything else', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const invite = (key: string) =>
    call(server, 'POST /operator/invites', { as: owner, headers: { 'idempotency-key': key } })
  const first = await invite('one')
  noteSecret(new URL(String(first.body['url'])).searchParams.get('invite') ?? '')
  assert.equal(first.status, 201)
  const again = await invite('one')
  assert.deepEqual([again.body['code'], again.body['id']], ['secret_not_repeatable', first.body['id']])
  await call(server, 'POST /bots', {
    as: owner,
    body: { name: 'x', type: 'custom' },
    headers: { 'idempotency-key': 'two' },
  })
  assert.equal((await invite('two')).body['code'], 'idempotency_key_reused')
  assert.equal((await invite('not allowed')).body['code'], 'validation_failed')
})
