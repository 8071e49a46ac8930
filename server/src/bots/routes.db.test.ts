import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { call, data, race } from '../../test/call.ts'
import { makeOwner, type Person, signIn } from '../../test/people.ts'

const day = 86_400_000

async function create(server: TestServer, as: Person, body: unknown) {
  return call(server, 'POST /bots', { as, body })
}

test('a bot is made with a name and a type, and answers with everything the contract names', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const longest = await create(server, ann, { name: `  ${'🤖'.repeat(128)}  `, type: 'custom' })
  assert.deepEqual([longest.status, longest.body['name']], [201, '🤖'.repeat(128)])
  const { status, body, headers } = await create(server, ann, { name: '  My bot ', type: 'custom' })
  assert.equal(status, 201)
  assert.match(String(body['id']), /^bot_[0-9a-z]{26}$/)
  assert.match(String(body['identifier']), /^[a-z2-9]{8}$/)
  assert.equal(headers.get('location'), `/api/v1/bots/${String(body['id'])}`)
  const now = server.clock.now()
  assert.deepEqual(
    { ...body, id: '', identifier: '', server: '' },
    {
      id: '',
      name: 'My bot',
      type: 'custom',
      language: null,
      status: 'new',
      identifier: '',
      gitUrl: null,
      gitBranch: null,
      autoDeployEnabled: false,
      templateId: null,
      repo: null,
      server: '',
      lastDeployment: null,
      limits: { memoryMb: 512, cpus: 0.5, diskMb: 1024 },
      startCommand: null,
      buildCommand: null,
      backups: { daily: false, keep: 3 },
      expiresAt: new Date(now.getTime() + 7 * day).toISOString(),
      createdAt: now.toISOString(),
      updatedAt: now.toISOString(),
    },
  )
  assert.deepEqual(body['server'], { identifier: body['identifier'], state: 'offline', restartAt: null })
  assert.deepEqual((await call(server, `GET /bots/${String(body['id'])}`, { as: ann })).body, body)
})

test('fields that a type does not use are kept and answered', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const sent = {
    name: 'x',
    type: 'custom',
    language: 'BrainF***',
    gitUrl: 'https://host.example/a/b',
    gitBranch: 'main',
    autoDeployEnabled: true,
  }
  const { status, body } = await create(server, ann, sent)
  assert.equal(status, 201)
  for (const [name, value] of Object.entries(sent)) assert.equal(body[name], value, name)
})

test('wrong bodies name what is wrong', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const pointers = async (body: unknown) => {
    const answer = await create(server, ann, body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    return (answer.body['errors'] as { pointer: string }[]).map(({ pointer }) => pointer)
  }
  assert.deepEqual(await pointers({}), ['/name', '/type'])
  assert.deepEqual(await pointers({ name: 'x', type: 'docker' }), ['/type'])
  assert.deepEqual(await pointers({ name: ' ', type: 'custom' }), ['/name'])
  assert.deepEqual(await pointers({ name: `\u00a0${'x'.repeat(129)} `, type: 'custom' }), ['/name'])
  assert.deepEqual(await pointers({ name: 'x', type: 'git' }), ['/gitUrl'])
  assert.deepEqual(await pointers({ name: 'x', type: 'git', gitUrl: 'file:///etc' }), ['/gitUrl'])
  assert.deepEqual(await pointers({ name: 'x', type: 'git', gitUrl: '--upload-pack=id', gitBranch: '-x' }), [
    '/gitUrl',
    '/gitBranch',
  ])
  assert.deepEqual(await pointers({ name: 'x', type: 'custom', language: '' }), ['/language'])
  assert.deepEqual(await pointers({ name: 'x', type: 'custom', autoDeployEnabled: 'yes' }), ['/autoDeployEnabled'])
  assert.deepEqual(await pointers({ name: 'x', type: 'marketplace', templateId: 'nonsense' }), ['/templateId'])
})

test('a marketplace bot starts from the template that is named, else the first of its language, else the first of all', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const template = async (more: object) =>
    (await create(server, ann, { name: 'x', type: 'marketplace', ...more })).body['templateId']
  assert.equal(await template({ templateId: 'discord-py' }), 'discord-py')
  assert.equal(await template({ language: 'PY' }), 'heartbeat-python')
  assert.equal(await template({ language: 'node.js' }), 'heartbeat-javascript')
  assert.equal(await template({ language: 'cobol' }), 'heartbeat-javascript')
  assert.equal(await template({}), 'heartbeat-javascript')
})

test('the list has the caller’s bots and nobody else’s, newest first', async () => {
  const server = await startTestServer()
  const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
  for (const name of ['one', 'two']) await create(server, ann, { name, type: 'custom' })
  await create(server, bob, { name: 'his', type: 'custom' })
  assert.deepEqual(
    data(await call(server, 'GET /bots', { as: ann })).map(({ name }) => name),
    ['two', 'one'],
  )
})

test('a bot is changed, within the limits of this server', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const { id } = (await create(server, ann, { name: 'x', type: 'custom' })).body as { id: string }
  const patch = (body: unknown) => call(server, `PATCH /bots/${id}`, { as: ann, body })
  server.clock.advance(1_000)
  const changed = await patch({
    name: 'y',
    autoDeployEnabled: true,
    limits: { memoryMb: 2048, cpus: 1.5 },
    backups: { daily: true },
    startCommand: 'node x.js',
  })
  assert.equal(changed.status, 200)
  assert.deepEqual(
    [changed.body['name'], changed.body['autoDeployEnabled'], changed.body['startCommand']],
    ['y', true, 'node x.js'],
  )
  assert.deepEqual(changed.body['limits'], { memoryMb: 2048, cpus: 1.5, diskMb: 1024 })
  assert.deepEqual(changed.body['backups'], { daily: true, keep: 3 })
  assert.equal(changed.body['updatedAt'], server.clock.now().toISOString())
  for (const wrong of [
    { limits: { memoryMb: 2049 } },
    { limits: { cpus: 2.1 } },
    { limits: { diskMb: 0 } },
    { gitBranch: '..' },
    { name: '' },
    { backups: { keep: 11 } },
    { startCommand: 'a\nb' },
  ]) {
    assert.equal((await patch(wrong)).status, 400, JSON.stringify(wrong))
  }
  const ignored = await patch({ type: 'git', id: 'bot_x' })
  assert.deepEqual(
    [ignored.status, ignored.headers.get('x-ignored-fields'), ignored.body['type']],
    [200, 'type, id', 'custom'],
  )
})

test('renewing adds 7 days to the later of now and the present end; an expired bot comes back', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const { id } = (await create(server, ann, { name: 'x', type: 'custom' })).body as { id: string }
  const madeAt = server.clock.now().getTime()
  const renew = () => call(server, `POST /bots/${id}/renew`, { as: ann })
  assert.equal((await renew()).body['expiresAt'], new Date(madeAt + 14 * day).toISOString())
  server.clock.advance(14 * day - 1)
  assert.equal((await call(server, `GET /bots/${id}`, { as: ann })).body['status'], 'new')
  server.clock.advance(1)
  const headers = { 'x-api-key': ann.key }
  assert.equal((await call(server, `GET /bots/${id}`, { headers })).body['status'], 'expired')
  server.clock.advance(3 * day)
  const renewed = await renew()
  assert.deepEqual(
    [renewed.body['status'], renewed.body['expiresAt']],
    ['new', new Date(madeAt + 24 * day).toISOString()],
  )
  const both = await Promise.all([renew(), renew()])
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  )
  assert.equal(
    (await call(server, `GET /bots/${id}`, { as: ann })).body['expiresAt'],
    new Date(madeAt + 38 * day).toISOString(),
  )
})

test('a deleted bot is gone', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const { id } = (await create(server, ann, { name: 'x', type: 'custom' })).body as { id: string }
  assert.deepEqual((await call(server, `DELETE /bots/${id}`, { as: ann })).body, { id, deleted: true })
  for (const request of [`GET /bots/${id}`, `DELETE /bots/${id}`, `POST /bots/${id}/renew`])
    assert.equal((await call(server, request, { as: ann })).status, 404)
})

test('100 parallel creations at one below the limit: exactly one succeeds; the owner has no limit', async () => {
  const server = await startTestServer({ env: { BOTS_PER_USER: '3' } })
  const owner = await makeOwner(server)
  const ann = await signIn(server, 'ann')
  for (let i = 0; i < 2; i++) await create(server, ann, { name: 'x', type: 'custom' })
  const answers = await race(100, () => create(server, ann, { name: 'race', type: 'custom' }))
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  assert(answers.every(({ status, body }) => status === 201 || body['code'] === 'limit_reached'))
  for (let i = 0; i < 4; i++)
    assert.equal((await call(server, 'POST /bots', { as: owner, body: { name: 'x', type: 'custom' } })).status, 201)
})

test('the same Idempotency-Key makes one bot and repeats its answer', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const ask = () =>
    call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' }, headers: { 'idempotency-key': 'one' } })
  const answers = await Promise.all(Array.from({ length: 8 }, ask))
  assert(answers.every(({ status }) => status === 201))
  assert.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1)
  assert.equal(new Set(answers.map(({ headers }) => headers.get('location'))).size, 1)
  assert.equal(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true').length, 7)
  assert.equal(data(await call(server, 'GET /bots', { as: ann })).length, 1)
  const other = await call(server, 'POST /bots', {
    as: ann,
    body: { name: 'y', type: 'custom' },
    headers: { 'idempotency-key': 'one' },
  })
  assert.deepEqual([other.status, other.body['code']], [422, 'idempotency_key_reused'])
})

test('languages are listed with their spellings', async () => {
  const server = await startTestServer()
  const listed = data(await call(server, 'GET /languages', { as: await signIn(server, 'ann') }))
  assert(listed.find(({ id }) => id === 'javascript'))
  const spellings = listed.flatMap(({ spellings }) => spellings as string[])
  for (const spelling of ['js', 'node.js', 'ts', 'py', 'golang', 'kotlin', 'rust', 'ruby', 'php', 'c#', 'deno', 'bun'])
    assert(spellings.includes(spelling), spelling)
  assert.equal(new Set(spellings).size, spellings.length)
})

test('the operator sees everybody’s bots, page by page', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
  for (const person of [ann, bob, ann]) await create(server, person, { name: `of ${person.name}`, type: 'custom' })
  const first = await call(server, 'GET /operator/bots?limit=2', { as: owner })
  assert.deepEqual([first.body['total'], first.body['totalPages'], first.body['limit']], [3, 2, 2])
  assert.deepEqual(
    data(first).map((bot) => (bot['owner'] as { name: string }).name),
    ['ann', 'bob'],
  )
  assert.deepEqual(data(await call(server, 'GET /operator/bots?limit=2&page=3', { as: owner })), [])
  assert.equal((await call(server, 'GET /operator/bots?limit=101', { as: owner })).body['limit'], 100)
  for (const query of ['limit=1000000000000000', 'page=1000000001', 'page=9999999999999999999']) {
    assert.equal((await call(server, `GET /operator/bots?${query}`, { as: owner })).status, 200, query)
  }
  for (const query of ['page=0', 'limit=0', 'page=-1', 'page=1.5', 'page=abc', 'page=1&page=2']) {
    assert.equal((await call(server, `GET /operator/bots?${query}`, { as: owner })).status, 400, query)
  }
})

test('a deploy key is made once, and only its public half is ever shown', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const { id } = (await create(server, ann, { name: 'x', type: 'git', gitUrl: 'git@host.example:a/b' })).body as {
    id: string
  }
  const ask = () => call(server, `POST /bots/${id}/deploy-key`, { as: ann })
  const [one, two] = await Promise.all([ask(), ask()])
  assert.equal(one.status, 200)
  assert.match(String(one.body['publicKey']), /^ssh-ed25519 \S+ botberth bot_/)
  assert.deepEqual(one.body, two.body, 'of two at once one wins')
  assert.deepEqual(one.body['hostKeys'], [])
  const rows = await server.pool.query<{ deploy_key: Buffer }>('select deploy_key from bots')
  assert(!rows[0]?.deploy_key.toString('latin1').includes('PRIVATE KEY'))
})
