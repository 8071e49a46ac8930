import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, suite, test } from 'node:test'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { callList, editProfile, listBot, newBotId } from '../../test/list.ts'
import { makeOwner, type Person, signIn } from '../../test/people.ts'
import { noteSecret } from '../../test/secrets.ts'
import { until } from '../../test/until.ts'

const dayMs = 86_400_000

const server = await startTestServer()
await makeOwner(server)
const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]

const register = (as: Person, body: object, headers = {}) =>
  callList(server, 'POST /registrations', { as, body, headers })
const verify = (as: Person, { body }: { body: Record<string, unknown> }, at: TestServer = server) =>
  callList(at, `POST /registrations/${String(body['id'])}/verify`, { as })

suite('registration', () => {
  test('goes from the code to the key: the text that was read is told, and the key is shown once', async () => {
    const botId = newBotId()
    const begun = await register(ann, { botId })
    assert.equal(begun.status, 201)
    const { id, verificationCode: code, expiresAt } = begun.body
    assert.equal(begun.headers.get('location'), `/list/api/registrations/${String(id)}`)
    assert.match(String(code), /^botberth-[a-z2-9]{12}$/)
    assert.equal(expiresAt, new Date(server.clock.now().getTime() + dayMs).toISOString())
    const unknown = await verify(ann, begun)
    assert.deepEqual([unknown.status, unknown.body['code'], unknown.body['aboutMe']], [409, 'code_not_found', null])
    await editProfile(server, botId, { name: 'Melody', description: 'Plays <b>music</b>' })
    const absent = await verify(ann, begun)
    assert.deepEqual(
      [absent.status, absent.body['code'], absent.body['aboutMe']],
      [409, 'code_not_found', 'Plays <b>music</b>'],
    )
    assert.equal((await callList(server, `GET /bots/${botId}`)).status, 404, 'nobody sees it before it is verified')
    await editProfile(server, botId, { description: `Plays music ${String(code)}.` })
    const verified = await verify(ann, begun)
    assert.equal(verified.status, 200)
    const { key, ...listing } = verified.body
    noteSecret(String(key))
    assert.match(String(key), /^svc_list_[0-9A-Za-z]{43}$/)
    assert.deepEqual(listing, {
      botId,
      name: 'Melody',
      avatarUrl: null,
      shortDescription: '',
      description: '',
      tags: [],
      inviteUrl: null,
      supportUrl: null,
      websiteUrl: null,
      owner: { name: 'ann', avatarUrl: null },
      serverCount: null,
      statsAt: null,
      votesThisMonth: 0,
      votesTotal: 0,
      isCertified: false,
      createdAt: server.clock.now().toISOString(),
    })
    assert.equal((await verify(ann, begun)).status, 404, 'it is done')
    const [mine] = data(await callList(server, 'GET /my/bots', { as: ann }))
    assert.deepEqual(mine?.['key'], {
      last4: String(key).slice(-4),
      createdAt: server.clock.now().toISOString(),
      lastUsedAt: null,
    })
    const again = await register(ann, { botId })
    assert.deepEqual([again.status, again.body['code']], [409, 'already_listed'])
    assert.match(String(again.body['detail']), /yours/)
    assert.equal((await register(bob, { botId })).body['code'], 'already_listed')
  })

  test('wants an id of 17 to 20 digits', async () => {
    for (const botId of ['', '1', 'x', 12345, '1'.repeat(16), '1'.repeat(21), ' 93000000000000001', null])
      assert.equal((await register(ann, { botId })).status, 400, String(botId))
    assert.equal((await register(ann, { botId: newBotId(), applicationId: 'x' })).status, 400)
  })

  test('a code expires after a day, and a new registration replaces the old one', async () => {
    const botId = newBotId()
    const begun = await register(ann, { botId })
    await editProfile(server, botId, { description: String(begun.body['verificationCode']) })
    server.clock.advance(dayMs)
    const late = await verify(ann, begun)
    assert.deepEqual([late.status, late.body['code']], [409, 'code_expired'])
    const anew = await register(ann, { botId })
    assert.notEqual(anew.body['verificationCode'], begun.body['verificationCode'])
    assert.equal((await verify(ann, begun)).status, 404)
    const waiting = data(await callList(server, 'GET /registrations', { as: ann }))
    assert.deepEqual(waiting, [anew.body])
    const one = await callList(server, `GET /registrations/${String(anew.body['id'])}`, { as: ann })
    assert.deepEqual(one.body, anew.body)
  })

  test('the same Idempotency-Key makes one', async () => {
    const headers = { 'idempotency-key': 'once' }
    const body = { botId: newBotId() }
    const [first, second] = [await register(bob, body, headers), await register(bob, body, headers)]
    assert.deepEqual(first.body, second.body)
    assert.equal((await register(bob, { botId: newBotId() }, headers)).status, 422)
  })

  test('of those who prove the same bot at once the first has it', async () => {
    const botId = newBotId()
    const [hers, his] = [await register(ann, { botId }), await register(bob, { botId })]
    const codes = [hers, his].map(({ body }) => String(body['verificationCode']))
    await editProfile(server, botId, { description: codes.join(' ') })
    const answers = await Promise.all([verify(ann, hers), verify(ann, hers), verify(ann, hers), verify(bob, his)])
    for (const { body } of answers) noteSecret(String(body['key']))
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    assert(answers.every(({ status }) => [200, 404, 409].includes(status)))
    const [{ count }] = (await server.pool.query<{ count: number }>(
      'select count(*)::integer as count from list_keys where bot_id = $1',
      [botId],
    )) as [{ count: number }]
    assert.equal(count, 1)
    assert.match(String((await verify(bob, his)).body['code']), /^(already_listed|not_found)$/)
  })

  test('twenty may wait, and thirty verifications a minute', async () => {
    const cara = await signIn(server, 'cara')
    const all = []
    for (let i = 0; i < 20; i++) all.push(await register(cara, { botId: newBotId() }))
    assert.deepEqual((await register(cara, { botId: newBotId() })).body['code'], 'limit_reached')
    const [first] = all
    assert(first)
    for (let i = 0; i < 30; i++) assert.equal((await verify(cara, first)).status, 409)
    assert.equal((await verify(cara, first)).status, 429)
    server.clock.advance(60_000)
    assert.equal((await verify(cara, first)).status, 409)
  })

  test('a hundred bots may be listed', async () => {
    const dora = await signIn(server, 'dora')
    const { botId } = await listBot(server, dora)
    await server.pool.query(
      `insert into listings (bot_id, application_id, user_id, name, words, created_at, updated_at)
       select id, id, $1, 'x', '', now(), now() from (select (500000000000000000 + n)::text as id from generate_series(1, 99) n) as b`,
      [dora.id],
    )
    const begun = await register(ann, { botId: newBotId() })
    await editProfile(server, String(begun.body['botId']), { description: String(begun.body['verificationCode']) })
    await server.pool.query('update registrations set user_id = $1 where id = $2', [dora.id, begun.body['id']])
    assert.equal((await verify(dora, begun)).body['code'], 'limit_reached')
    assert.equal((await register(dora, { botId: newBotId() })).body['code'], 'limit_reached')
    const given = await listBot(server, ann)
    const chatUserId = (await call(server, 'GET /me', { as: dora })).body['chatUserId']
    const refused = await callList(server, `POST /my/bots/${given.botId}/transfer`, { as: ann, body: { chatUserId } })
    assert.equal(refused.body['code'], 'limit_reached')
    assert.equal((await callList(server, `DELETE /my/bots/${botId}`, { as: dora })).status, 200)
  })
})

suite('bots whose application has another id', () => {
  // Of 2016, when the platform still gave users ids of their own.
  const [oldBot, oldApplication] = ['160000000000000001', '155000000000000001']

  test('an old bot is verified by the application that is named', async () => {
    const begun = await register(ann, { botId: oldBot, applicationId: oldApplication })
    await editProfile(server, oldApplication, { name: 'Veteran', description: String(begun.body['verificationCode']) })
    const { status, body } = await verify(ann, begun)
    noteSecret(String(body['key']))
    assert.deepEqual([status, body['botId'], body['name']], [200, oldBot, 'Veteran'])
    const botId = '160000000000000002'
    const second = await register(ann, { botId, applicationId: oldApplication })
    await editProfile(server, oldApplication, { description: String(second.body['verificationCode']), botId })
    assert.equal((await verify(ann, second)).body['code'], 'already_listed', 'an application is that of one bot')
  })

  test('nobody lists a bot by the profile of another application', async () => {
    const application = '155000000000000009'
    for (const botId of [newBotId(), '160000000000000009']) {
      await editProfile(server, botId, { name: 'Not yours' })
      const begun = await register(bob, { botId, applicationId: application })
      await editProfile(server, application, { description: String(begun.body['verificationCode']) })
      const { status, body } = await verify(bob, begun)
      assert.deepEqual([status, body['code']], [409, 'invalid_state'], botId)
    }
    await editProfile(server, application, { botId: '160000000000000011' })
    const begun = await register(bob, { botId: application })
    await editProfile(server, application, { description: String(begun.body['verificationCode']) })
    assert.equal((await verify(bob, begun)).body['code'], 'invalid_state', 'nor by its own id, if its bot has another')
  })
})

suite('the platform', () => {
  const answers: { current: (response: ServerResponse) => void } = { current: (response) => response.end() }
  const platform = createServer((_request, response) => answers.current(response)).listen(0, '127.0.0.1')
  after(() => {
    platform.closeAllConnections()
    platform.close()
  })

  const json = (status: number, body: unknown) => (response: ServerResponse) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

  test('its failures are told from our own and change nothing; what it says of a bot’s user counts', async () => {
    const { port } = platform.address() as AddressInfo
    const real = await startTestServer({
      pool: server.pool,
      clock: server.clock,
      env: { CHAT_CLIENT_ID: '1'.repeat(18), CHAT_CLIENT_SECRET: 's', CHAT_API_URL: `http://127.0.0.1:${port}` },
    })
    const [botId, applicationId] = [newBotId(), newBotId()]
    const begun = await register(ann, { botId, applicationId })
    const profile = { id: applicationId, name: 'X', icon: 'abc', description: String(begun.body['verificationCode']) }
    const ask = async (current: typeof answers.current) => {
      answers.current = current
      const { status, body } = await verify(ann, begun, real)
      noteSecret(String(body['key']))
      return status === 200 ? '200' : `${status} ${String(body['code'])}`
    }
    assert.equal(await ask(json(500, {})), '502 platform_failed')
    assert.equal(await ask(json(429, { retry_after: 1 })), '502 platform_failed')
    assert.equal(await ask(json(404, 'nothing here')), '502 platform_failed')
    assert.equal(await ask(json(200, [])), '502 platform_failed')
    assert.equal(await ask(json(200, { ...profile, id: botId })), '502 platform_failed', 'an answer for another id')
    assert.equal(
      await ask((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')),
      '502 platform_failed',
    )
    assert.equal(await ask((response) => response.destroy()), '502 platform_failed')
    assert.equal(await ask(json(404, { message: 'Unknown Application', code: 10002 })), '409 code_not_found')
    assert.equal(await ask(json(200, { ...profile, bot: { id: newBotId() } })), '409 invalid_state')
    assert.equal(await ask(json(200, profile)), '409 invalid_state', 'a new bot whose user it does not name')
    assert.equal(await ask(() => {}), '504 platform_timeout')
    assert.equal(await ask(json(200, { ...profile, bot: { id: botId } })), '200')
    const { body } = await callList(real, `GET /bots/${botId}`)
    assert.equal(body['avatarUrl'], `https://cdn.discordapp.com/app-icons/${applicationId}/abc.png`)
  })

  test('where there is none nothing is verified', async () => {
    const alone = await startTestServer({
      pool: server.pool,
      clock: server.clock,
      env: { PUBLIC_URL: 'https://bots.example' },
    })
    const begun = await register(ann, { botId: newBotId() })
    const headers = { authorization: `Bearer ${ann.token}` }
    const refused = await callList(alone, `POST /registrations/${String(begun.body['id'])}/verify`, { headers })
    assert.deepEqual([refused.status, refused.body['code']], [409, 'login_not_configured'])
  })
})

suite('my bots', () => {
  test('what is said of a bot is kept as it should be shown', async () => {
    const { botId } = await listBot(server, ann)
    const patch = (body: object) => callList(server, `PATCH /my/bots/${botId}`, { as: ann, body })
    const texts = {
      shortDescription: 'Plays music',
      description: '# Hi\n\n<script>alert(1)</script>',
      tags: ['Music', 'music', '음악', 'fun-stuff'],
      inviteUrl: 'https://chat.example/invite?x=1',
      supportUrl: 'HTTP://Example.com',
      websiteUrl: null,
      name: 'not mine to set',
    }
    const { status, body, headers } = await patch(texts)
    assert.equal(status, 200)
    assert.equal(headers.get('x-ignored-fields'), 'name')
    assert.deepEqual(
      [
        body['shortDescription'],
        body['description'],
        body['tags'],
        body['inviteUrl'],
        body['supportUrl'],
        body['websiteUrl'],
        body['name'],
      ],
      [
        'Plays music',
        texts.description,
        ['music', '음악', 'fun-stuff'],
        texts.inviteUrl,
        'http://example.com/',
        null,
        'Bot',
      ],
    )
    const cleared = await patch({ inviteUrl: null })
    assert.deepEqual([cleared.body['inviteUrl'], cleared.body['supportUrl']], [null, 'http://example.com/'])
    const wrong = [
      { inviteUrl: 'javascript:alert(1)' },
      { inviteUrl: 'https://user:secret@example.com/' },
      { websiteUrl: 'https://' },
      { supportUrl: 'x' },
      { shortDescription: 'x'.repeat(161) },
      { shortDescription: 'two\nlines' },
      { shortDescription: 'back\u202ewards' },
      { description: 'x'.repeat(20_001) },
      { description: 'a\u0000b' },
      { tags: ['a b'] },
      { tags: ['-a'] },
      { tags: [''] },
      { tags: ['x'.repeat(25)] },
      { tags: Array.from({ length: 9 }, (_, i) => `t${i}`) },
      { tags: 'music' },
    ]
    for (const body of wrong) assert.equal((await patch(body)).status, 400, JSON.stringify(body).slice(0, 60))
  })

  test('a new key ends the old one at once, on all servers', async () => {
    const { botId, key } = await listBot(server, ann)
    const second = await startTestServer({ pool: server.pool, clock: server.clock })
    const ask = async (at: TestServer, key: string) =>
      (await callList(at, 'POST /bots/stats', { key, body: { server_count: 1 } })).status
    assert.deepEqual([await ask(server, key), await ask(second, key)], [200, 200])
    const issued = await callList(server, `POST /my/bots/${botId}/key`, { as: ann })
    noteSecret(String(issued.body['key']))
    assert.equal(await ask(server, key), 401)
    assert.equal(await ask(server, String(issued.body['key'])), 200)
    assert.equal(issued.body['last4'], String(issued.body['key']).slice(-4))
    await until('the other server to hear of it', async () => (await ask(second, key)) === 401)
    await until('the use of the key to be noted', async () => {
      const mine = data(await callList(server, 'GET /my/bots', { as: ann })).find((bot) => bot['botId'] === botId)
      assert(mine)
      const { lastUsedAt } = mine['key'] as { lastUsedAt: string | null }
      return lastUsedAt === server.clock.now().toISOString()
    })
    const kinds = data(await call(server, 'GET /me/audit', { as: ann })).map((event) => event['kind'])
    assert.deepEqual(kinds.slice(0, 3), ['listing_key_issued', 'listing_key_issued', 'listing_created'])
  })

  test('a transfer gives it to somebody else, without the key and the webhook of the old owner', async () => {
    const { botId, key } = await listBot(server, ann)
    const chatUserId = (await call(server, 'GET /me', { as: bob })).body['chatUserId']
    const transfer = (as: Person, to: unknown) =>
      callList(server, `POST /my/bots/${botId}/transfer`, { as, body: { chatUserId: to } })
    const hook = await callList(server, `PUT /my/bots/${botId}/vote-webhook`, {
      as: ann,
      body: { url: 'https://example.com/' },
    })
    noteSecret(String(hook.body['secret']))
    assert.equal((await transfer(ann, '999999999999999999')).body['code'], 'invalid_state')
    const hers = (await call(server, 'GET /me', { as: ann })).body['chatUserId']
    assert.equal((await transfer(ann, hers)).body['code'], 'invalid_state')
    assert.deepEqual((await transfer(ann, chatUserId)).body, { botId, owner: { name: 'bob', avatarUrl: null } })
    assert.equal((await transfer(ann, chatUserId)).status, 404)
    assert.equal((await callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })).status, 401)
    const his = data(await callList(server, 'GET /my/bots', { as: bob })).find((bot) => bot['botId'] === botId)
    assert.equal(his?.['key'], null)
    assert.equal((await callList(server, `GET /my/bots/${botId}/vote-webhook`, { as: bob })).status, 404)
    const issued = await callList(server, `POST /my/bots/${botId}/key`, { as: bob })
    noteSecret(String(issued.body['key']))
    assert.equal(issued.status, 200)
  })

  test('two people who give each other a bot at once both get it', async () => {
    const ids = await Promise.all(
      [ann, bob].map(async (as) => (await call(server, 'GET /me', { as })).body['chatUserId']),
    )
    for (let round = 0; round < 5; round++) {
      const [hers, his] = [await listBot(server, ann), await listBot(server, bob)]
      const give = (as: Person, { botId }: { botId: string }, chatUserId: unknown) =>
        callList(server, `POST /my/bots/${botId}/transfer`, { as, body: { chatUserId } })
      const answers = await Promise.all([give(ann, hers, ids[1]), give(bob, his, ids[0])])
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200],
      )
    }
  })

  test('a deleted one is gone with its key, and can be registered again', async () => {
    const { botId, key } = await listBot(server, ann)
    assert.deepEqual((await callList(server, `DELETE /my/bots/${botId}`, { as: ann })).body, {
      id: botId,
      deleted: true,
    })
    assert.equal((await callList(server, `GET /bots/${botId}`)).status, 404)
    assert.equal((await callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })).status, 401)
    await listBot(server, bob, { botId })
  })

  test('who leaves takes their listings along; their votes stay counted, and their one vote a day', async () => {
    const eve = await signIn(server, 'eve')
    const { botId } = await listBot(server, eve)
    const other = await listBot(server, ann)
    await callList(server, `POST /bots/${other.botId}/vote`, { as: eve })
    server.clock.advance(dayMs)
    await callList(server, `POST /bots/${other.botId}/vote`, { as: eve })
    const exported = (await call(server, 'GET /me/export', { as: eve })).body
    assert.equal((exported['listings'] as unknown[]).length, 1)
    assert.equal((exported['votes'] as unknown[]).length, 2)
    assert.equal((await call(server, 'DELETE /me', { as: eve })).status, 200)
    assert.equal((await callList(server, `GET /bots/${botId}`)).status, 404)
    const votes = await server.pool.query('select 1 from votes where bot_id = $1', [other.botId])
    assert.equal(votes.length, 1, 'only that of today is known')
    const back = await signIn(server, 'eve')
    assert.equal((await callList(server, `POST /bots/${other.botId}/vote`, { as: back })).body['code'], 'already_voted')
    assert.equal((await callList(server, `GET /bots/${other.botId}`)).body['votesTotal'], 2)
  })
})
