import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../../test/api.ts'

const id = '123456789012345678'

test('a bot’s About Me is edited by PATCH and read from the public profile, and survives', async () => {
  const server = await startTestServer()
  const rpc = `${server.url}/sandbox/chat/applications/${id}/rpc`
  const unknown = await fetch(rpc)
  assert.deepEqual([unknown.status, await unknown.json()], [404, { message: 'Unknown Application', code: 10002 }])
  const patch = (body: unknown) =>
    fetch(`${server.url}/sandbox/chat/applications/${id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  assert.equal((await patch({ description: 'code-1 <b>' })).status, 200)
  const profile = (await fetch(rpc).then((answer) => answer.json())) as Record<string, unknown>
  assert.deepEqual([profile['id'], profile['description']], [id, 'code-1 <b>'])
  assert.equal((await patch({ name: 'Helper' })).status, 200)
  const renamed = (await fetch(rpc).then((answer) => answer.json())) as Record<string, unknown>
  assert.deepEqual([renamed['name'], renamed['description']], ['Helper', 'code-1 <b>'])
  assert.equal((await patch({ description: 5 })).status, 400)
  assert.equal((await patch({ botId: 'x' })).status, 400)
  assert.equal('bot' in renamed, false, 'as the platform has it')
  assert.equal((await patch({ botId: '160000000000000001' })).status, 200)
  const old = (await fetch(rpc).then((answer) => answer.json())) as { bot: { id: string } }
  assert.equal(old.bot.id, '160000000000000001')
  assert.equal((await patch({ description: 'x'.repeat(401) })).status, 400)
})

test('every page says that it is a sandbox, and escapes what people typed', async () => {
  const server = await startTestServer()
  const form = (fields: Record<string, string>) =>
    fetch(`${server.url}/sandbox/chat/applications`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(fields),
    })
  assert.equal((await form({ id, name: '<script>alert(1)</script>' })).status, 303)
  const page = await fetch(`${server.url}/sandbox/chat`).then((answer) => answer.text())
  assert.match(page, /This is a sandbox/)
  assert.match(page, /&lt;script&gt;alert\(1\)/)
  const login = await fetch(`${server.url}/api/v1/auth/chat/login?login_hint=%22%3E%3Cb%3E`)
  const text = await login.text()
  assert.equal(login.status, 200)
  assert.match(text, /This is a sandbox/)
  assert.match(text, /value="&quot;&gt;&lt;b&gt;"/)
})

test('a person signs in on the page by typing any name', async () => {
  const server = await startTestServer()
  const begun = await fetch(`${server.url}/api/v1/auth/chat/login`, { redirect: 'manual' })
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const authorize = new URL(begun.headers.get('location') ?? '')
  const fields = new URLSearchParams([...authorize.searchParams, ['name', 'Ann Lee']])
  const posted = await fetch(`${server.url}/sandbox/chat/oauth2/authorize`, {
    method: 'POST',
    redirect: 'manual',
    body: fields,
  })
  assert.equal(posted.status, 303)
  const done = await fetch(posted.headers.get('location') ?? '', { redirect: 'manual', headers: { cookie } })
  assert.deepEqual([done.status, done.headers.get('location')], [302, '/'])
})

test('it sends codes nowhere but to this server', async () => {
  const server = await startTestServer()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: '100000000000000001',
    scope: 'identify',
    state: 's',
    code_challenge: 'c',
    code_challenge_method: 'S256',
    prompt: 'none',
    login_hint: 'ann',
  })
  for (const uri of [
    'https://evil.example/',
    `${server.url}/other`,
    `${server.url}.evil.example/api/v1/auth/chat/callback`,
  ]) {
    query.set('redirect_uri', uri)
    const answer = await fetch(`${server.url}/sandbox/chat/oauth2/authorize?${query.toString()}`, {
      redirect: 'manual',
    })
    assert.equal(answer.status, 400, uri)
  }
})

test('its token endpoint wants the client, the code, the verifier', async () => {
  const server = await startTestServer()
  const ask = (headers: Record<string, string>) =>
    fetch(`${server.url}/sandbox/chat/oauth2/token`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ grant_type: 'authorization_code', code: 'x' }),
    })
  assert.equal((await ask({})).status, 401)
  assert.equal((await ask({ authorization: 'Basic eDp4' })).status, 401)
  assert.equal((await fetch(`${server.url}/sandbox/chat/users/@me`)).status, 401)
  assert.equal(
    (await fetch(`${server.url}/sandbox/chat/users/@me`, { headers: { authorization: 'Bearer rubbish' } })).status,
    401,
  )
})

test('a page of another site neither edits profiles nor signs its visitor in', async () => {
  const server = await startTestServer()
  const post = (headers: Record<string, string>) =>
    fetch(`${server.url}/sandbox/chat/applications`, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body: new URLSearchParams({ id, description: 'x' }),
    })
  assert.equal((await post({ origin: 'https://evil.example' })).status, 403)
  assert.equal((await post({ 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.equal((await post({ origin: server.url, 'sec-fetch-site': 'same-origin' })).status, 303)
  const begun = await fetch(`${server.url}/api/v1/auth/chat/login?login_hint=mallory&prompt=none`, {
    redirect: 'manual',
  })
  const authorize = begun.headers.get('location') ?? ''
  assert.equal(
    (await fetch(authorize, { redirect: 'manual', headers: { 'sec-fetch-site': 'cross-site' } })).status,
    200,
    'the page asks',
  )
  assert.equal((await fetch(authorize, { redirect: 'manual' })).status, 302)
  assert.equal(
    (await fetch(`${authorize}&login_hint=other`, { redirect: 'manual' })).status,
    200,
    'a repeated hint is none',
  )
})
