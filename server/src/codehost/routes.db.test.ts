// Accounts, installations, repositories and links, through the sandbox code host.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { Browser, beginConnect, connect, connectPath, link, makeRepo, manage, setFault } from '../../test/linked.ts'
import { makeOwner, type Person, signIn } from '../../test/people.ts'

const shared = await startTestServer()
let people = 0

/** Whom no other test knows, on the server that most tests share. */
const somebody = () => signIn(shared, `ann${++people}`)

const status = async (server: TestServer, as: Person) => (await call(server, 'GET /auth/codehost/status', { as })).body
const makeBot = async (server: TestServer, as: Person, fields: object = {}) =>
  String((await call(server, 'POST /bots', { as, body: { name: 'x', type: 'custom', ...fields } })).body['id'])

test('an account is connected by key, token and cookie alike, and shown', async () => {
  const server = shared
  const ann = await somebody()
  const nobody = { connected: false, login: null, avatarUrl: null, connectedAt: null }
  assert.deepEqual(await status(server, ann), nobody)
  const ways: [string, Browser, Record<string, string>][] = [
    ['key', new Browser(server), { 'x-api-key': ann.key }],
    ['token', new Browser(server), { authorization: `Bearer ${ann.token}` }],
    ['cookie', new Browser(server, ann.cookie), {}],
  ]
  for (const [what, browser, headers] of ways) {
    const done = await browser.open(await beginConnect(browser, `${ann.name}-${what}`, headers))
    assert.deepEqual([done.status, done.location], [302, '/'], what)
    const { connected, login, connectedAt } = await status(server, ann)
    assert.deepEqual(
      [connected, login, connectedAt],
      [true, `${ann.name}-${what}`, server.clock.now().toISOString()],
      what,
    )
  }
  const exported = await call(server, 'GET /me/export', { as: ann })
  assert.equal((exported.body['codehost'] as { login: string }).login, `${ann.name}-cookie`)
  const gone = await call(server, 'DELETE /auth/codehost/disconnect', { as: ann })
  assert.deepEqual([gone.status, gone.body], [200, { disconnected: true }])
  assert.deepEqual(await status(server, ann), nobody)
  assert.equal((await call(server, 'DELETE /auth/codehost/disconnect', { as: ann })).status, 200, 'and once more')
  const kinds = data(await call(server, 'GET /me/audit', { as: ann })).map(({ kind }) => kind)
  assert.deepEqual(kinds.slice(0, 2), ['codehost_disconnected', 'codehost_connected'])
  const tokens = await server.pool.query(`select 1 from sandbox_tokens where kind = 'user' and login like $1`, [
    `${ann.name}-%`,
  ])
  assert.equal(tokens.length, 2, 'the code host has forgotten the last token too; the others were replaced')
})

test('a path of this server is where one ends up afterwards, another site never is', async () => {
  const server = shared
  const ann = await somebody()
  for (const [given, expected] of [
    ['/bots/x?tab=repo', '/bots/x?tab=repo'],
    ['//evil.example/', '/'],
    ['https://evil.example/', '/'],
  ]) {
    const browser = new Browser(server, ann.cookie)
    const begun = await browser.open(`${connectPath(ann.name)}&returnTo=${encodeURIComponent(given ?? '')}`)
    const back = await browser.open(begun.location)
    assert.equal((await browser.open(back.location)).location, expected)
  }
})

test('a state is good once, in the browser and for the person that it was given to, for ten minutes', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
  const refused = async (browser: Browser, back: string, why: string) => {
    const { status: code, text } = await browser.open(back)
    assert.equal(code, 409, why)
    assert.match(text, /"code":"invalid_state"/, why)
  }

  const browser = new Browser(server, ann.cookie)
  const back = await beginConnect(browser, 'ann')
  await refused(new Browser(server, ann.cookie), back, 'another browser of the same person')
  await refused(new Browser(server, bob.cookie), back, 'somebody else’s browser')
  const cookies = new Map(browser.jar)
  assert.equal((await browser.open(back)).status, 302)
  for (const [name, value] of cookies) browser.jar.set(name, value)
  await refused(browser, back, 'replayed with its cookie')

  const swapped = new Browser(server, ann.cookie)
  const annsBack = await beginConnect(swapped, 'ann')
  swapped.jar.set('botberth_session', bob.cookie.split('=')[1] ?? '')
  await refused(swapped, annsBack, 'signed in as somebody else meanwhile')

  const late = new Browser(server, bob.cookie)
  const bobsBack = await beginConnect(late, 'bob')
  server.clock.advance(10 * 60_000)
  await refused(late, bobsBack, 'too late')
  await refused(late, '/api/v1/auth/codehost/callback?code=x&state=made-up', 'made up')
  await refused(late, '/api/v1/auth/codehost/callback', 'nothing at all')

  const denied = new Browser(server, bob.cookie)
  const state = new URL(await beginConnect(denied, 'bob')).searchParams.get('state')
  await refused(denied, `/api/v1/auth/codehost/callback?error=access_denied&state=${state}`, 'they said no')
  const forged = new Browser(server, bob.cookie)
  const other = new URL(await beginConnect(forged, 'bob')).searchParams.get('state')
  await refused(forged, `/api/v1/auth/codehost/callback?code=of-nobody&state=${other}`, 'a code that is none')
  assert.equal((await status(server, bob))['connected'], false)

  const stopped = new Browser(server, bob.cookie)
  const last = await beginConnect(stopped, 'bob')
  await call(server, `PATCH /operator/users/${bob.id}`, { as: owner, body: { suspended: true } })
  stopped.jar.delete('botberth_session')
  assert.match((await stopped.open(last)).text, /"code":"account_suspended"/)
})

test('a connection with words that make no sense is 400', async () => {
  const server = shared
  const ann = await somebody()
  const connect = await call(server, 'GET /auth/codehost/connect?prompt=maybe', { as: ann })
  assert.deepEqual([connect.status, connect.body['code']], [400, 'validation_failed'])
  const back = await call(server, `GET /auth/codehost/callback?state=${'x'.repeat(201)}`)
  assert.deepEqual([back.status, back.body['code']], [400, 'validation_failed'])
})

test('a page of another site cannot begin a connection', async () => {
  const server = shared
  const ann = await somebody()
  const { status: code } = await new Browser(server, ann.cookie).open(connectPath(ann.name), {
    'sec-fetch-site': 'cross-site',
  })
  assert.equal(code, 403)
})

test('without a code host there is nothing to connect, and everything else says so', async () => {
  const server = await startTestServer({ env: { PUBLIC_URL: 'https://bots.example' } })
  const { key } = await makeOwner(server)
  const ask = (request: string, body?: unknown) =>
    call(server, request, { as: { key }, ...(body !== undefined && { body }) })
  const installations = await ask('GET /codehost/installations')
  assert.deepEqual(installations.body, { data: [], connected: false, installUrl: null })
  assert.equal((await ask('GET /codehost/installations/1/repos')).status, 404)
  const botId = (await ask('POST /bots', { name: 'x', type: 'custom' })).body['id']
  const linked = await ask('POST /codehost/connect-repo', { installationId: 1, repoId: 1, repoFullName: 'a/b', botId })
  assert.equal(linked.body['code'], 'codehost_not_connected')
  const browser = new Browser(server)
  assert.match((await browser.open(connectPath('x'), { 'x-api-key': key })).text, /"code":"codehost_not_configured"/)
  browser.jar.set('botberth_login_043a7187', 's')
  assert.match((await browser.open('/api/v1/auth/codehost/callback?state=s')).text, /"code":"codehost_not_configured"/)
})

test('installations and all pages of their repositories are those of the connected account', {
  timeout: 120_000,
}, async () => {
  const server = shared
  const [ann, bob] = [await somebody(), await somebody()]
  await manage(server, 'PUT /accounts/anns-org/members', { members: [ann.name] })
  const repo = await makeRepo(server, 'anns-org/first')
  await server.pool.query(
    `insert into sandbox_repositories (owner, name, is_private, default_branch, created_at, updated_at)
     select 'anns-org', 'r' || n, true, 'main', $1, $1 from generate_series(1, 349) n`,
    [server.clock.now()],
  )
  await manage(server, `PATCH /installations/${repo.installationId}`, { repositories: 'all' })
  const none = await call(server, 'GET /codehost/installations', { as: ann })
  assert.deepEqual([none.body['data'], none.body['connected']], [[], false])
  assert.match(String(none.body['installUrl']), /\/apps\/.+\/installations\/new$/)
  await connect(server, ann)
  const found = await call(server, 'GET /codehost/installations', { as: ann })
  assert.equal(found.body['connected'], true)
  const [installation, ...others] = data(found)
  assert.deepEqual(others, [])
  assert.deepEqual(
    [
      installation?.['id'],
      installation?.['repositorySelection'],
      (installation?.['account'] as { login: string } | undefined)?.login,
    ],
    [repo.installationId, 'all', 'anns-org'],
  )
  const repos = data(await call(server, `GET /codehost/installations/${repo.installationId}/repos`, { as: ann }))
  assert.equal(repos.length, 350)
  assert.equal(new Set(repos.map(({ id }) => id)).size, 350)
  const first = repos.find(({ id }) => id === repo.id)
  assert.deepEqual(
    [first?.['fullName'], first?.['private'], first?.['defaultBranch'], typeof first?.['pushedAt']],
    ['anns-org/first', true, 'main', 'string'],
  )
  await connect(server, bob)
  assert.deepEqual(data(await call(server, 'GET /codehost/installations', { as: bob })), [])
  const path = `GET /codehost/installations/${repo.installationId}/repos`
  assert.equal((await call(server, path, { as: bob })).status, 404)
})

test('a bot is linked to a repository that its owner may use, and the record shows it', async () => {
  const server = shared
  const ann = await somebody()
  const botId = await makeBot(server, ann)
  const repo = await makeRepo(server, `${ann.name}/app`)
  assert.equal((await link(server, ann, botId, repo)).body['code'], 'codehost_not_connected')
  await connect(server, ann)
  const linked = await link(server, ann, botId, { ...repo, fullName: `${ann.name.toUpperCase()}/App` })
  assert.deepEqual(
    [linked.status, linked.body],
    [
      200,
      {
        botId,
        installationId: repo.installationId,
        repoId: repo.id,
        repoFullName: `${ann.name}/app`,
        branch: 'main',
        connectedAt: server.clock.now().toISOString(),
      },
    ],
  )
  const shown = { installationId: repo.installationId, repoId: repo.id, fullName: `${ann.name}/app`, problem: null }
  assert.deepEqual((await call(server, `GET /bots/${botId}`, { as: ann })).body['repo'], shown)
  assert.deepEqual(data(await call(server, 'GET /bots', { as: ann }))[0]?.['repo'], shown)
  await call(server, `PATCH /bots/${botId}`, { as: ann, body: { gitBranch: 'release', autoDeployEnabled: true } })
  assert.equal((await link(server, ann, botId, repo)).body['branch'], 'release', 'once more changes nothing else')
  const upload = await call(server, `PUT /bots/${botId}/source`, {
    as: ann,
    headers: { 'content-type': 'application/gzip' },
  })
  assert.equal(upload.body['code'], 'invalid_state', 'its files come from the repository')
  await call(server, 'DELETE /auth/codehost/disconnect', { as: ann })
  const after = (await call(server, `GET /bots/${botId}`, { as: ann })).body
  assert.deepEqual([after['autoDeployEnabled'], after['repo']], [false, shown], 'pushes no longer deploy it')
  const ended = await call(server, `DELETE /bots/${botId}/repo`, { as: ann })
  assert.deepEqual([ended.status, ended.body], [200, { botId, disconnected: true }])
  assert.equal((await call(server, `DELETE /bots/${botId}/repo`, { as: ann })).status, 200)
  assert.equal((await call(server, `GET /bots/${botId}`, { as: ann })).body['repo'], null)
})

test('what is not the caller’s is not linked, whichever numbers the browser sends', async () => {
  const server = shared
  const [ann, bob] = [await somebody(), await somebody()]
  const [mine, foreign] = [await makeRepo(server, `${ann.name}/app`), await makeRepo(server, `${bob.name}/secret`)]
  const outside = (await manage(server, 'POST /repos', {
    fullName: `${ann.name}/other`,
    private: true,
    files: { a: '' },
  })) as {
    id: number
  }
  for (const person of [ann, bob]) await connect(server, person)
  const [botId, bobsBot] = [await makeBot(server, ann), await makeBot(server, bob)]
  const ask = (body: object) => call(server, 'POST /codehost/connect-repo', { as: ann, body: { botId, ...body } })
  const of = (repo: typeof mine) => ({
    installationId: repo.installationId,
    repoId: repo.id,
    repoFullName: repo.fullName,
  })
  const cases: [string, object][] = [
    ['a foreign installation and its repository', of(foreign)],
    ['a foreign installation with a repository of mine', { ...of(mine), installationId: foreign.installationId }],
    ['a repository of a foreign installation through mine', { ...of(foreign), installationId: mine.installationId }],
    [
      'a repository that the installation does not hold',
      { ...of(mine), repoId: outside.id, repoFullName: `${ann.name}/other` },
    ],
    ['a name of one and the number of another', { ...of(mine), repoFullName: `${ann.name}/other` }],
    ['the number of one and a name of another', { ...of(mine), repoId: outside.id }],
    ['an installation that there is not', { ...of(mine), installationId: 99_999_999 }],
    ['somebody else’s bot', { ...of(mine), botId: bobsBot }],
  ]
  for (const [what, body] of cases) {
    const answer = await ask(body)
    assert.deepEqual([answer.status, answer.body['code']], [404, 'not_found'], what)
  }
  for (const wrong of [
    { ...of(mine), repoId: '5' },
    { ...of(mine), repoId: 0 },
    { ...of(mine), installationId: 2 ** 53 },
    { ...of(mine), repoFullName: 'ann' },
    { ...of(mine), repoFullName: '../x/y' },
  ])
    assert.equal((await ask(wrong)).status, 400, JSON.stringify(wrong))
  await manage(server, `PATCH /repos/${ann.name}/app`, { fullName: `${ann.name}/renamed` })
  assert.equal((await ask(of(mine))).status, 404, 'the name that it had before')
  const links = await server.pool.query('select * from codehost_links where bot_id = $1', [botId])
  assert.deepEqual(links, [], 'nothing was linked')
})

test('a token that the code host no longer takes is no connection, and links nothing', async () => {
  const server = shared
  const ann = await somebody()
  const [botId, repo] = [await makeBot(server, ann), await makeRepo(server, `${ann.name}/app`)]
  const ways: [string, () => Promise<{ body: Record<string, unknown> }>, string][] = [
    ['link', () => link(server, ann, botId, repo), 'codehost_not_connected'],
    ['list', () => call(server, `GET /codehost/installations/${repo.installationId}/repos`, { as: ann }), 'not_found'],
  ]
  for (const [what, ask, code] of ways) {
    await connect(server, ann)
    await server.pool.query(`delete from sandbox_tokens where kind in ('user', 'refresh')`)
    assert.equal((await ask()).body['code'], code, what)
    assert.equal((await status(server, ann))['connected'], false, what)
  }
  await connect(server, ann)
  await server.pool.query(`delete from sandbox_tokens where kind in ('user', 'refresh')`)
  const listed = await call(server, 'GET /codehost/installations', { as: ann })
  assert.deepEqual([listed.status, listed.body['connected']], [200, false])
  await connect(server, ann)
  await server.pool.query(`delete from sandbox_tokens where kind in ('user', 'refresh')`)
  assert.equal((await status(server, ann))['connected'], true, 'it was asked a moment ago')
  server.clock.advance(60_000)
  assert.equal((await status(server, ann))['connected'], false)
  assert.deepEqual(await server.pool.query('select * from codehost_links where bot_id = $1', [botId]), [])
})

test('a token that ends is replaced first, once, however many ask at once on however many servers', async () => {
  const server = await startTestServer()
  const other = await startTestServer({ pool: server.pool, clock: server.clock, dataDir: server.app.config.dataDir })
  const ann = await signIn(server, 'ann')
  await makeRepo(server, 'ann/app')
  await connect(server, ann)
  const before = await server.pool.query<{ tokens: Buffer }>('select tokens from codehost_connections')
  server.clock.advance(8 * 60 * 60_000 - 30_000)
  const ask = (on: TestServer) => call(on, 'GET /codehost/installations', { as: ann })
  const all = await Promise.all([...Array(4).keys()].flatMap(() => [ask(server), ask(other)]))
  for (const answer of all)
    assert.deepEqual([answer.status, answer.body['connected'], data(answer).length], [200, true, 1])
  const after = await server.pool.query<{ tokens: Buffer; refresh_until: Date | null }>(
    'select * from codehost_connections',
  )
  assert(!after[0]?.tokens.equals(before[0]?.tokens ?? Buffer.alloc(0)))
  assert.equal(after[0]?.refresh_until, null)
  server.clock.advance(200 * 24 * 60 * 60_000)
  assert.equal((await ask(server)).body['connected'], false, 'the refresh token has ended too')
  assert.equal((await status(server, ann))['connected'], false)
})

test('new tokens that are lost on the way cost a connection, and not the deployments of pushes', async () => {
  for (const isLost of [true, false]) {
    const server = await startTestServer()
    const ann = await signIn(server, 'ann')
    const [botId, repo] = [await makeBot(server, ann, { autoDeployEnabled: true }), await makeRepo(server, 'ann/app')]
    await connect(server, ann)
    assert.equal((await link(server, ann, botId, repo)).status, 200)
    server.clock.advance(8 * 60 * 60_000 - 30_000)
    // The code host takes the refresh token; what it answers does not arrive.
    if (isLost) {
      await setFault(server, { kind: 'down', path: '/login/oauth/access_token' })
      assert.equal((await call(server, 'GET /codehost/installations', { as: ann })).status, 502)
      await setFault(server, undefined)
    }
    await server.pool.query(`delete from sandbox_tokens where kind in ('user', 'refresh')`)
    assert.equal((await link(server, ann, botId, repo)).body['code'], 'codehost_not_connected')
    assert.equal((await status(server, ann))['connected'], false, 'connect again')
    const bot = (await call(server, `GET /bots/${botId}`, { as: ann })).body
    assert.equal(bot['autoDeployEnabled'], isLost, isLost ? 'nobody has taken that back' : 'the rights were taken back')
  }
})
