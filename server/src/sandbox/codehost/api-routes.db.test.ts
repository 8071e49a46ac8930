import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import { startTestServer } from '../../../test/api.ts'
import { startTestCodehost, type TestCodehost } from '../../../test/codehost.ts'

async function makeRepository(host: TestCodehost, fullName: string, more: object = {}) {
  const { status, body } = await host.manage('POST', '/repos', { fullName, files: { a: '1' }, ...more })
  assert.equal(status, 201, JSON.stringify(body))
  return { id: Number(body['id']), ...body }
}

async function makeInstallation(host: TestCodehost, account: string, repositories: unknown = 'all') {
  const { status, body } = await host.manage('POST', '/installations', { account, repositories })
  assert.equal(status, 201, JSON.stringify(body))
  return Number(body['id'])
}

test('an app vouches for itself by a short-lived JWT of its own key, and by nothing else', async () => {
  const host = await startTestCodehost()
  const now = Math.floor(Date.now() / 1000)
  const { privateKey: otherKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const ask = async (claims: object, { key = createPrivateKey(host.app.privateKey), alg = 'RS256' } = {}) => {
    const jwt = await new SignJWT({ iat: now - 30, exp: now + 300, iss: String(host.app.appId), ...claims })
      .setProtectedHeader({ alg })
      .sign(key)
    const answer = await fetch(`${host.api}/app`, { headers: { authorization: `Bearer ${jwt}` } })
    const { message, slug } = (await answer.json()) as { message?: string; slug?: string }
    return [answer.status, message ?? slug]
  }
  assert.deepEqual(await ask({}), [200, 'botberth-sandbox'])
  assert.deepEqual(await ask({ iss: host.app.clientId }), [200, 'botberth-sandbox'])
  assert.deepEqual(await ask({ iss: '7' }), [404, 'Integration not found'])
  assert.deepEqual(await ask({ exp: now + 700 }), [401, "'Expiration time' claim ('exp') is too far in the future"])
  assert.equal((await ask({ iat: now - 500, exp: now - 100 }))[0], 401)
  assert.equal((await ask({ iat: now + 200 }))[0], 401)
  assert.equal((await ask({ iat: undefined }))[0], 401)
  assert.equal((await ask({}, { key: otherKey }))[0], 401)
  assert.equal((await ask({}, { alg: 'RS512' }))[0], 401)
  for (const authorization of ['', 'Bearer x', 'Bearer a.b.c', 'Basic eDp4', `token ghs_${'x'.repeat(36)}`]) {
    const answer = await fetch(`${host.api}/app`, { headers: { authorization } })
    assert.equal(answer.status, 401, authorization)
    const body = (await answer.json()) as Record<string, unknown>
    assert.deepEqual(
      [typeof body['message'], typeof body['documentation_url'], body['status']],
      ['string', 'string', '401'],
    )
  }
  assert.equal(statSync(join(host.server.app.config.dataDir, 'sandbox/codehost/app.json')).mode & 0o777, 0o600)
})

test('an installation token sees what it was made for: by repository, by right, for an hour', async () => {
  const host = await startTestCodehost()
  const [one, two] = [
    await makeRepository(host, 'ann/one', { private: true }),
    await makeRepository(host, 'ann/two', { private: true }),
  ]
  const bens = await makeRepository(host, 'ben/own', { private: true })
  const open = await makeRepository(host, 'ben/open')
  const id = await makeInstallation(host, 'ann', ['ann/one', 'ann/two'])
  const bensId = await makeInstallation(host, 'ben')
  const list = async (token: string) => {
    const { data } = await host.as(token)('GET /installation/repositories')
    return [data.total_count, ...data.repositories.map((repository) => repository.full_name)]
  }
  const whole = await host.installationToken(id)
  assert.deepEqual(await list(whole), [2, 'ann/one', 'ann/two'])
  const narrow = await host.installationToken(id, { repository_ids: [two.id] })
  assert.deepEqual(await list(narrow), [1, 'ann/two'])
  assert.deepEqual(await list(await host.installationToken(id, { repositories: ['one'] })), [1, 'ann/one'])
  const refused = (body: object) => assert.rejects(host.installationToken(id, { ...body }), { status: 422 })
  await refused({ repository_ids: [bens.id] })
  await refused({ repository_ids: [one.id, 12] })
  await refused({ repository_ids: [] })
  await refused({ repository_ids: [null] })
  await refused({ repositories: ['../own'] })
  await refused({ permissions: { contents: 'write' } })
  await refused({ permissions: { administration: 'read' } })
  await assert.rejects(host.installationToken(999), { status: 404 })

  const get = (token: string, owner: string, repo: string) =>
    host
      .as(token)('GET /repos/{owner}/{repo}', { owner, repo })
      .then(
        ({ status }) => status,
        (error: { status: number }) => error.status,
      )
  assert.equal(await get(narrow, 'ann', 'TWO'), 200)
  assert.equal(await get(narrow, 'ann', 'one'), 404)
  assert.equal(await get(whole, 'ben', 'own'), 404)
  assert.equal(await get(whole, 'ben', 'open'), 200, 'what is public is public')
  const byId = await host.as(narrow)('GET /repositories/{id}', { id: two.id })
  assert.equal((byId.data as { full_name: string }).full_name, 'ann/two')

  const sha = (
    await host.as(whole)('GET /repos/{owner}/{repo}/commits/{ref}', { owner: 'ann', repo: 'one', ref: 'main' })
  ).data.sha
  const report = (token: string, owner: string, repo: string) =>
    host
      .as(token)('POST /repos/{owner}/{repo}/statuses/{sha}', { owner, repo, sha, state: 'success' })
      .then(
        ({ status }) => status,
        (error: { status: number }) => error.status,
      )
  assert.equal(await report(whole, 'ann', 'one'), 201)
  assert.equal(await report(await host.installationToken(id, { permissions: { contents: 'read' } }), 'ann', 'one'), 403)
  assert.equal(await report(narrow, 'ann', 'one'), 404)
  assert.equal(await report(whole, 'ben', 'open'), 403)
  const blind = await host.installationToken(id, { permissions: { statuses: 'write' } })
  await assert.rejects(host.as(blind)('GET /repos/{owner}/{repo}/branches', { owner: 'ann', repo: 'one' }), {
    status: 403,
  })

  assert.equal((await host.manage('PATCH', `/installations/${id}`, { suspended: true })).status, 200)
  await assert.rejects(list(whole), { status: 403 })
  await assert.rejects(host.installationToken(id), { status: 403 })
  await host.manage('PATCH', `/installations/${id}`, { suspended: false })
  assert.deepEqual(await list(whole), [2, 'ann/one', 'ann/two'])
  await host.manage('PATCH', `/installations/${id}`, { repositories: ['ann/two'] })
  assert.deepEqual(await list(whole), [1, 'ann/two'])
  assert.equal((await host.manage('DELETE', `/installations/${id}`)).status, 204)
  await assert.rejects(list(whole), { status: 401 })
  const bensToken = await host.installationToken(bensId)
  host.server.clock.advance(3_600_001)
  await assert.rejects(list(bensToken), { status: 401 })
  assert.equal(open.id > bens.id, true)
})

test('a person sees the installations of their accounts and what those hold, in pages', async () => {
  const host = await startTestCodehost()
  for (let count = 0; count < 130; count++) await makeRepository(host, `acme/r${count}`, { files: {} })
  await host.manage('PUT', '/accounts/acme/members', { members: ['ann', 'Cat'] })
  const acme = await makeInstallation(host, 'acme')
  const ben = await makeInstallation(host, 'ben')
  const { accessToken } = await host.userToken('Ann')
  const { data } = await host.as(accessToken)('GET /user/installations')
  assert.deepEqual([data.total_count, data.installations[0]?.id], [1, acme])
  assert.equal((data.installations[0]?.account as { type: string } | undefined)?.type, 'Organization')
  await assert.rejects(host.as(accessToken)('GET /user/installations/{id}/repositories', { id: ben }), { status: 404 })
  const names: string[] = []
  const links: (string | undefined)[] = []
  for (let page = 1; page <= 3; page++) {
    const answer = await host.as(accessToken)('GET /user/installations/{installation_id}/repositories', {
      installation_id: acme,
      per_page: 50,
      page,
    })
    assert.equal(answer.data.total_count, 130)
    names.push(...answer.data.repositories.map(({ full_name: name }) => name))
    links.push(answer.headers.link)
  }
  assert.equal(new Set(names).size, 130)
  const relations = (link: string | undefined) =>
    [...(link ?? '').matchAll(/[?&]page=(\d+)>; rel="(\w+)"/g)].map(([, page, rel]) => `${rel} ${page}`)
  assert.deepEqual(links.map(relations), [
    ['next 2', 'last 3'],
    ['prev 1', 'next 3', 'last 3', 'first 1'],
    ['prev 2', 'first 1'],
  ])
  const plain = await host.as(accessToken)('GET /user/installations/{installation_id}/repositories', {
    installation_id: acme,
  })
  assert.equal(plain.data.repositories.length, 30)
  const most = await host.as(accessToken)('GET /user/installations/{installation_id}/repositories', {
    installation_id: acme,
    per_page: 1000,
  })
  assert.equal(most.data.repositories.length, 100)
  assert.match(most.headers['x-ratelimit-remaining'] ?? '', /^\d+$/)
  await host.manage('PUT', '/accounts/acme/members', { members: ['cat'] })
  assert.equal((await host.as(accessToken)('GET /user/installations')).data.total_count, 0, 'no member any more')
})

test('statuses are kept by commit and context, and say together how it stands', async () => {
  const host = await startTestCodehost()
  await makeRepository(host, 'ann/bot')
  const id = await makeInstallation(host, 'ann')
  const token = await host.installationToken(id)
  const at = { owner: 'ann', repo: 'bot' }
  const { sha } = (await host.as(token)('GET /repos/{owner}/{repo}/commits/{ref}', { ...at, ref: 'main' })).data
  const post = (body: Record<string, unknown>, to = sha) =>
    host.as(token)('POST /repos/{owner}/{repo}/statuses/{sha}', { ...at, sha: to, state: 'success', ...body })
  const combined = async () =>
    (await host.as(token)('GET /repos/{owner}/{repo}/commits/{ref}/status', { ...at, ref: 'main' })).data
  assert.equal((await combined()).state, 'pending')
  await post({ state: 'pending', context: 'botberth', target_url: 'http://localhost/x', description: 'Building' })
  await post({ context: 'other' })
  assert.equal((await combined()).state, 'pending')
  const made = await post({ context: 'botberth' })
  assert.deepEqual([made.data.creator?.login, made.data.creator?.type], ['botberth-sandbox[bot]', 'Bot'])
  assert.deepEqual([(await combined()).state, (await combined()).total_count], ['success', 2])
  await post({ state: 'failure', context: 'botberth' })
  assert.equal((await combined()).state, 'failure')
  const all = await host.as(token)('GET /repos/{owner}/{repo}/commits/{ref}/statuses', { ...at, ref: sha })
  assert.deepEqual(
    all.data.map(({ state }) => state),
    ['failure', 'success', 'success', 'pending'],
  )
  for (const wrong of [
    { state: 'done' },
    { description: 'x'.repeat(141) },
    { target_url: 'javascript:1' },
    { context: 5 },
  ])
    await assert.rejects(post(wrong), { status: 422 })
  for (const wrong of ['0'.repeat(40), 'main', '..%2f..']) await assert.rejects(post({}, wrong), { status: 422 })
})

test('hostile paths, names and bodies are refused in the platform’s words', async () => {
  const host = await startTestCodehost()
  await makeRepository(host, 'ann/bot', { private: true })
  const { accessToken } = await host.userToken('ann')
  await makeInstallation(host, 'ann')
  const get = (path: string) => fetch(`${host.api}${path}`, { headers: { authorization: `token ${accessToken}` } })
  for (const [path, status] of [
    ['/nothing', 404],
    ['/repos/ann/..%2f..%2fetc', 404],
    ['/repos/ann%2fbot/x', 404],
    ['/repos/ann/bot/commits/--output=x', 422],
    ['/repos/ann/bot/commits/main@%7B1%7D', 422],
    ['/repos/ann/bot/commits/%3A%2Fone', 422],
    ['/repos/ann/bot/commits/main%0A', 422],
    ['/repos/ann/bot/commits/..%2f..%2fHEAD', 422],
    ['/repos/ann/bot/branches/-x', 404],
    ['/repos/ann/bot/compare/main..main', 404],
    ['/repos/ann/bot/compare/--all...main', 404],
    ['/repositories/99999999999999999999', 404],
    ['/repositories/1e3', 404],
    ['/user/installations/x/repositories', 404],
    ['/user/installations?page=-1&per_page=x', 200],
    ['/user/installations?page=99999', 200],
  ] as const)
    assert.equal((await get(path)).status, status, path)
  for (const body of ['{', '[]', 'null', '"x"']) {
    const answer = await fetch(`${host.api}/applications/${host.app.clientId}/token`, {
      method: 'DELETE',
      headers: {
        authorization: `Basic ${btoa(`${host.app.clientId}:${host.app.clientSecret}`)}`,
        'content-type': 'application/json',
      },
      body,
    })
    assert.equal(answer.status, 400, body)
  }
  const post = (path: string, body: unknown) => host.manage('POST', path, body).then(({ status }) => status)
  for (const fullName of [
    'bot',
    'a/b/c',
    '../x',
    'ann/..',
    'ann/x.git',
    '-a/b',
    'api/x',
    'ann/a b',
    'ann/',
    5,
    undefined,
  ])
    assert.equal(await post('/repos', { fullName }), 400, String(fullName))
  assert.equal(await post('/repos', { fullName: 'ANN/BOT' }), 409)
  for (const files of [
    ['x'],
    { '../x': '1' },
    { '.git/config': '1' },
    { 'a/.GIT/x': '1' },
    { '/x': '1' },
    { 'a\nb': '1' },
    { a: 5 },
    'x',
  ])
    assert.equal(await post('/repos', { fullName: 'ann/files', files }), 400, JSON.stringify(files))
  assert.equal(await post('/repos', { fullName: 'ann/files', private: 'yes' }), 400)
  for (const body of [
    { account: 'a b' },
    { account: 'ann', repositories: ['ben/x'] },
    { account: 'ann', repositories: 5 },
    [],
  ])
    assert.equal(await post('/installations', body), 400, JSON.stringify(body))
  for (const branch of ['..', '-x', 'a b', 5])
    assert.equal(await post('/repos/ann/bot/commits', { branch, files: { a: '1' } }), 400)
  assert.equal((await host.manage('PATCH', '/repos/ann/none', {})).status, 404)
  assert.equal((await host.manage('DELETE', '/installations/x')).status, 404)
})

test('other machines, proxies and pages of other sites get nowhere', async () => {
  const host = await startTestCodehost()
  for (const headers of [{ 'x-forwarded-for': '1.2.3.4' }, { via: '1.1 x' }])
    for (const path of ['', '/api/v3/app', '/ann/bot.git/info/refs?service=git-upload-pack'])
      assert.equal((await fetch(host.web + path, { headers })).status, 404, path)
  const post = await fetch(`${host.web}/repos`, {
    method: 'POST',
    headers: { origin: 'https://evil.example', 'content-type': 'application/json' },
    body: '{"fullName":"ann/evil"}',
  })
  assert.equal(post.status, 403)
  const bound = await startTestServer({ env: { PUBLIC_URL: 'https://bots.example' } })
  assert.equal((await fetch(`${bound.url}/sandbox/codehost`)).status, 404)
})

test('everything but the faults survives a restart', async () => {
  const first = await startTestCodehost()
  await makeRepository(first, 'ann/bot', { private: true })
  const id = await makeInstallation(first, 'ann')
  const token = await first.installationToken(id)
  const { accessToken } = await first.userToken('ann')
  const second = await startTestCodehost({ server: first.server })
  assert.equal(second.app.privateKey, first.app.privateKey)
  const { data } = await second.as(token)('GET /repos/{owner}/{repo}/branches', { owner: 'ann', repo: 'bot' })
  assert.deepEqual(
    data.map(({ name }) => name),
    ['main'],
  )
  assert.equal((await second.as(accessToken)('GET /user')).data.login, 'ann')
})

test('it can be down, slow, out of patience or speak HTML, for as many requests as a test asks for', async () => {
  const host = await startTestCodehost()
  const { accessToken } = await host.userToken('ann')
  const ask = () => fetch(`${host.api}/user`, { headers: { authorization: `token ${accessToken}` } })
  assert.equal(
    (await host.manage('PUT', '/faults', { kind: 'rate-limited', retryAfterSeconds: 7, times: 1 })).status,
    200,
  )
  const limited = await ask()
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '7'])
  assert.equal((await ask()).status, 200)
  await host.manage('PUT', '/faults', { kind: 'html' })
  const page = await ask()
  assert.deepEqual([page.status, page.headers.get('content-type')], [502, 'text/html; charset=utf-8'])
  assert.equal(
    (await host.manage('PUT', '/faults', { kind: 'html', status: 200, path: '/user' })).status,
    200,
    'faults do not close the way back',
  )
  assert.equal((await ask()).status, 200)
  host.sandbox.faults.set({ kind: 'down', times: 2 })
  await assert.rejects(ask())
  await assert.rejects(fetch(`${host.web}/ann/bot.git/info/refs?service=git-upload-pack`))
  host.sandbox.faults.set({ kind: 'slow', delayMs: 150, path: '/user' })
  const startedAt = performance.now()
  assert.equal((await ask()).status, 200)
  assert(performance.now() - startedAt >= 149)
  assert.equal((await host.manage('DELETE', '/faults')).status, 204)
  for (const wrong of [{}, { kind: 'x' }, { kind: 'slow', delayMs: -1 }, { kind: 'down', more: 1 }])
    assert.equal((await host.manage('PUT', '/faults', wrong)).status, 400)
})
