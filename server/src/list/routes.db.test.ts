import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { callList, listBot, newBotId } from '../../test/list.ts'
import { makeOwner, signIn } from '../../test/people.ts'
import { tx } from '../db/tx.ts'
import { insertReport } from './reports.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const server = await startTestServer()
const owner = await makeOwner(server)
const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
const ownerLink = await fetch(`${server.url}/auth/owner?code=${owner.linkCode}`, { redirect: 'manual' })
const ownerCookie = ownerLink.headers.getSetCookie()[0]?.split(';')[0] ?? ''
// The clock is moved by months here.
await server.pool.query("update sessions set expires_at = '2100-01-01'")
const chatIdOf = async (person: { key: string }) =>
  String((await call(server, 'GET /me', { as: person })).body['chatUserId'])

suite('POST /bots/stats', () => {
  test('takes the count, answers both fields, and everybody sees it', async () => {
    const { botId, key } = await listBot(server, ann)
    const before = await callList(server, `GET /bots/${botId}`)
    assert.deepEqual(
      [before.body['serverCount'], before.body['statsAt'], before.body['isCertified']],
      [null, null, false],
    )
    const told = await callList(server, 'POST /bots/stats', { key, body: { server_count: 42 } })
    assert.equal(told.status, 200)
    assert.deepEqual(told.body, { message: 'Statistics updated', isCertified: true })
    const after = await callList(server, `GET /bots/${botId}`)
    assert.deepEqual([after.body['serverCount'], after.body['statsAt']], [42, server.clock.now().toISOString()])
  })

  test('takes 0 to 1,000,000,000 and nothing else', async () => {
    const { key } = await listBot(server, ann)
    const ask = async (server_count: unknown) =>
      (await callList(server, 'POST /bots/stats', { key, body: { server_count } })).status
    for (const count of [0, 1, 1_000_000_000]) assert.equal(await ask(count), 200, String(count))
    for (const count of [-1, 1.5, 1_000_000_001, '5', null, [5], {}, true, undefined])
      assert.equal(await ask(count), 400, JSON.stringify(count))
  })

  test('takes its key in X-API-Key, and in Authorization, bare or as a bearer’s', async () => {
    const { key } = await listBot(server, ann)
    const ask = async (headers: Record<string, string>) =>
      (await callList(server, 'POST /bots/stats', { headers, body: { server_count: 1 } })).status
    for (const headers of [{ 'X-API-Key': key }, { authorization: key }, { authorization: `Bearer ${key}` }])
      assert.equal(await ask(headers), 200, Object.keys(headers)[0])
    assert.equal(await ask({ 'x-api-key': `${key}x`, authorization: key }), 200, 'one that is valid suffices')
    for (const headers of [
      {},
      { 'x-api-key': '' },
      { 'x-api-key': `${key.slice(0, -1)}~` },
      { 'x-api-key': ann.key },
      { authorization: `Bearer ${ann.token}` },
      { cookie: ann.cookie },
      { authorization: `Basic ${key}` },
    ])
      assert.equal(await ask(headers), 401, JSON.stringify(headers))
  })

  test('its key opens nothing of the hosting API', async () => {
    const { key } = await listBot(server, ann)
    for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }, { authorization: key }])
      assert.equal((await call(server, 'GET /me', { headers: headers as Record<string, string> })).status, 401)
  })

  test('a bucket of 120 empties, says so, and heals by one every 30 seconds', async () => {
    const { key } = await listBot(server, ann)
    const tell = () => callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })
    const first = await tell()
    assert.equal(first.headers.get('x-ratelimit-limit'), '120')
    assert.equal(first.headers.get('x-ratelimit-remaining'), '119')
    const answers = await Promise.all(Array.from({ length: 130 }, tell))
    assert.equal(answers.filter(({ status }) => status === 200).length, 119)
    const refused = await tell()
    assert.deepEqual([refused.status, refused.body['code']], [429, 'rate_limited'])
    assert.equal(refused.headers.get('retry-after'), '30')
    assert.equal(refused.headers.get('x-ratelimit-remaining'), '0')
    server.clock.advance(-5000)
    assert.equal((await tell()).status, 429, 'on a server whose clock is a little behind')
    server.clock.advance(5000 + 29_999)
    assert.equal((await tell()).status, 429)
    server.clock.advance(1)
    assert.deepEqual([(await tell()).status, (await tell()).status], [200, 429])
    server.clock.advance(hourMs)
    assert.equal((await tell()).headers.get('x-ratelimit-remaining'), '119')
    const other = await listBot(server, ann)
    assert.equal(
      (await callList(server, 'POST /bots/stats', { key: other.key, body: { server_count: 1 } })).status,
      200,
    )
  })

  test('a clock that was set back empties no bucket', async () => {
    const { key } = await listBot(server, ann)
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })
    server.clock.advance(-3 * hourMs)
    const told = await callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })
    assert.deepEqual([told.status, told.headers.get('x-ratelimit-remaining')], [200, '119'])
    server.clock.advance(3 * hourMs)
  })
})

suite('certification', () => {
  const outside = { 'x-forwarded-for': '203.0.113.7' }
  const tell = (key: string, headers = {}) =>
    callList(server, 'POST /bots/stats', { key, body: { server_count: 7 }, headers }).then(
      ({ body }) => body['isCertified'],
    )
  const isCertified = async (botId: string) => {
    const [one, found, mine] = await Promise.all([
      callList(server, `GET /bots/${botId}`),
      callList(server, `GET /bots?certified=true&limit=100`),
      callList(server, 'GET /my/bots', { as: bob }),
    ])
    const own = data(mine).find((bot) => bot['botId'] === botId)
    const answers = [one.body['isCertified'], data(found).some((bot) => bot['botId'] === botId), own?.['isCertified']]
    assert.equal(new Set(answers).size, 1, JSON.stringify(answers))
    return answers[0]
  }

  test('ends at the very moment when three days have passed without an update', async () => {
    const { botId, key } = await listBot(server, bob)
    assert.equal(await isCertified(botId), false)
    assert.equal(await tell(key), true)
    assert.equal(await isCertified(botId), true)
    server.clock.advance(3 * dayMs - 1)
    assert.equal(await isCertified(botId), true)
    server.clock.advance(1)
    assert.equal(await isCertified(botId), false)
    assert.equal(await tell(key, outside), false, 'from outside it does not come back')
    assert.equal(await isCertified(botId), false)
    assert.equal(await tell(key), true)
  })

  test('any update keeps it, and only hosting gives it', async () => {
    const { botId, key } = await listBot(server, bob)
    assert.equal(await tell(key, outside), false)
    assert.equal(await tell(key), true)
    server.clock.advance(2 * dayMs)
    assert.equal(await tell(key, outside), true)
    server.clock.advance(2 * dayMs)
    assert.equal(await isCertified(botId), true)
    server.clock.advance(dayMs)
    assert.equal(await isCertified(botId), false)
  })

  test('nothing that a sender writes into its headers gives it', async () => {
    const strict = await startTestServer({ env: { HOSTING_IPS: '10.1.0.0/16' } })
    const { key } = await listBot(strict, await signIn(strict, 'ann'))
    const ask = async (at: typeof strict, given: string, headers: Record<string, string>) =>
      (await callList(at, 'POST /bots/stats', { key: given, body: { server_count: 1 }, headers })).body['isCertified']
    for (const header of [
      'x-forwarded-for',
      'x-real-ip',
      'forwarded',
      'cf-connecting-ip',
      'true-client-ip',
      'x-client-ip',
    ])
      assert.equal(
        await ask(strict, key, { [header]: header === 'forwarded' ? 'for=10.1.0.1' : '10.1.0.1' }),
        false,
        header,
      )
    const behind = await startTestServer({
      env: { HOSTING_IPS: '10.1.0.0/16', TRUST_PROXY: '127.0.0.1' },
      pool: strict.pool,
    })
    assert.equal(await ask(behind, key, { 'x-forwarded-for': '10.1.0.1, 203.0.113.9' }), false, 'the rightmost counts')
    assert.equal(await ask(behind, key, {}), false)
    assert.equal(await ask(behind, key, { 'x-forwarded-for': '203.0.113.9, 10.1.2.3' }), true)
  })

  test('a spoofed address is no new bucket', async () => {
    const { key } = await listBot(server, ann)
    const tell = (address: number) =>
      callList(server, 'POST /bots/stats', {
        key,
        body: { server_count: 1 },
        headers: { 'x-forwarded-for': `10.0.0.${address}` },
      })
    const answers = await Promise.all(Array.from({ length: 125 }, (_, index) => tell(index)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 120)
  })

  test('what comes through the door of hosted bots certifies, wherever the server listens', async () => {
    const strict = await startTestServer({
      env: { PUBLIC_URL: 'https://bots.example', HOSTING_IPS: '10.1.0.0/16' },
      pool: server.pool,
    })
    const port = await strict.listening.openDoor({ host: '127.0.0.1', port: 0 })
    const { key } = await listBot(server, ann)
    const ask = async (url: string) =>
      (
        await callList({ url }, 'POST /bots/stats', {
          key,
          body: { server_count: 1 },
          headers: { 'x-forwarded-for': '203.0.113.9' },
        })
      ).body['isCertified']
    assert.equal(await ask(strict.url), false)
    assert.equal(await ask(`http://127.0.0.1:${port}`), true)
  })
})

suite('votes', () => {
  const vote = (botId: string, as = bob) => callList(server, `POST /bots/${botId}/vote`, { as })
  const check = (key: string, userId: string) => callList(server, `GET /bots/check-vote?user_id=${userId}`, { key })

  test('one counts for a person, a bot and a UTC day, and the owner can ask for it', async () => {
    const { botId, key } = await listBot(server, ann)
    const bobId = await chatIdOf(bob)
    assert.deepEqual((await check(key, bobId)).body, { voted: false, votedAt: null })
    const voted = await vote(botId)
    const at = server.clock.now()
    const midnight = new Date(Math.ceil(at.getTime() / dayMs) * dayMs).toISOString()
    assert.deepEqual(
      [voted.status, voted.body],
      [200, { voted: true, votedAt: at.toISOString(), nextVoteAt: midnight }],
    )
    assert.deepEqual((await check(key, bobId)).body, { voted: true, votedAt: at.toISOString() })
    assert.deepEqual((await callList(server, `GET /bots/check?userId=${bobId}`, { key })).body, { voted: 1 })
    assert.deepEqual((await callList(server, `GET /bots/check?userId=1`, { key })).body, { voted: 0 })
    const again = await vote(botId)
    assert.deepEqual([again.status, again.body['code'], again.body['nextVoteAt']], [409, 'already_voted', midnight])
    const other = await listBot(server, ann)
    assert.equal((await check(other.key, bobId)).body['voted'], false, 'a key tells of its own bot only')
    server.clock.advance(Date.parse(midnight) - at.getTime() - 1)
    assert.equal((await vote(botId)).status, 409)
    server.clock.advance(1)
    assert.deepEqual((await check(key, bobId)).body, { voted: false, votedAt: null })
    assert.equal((await vote(botId)).status, 200)
    const { body } = await callList(server, `GET /bots/${botId}`)
    assert.deepEqual([body['votesThisMonth'], body['votesTotal']], [2, 2])
  })

  test('of 20 that race one counts', async () => {
    const { botId } = await listBot(server, ann)
    const second = await startTestServer({ pool: server.pool, clock: server.clock })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        callList(index % 2 ? server : second, `POST /bots/${botId}/vote`, { as: bob }),
      ),
    )
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, ...Array<number>(19).fill(409)],
    )
    const { body } = await callList(server, `GET /bots/${botId}`)
    assert.deepEqual([body['votesThisMonth'], body['votesTotal']], [1, 1])
    const days = await callList(server, `GET /bots/${botId}/history`)
    assert.deepEqual(data(days), [{ day: server.clock.now().toISOString().slice(0, 10), votes: 1, serverCount: null }])
  })

  test('votes that the database gave up for a deadlock are counted all the same', async () => {
    const { botId } = await listBot(server, ann)
    // Raised once: sequences are not rolled back.
    await server.pool.query('create sequence deadlocks')
    await server.pool.query(`create function deadlock() returns trigger language plpgsql as $$ begin
      if nextval('deadlocks') = 1 then raise 'deadlock detected' using errcode = '40P01'; end if; return new; end $$`)
    await server.pool.query('create trigger deadlock before insert on votes for each row execute function deadlock()')
    assert.equal((await vote(botId)).status, 200)
    await server.pool.query("select setval('deadlocks', 1, false)")
    assert.equal((await vote(botId, ann)).status, 200)
    await server.pool.query('drop trigger deadlock on votes')
    assert.equal((await callList(server, `GET /bots/${botId}`)).body['votesTotal'], 2)
  })

  test('a new month begins at nothing', async () => {
    const { botId } = await listBot(server, ann)
    await vote(botId)
    server.clock.advance(31 * dayMs)
    const then = await callList(server, `GET /bots/${botId}`)
    assert.deepEqual([then.body['votesThisMonth'], then.body['votesTotal']], [0, 1])
    await vote(botId)
    const now = await callList(server, `GET /bots/${botId}`)
    assert.deepEqual([now.body['votesThisMonth'], now.body['votesTotal']], [1, 2])
  })

  test('nobody votes for what is not there, nor without an id that bots know', async () => {
    assert.equal((await vote(newBotId())).status, 404)
    assert.equal((await vote('x')).status, 404)
    const { botId } = await listBot(server, ann)
    assert.equal(
      (await callList(server, `POST /bots/${botId}/vote`, { headers: { 'x-api-key': bob.key } })).status,
      401,
    )
    const refused = await callList(server, `POST /bots/${botId}/vote`, { as: { cookie: ownerCookie } })
    assert.deepEqual([refused.status, refused.body['code']], [409, 'invalid_state'])
  })

  test('check-vote wants one user_id that is not empty', async () => {
    const { key } = await listBot(server, ann)
    for (const query of ['', '?user_id=', '?user_id=a&user_id=b', '?userId=1'])
      assert.equal((await callList(server, `GET /bots/check-vote${query}`, { key })).status, 400, query)
    for (const id of ['nobody', '1', '%F0%9F%A4%96', 'x'.repeat(4000)])
      assert.deepEqual((await check(key, id)).body, { voted: false, votedAt: null }, id)
    assert.equal((await callList(server, 'GET /bots/check?userId=', { key })).status, 400)
  })
})

suite('the aliases for other lists', () => {
  test('POST /bots/{botId}/stats is for the bot of the key', async () => {
    const { botId, key } = await listBot(server, ann)
    const other = await listBot(server, bob)
    const ask = async (id: string) =>
      (await callList(server, `POST /bots/${id}/stats`, { key, body: { server_count: 9 } })).status
    assert.equal(await ask(botId), 200)
    assert.equal(await ask(other.botId), 404)
    assert.equal(await ask('stats'), 404)
    assert.equal((await callList(server, `GET /bots/${other.botId}`)).body['serverCount'], null)
  })
})

suite('reports and the operator', () => {
  test('anybody can report, within limits; the owner sees it, hides the bot and shows it again', async () => {
    const { botId, key } = await listBot(server, ann, { name: 'Shady' })
    const report = (as?: typeof bob) =>
      callList(server, `POST /bots/${botId}/reports`, {
        ...(as && { as }),
        body: { reason: ' It steals <b>tokens</b> ' },
      })
    const made = await report(bob)
    assert.equal(made.status, 201)
    assert.equal((await report()).status, 201)
    const reports = data(await call(server, 'GET /operator/reports', { as: owner }))
    assert.deepEqual(
      reports.map(({ botId, botName, reason, reporter, isHidden }) => ({ botId, botName, reason, reporter, isHidden })),
      [
        { botId, botName: 'Shady', reason: 'It steals <b>tokens</b>', reporter: null, isHidden: false },
        {
          botId,
          botName: 'Shady',
          reason: 'It steals <b>tokens</b>',
          reporter: { id: bob.id, name: 'bob' },
          isHidden: false,
        },
      ],
    )
    const hide = (hidden: boolean) => call(server, `PATCH /operator/listings/${botId}`, { as: owner, body: { hidden } })
    assert.equal((await hide(true)).body['isHidden'], true)
    assert.equal((await callList(server, `GET /bots/${botId}`)).status, 404)
    assert.equal((await callList(server, `GET /bots/${botId}/history`)).status, 404)
    assert.equal((await callList(server, `POST /bots/${botId}/vote`, { as: bob })).status, 404)
    assert.equal((await report()).status, 404)
    assert.deepEqual(data(await callList(server, 'GET /bots?q=shady')), [])
    assert.equal(
      data(await callList(server, 'GET /bots?limit=100')).some((bot) => bot['botId'] === botId),
      false,
    )
    assert.equal((await callList(server, 'POST /bots/stats', { key, body: { server_count: 3 } })).status, 200)
    const mine = data(await callList(server, 'GET /my/bots', { as: ann })).find((bot) => bot['botId'] === botId)
    assert.equal(mine?.['isHidden'], true)
    await callList(server, `PATCH /my/bots/${botId}`, { as: ann, body: { shortDescription: 'Shady business' } })
    assert.deepEqual(data(await callList(server, 'GET /bots?q=business')), [], 'an edit does not bring it back')
    assert.equal((await hide(false)).body['isHidden'], false)
    assert.equal(data(await callList(server, 'GET /bots?q=shady')).length, 1)
    assert.equal(
      (await call(server, `PATCH /operator/listings/${newBotId()}`, { as: owner, body: { hidden: true } })).status,
      404,
    )
  })

  test('what is hidden stays so: taken from the list and listed anew, and its reports stay too', async () => {
    server.clock.advance(hourMs)
    const { botId } = await listBot(server, ann, { name: 'Persistent' })
    const hide = (hidden: boolean) => call(server, `PATCH /operator/listings/${botId}`, { as: owner, body: { hidden } })
    await callList(server, `POST /bots/${botId}/reports`, { body: { reason: 'It spams' } })
    await hide(true)
    const reported = async () => {
      const [first] = data(await call(server, 'GET /operator/reports', { as: owner }))
      return [first?.['botId'], first?.['botName'], first?.['isHidden']]
    }
    assert.equal((await callList(server, `DELETE /my/bots/${botId}`, { as: ann })).status, 200)
    assert.deepEqual(await reported(), [botId, 'Persistent', true])
    const again = await listBot(server, bob, { botId, name: 'Persistent' })
    assert.equal((await callList(server, `GET /bots/${botId}`)).status, 404)
    assert.deepEqual(data(await callList(server, 'GET /bots?q=persistent')), [])
    const mine = data(await callList(server, 'GET /my/bots', { as: bob })).find((bot) => bot['botId'] === botId)
    assert.equal(mine?.['isHidden'], true)
    const told = await callList(server, 'POST /bots/stats', { key: again.key, body: { server_count: 3 } })
    assert.equal(told.status, 200, 'the key works')
    await hide(false)
    assert.equal(data(await callList(server, 'GET /bots?q=persistent')).length, 1)
    await callList(server, `DELETE /my/bots/${botId}`, { as: bob })
    await listBot(server, ann, { botId })
    assert.equal((await callList(server, `GET /bots/${botId}`)).status, 200)
  })

  test('a report is a record like others: where it is, and once for each Idempotency-Key', async () => {
    server.clock.advance(hourMs)
    const { botId } = await listBot(server, ann)
    const report = (reason: string, as?: typeof bob) =>
      callList(server, `POST /bots/${botId}/reports`, {
        ...(as && { as }),
        body: { reason },
        headers: { 'idempotency-key': 'once' },
      })
    const made = await report('x')
    assert.equal(made.status, 201)
    assert.equal(made.headers.get('location'), `/list/api/bots/${botId}/reports/${String(made.body['id'])}`)
    const again = await report('x')
    assert.deepEqual([again.status, again.body], [201, made.body])
    assert.equal(again.headers.get('location'), made.headers.get('location'))
    assert.deepEqual((await report('y')).body['code'], 'idempotency_key_reused')
    assert.notEqual((await report('x', bob)).body['id'], made.body['id'], 'somebody else’s key is another one')
  })

  test('no other site reports through its visitors’ browsers, with a cookie or without', async () => {
    server.clock.advance(hourMs)
    const { botId } = await listBot(server, ann)
    const report = async (headers: Record<string, string>) => {
      const answer = await callList(server, `POST /bots/${botId}/reports`, { body: { reason: 'x' }, headers })
      return answer.status === 201 ? '201' : `${answer.status} ${String(answer.body['code'])}`
    }
    const elsewhere = { origin: 'https://elsewhere.example' }
    const { token } = await signIn(server, 'caller')
    assert.equal(await report(elsewhere), '403 forbidden')
    assert.equal(await report({ origin: 'null' }), '403 forbidden')
    assert.equal(await report({ 'sec-fetch-site': 'cross-site' }), '403 forbidden')
    assert.equal(await report({ ...elsewhere, cookie: bob.cookie }), '403 forbidden')
    assert.equal(await report({ ...elsewhere, authorization: `Bearer ${token}` }), '201')
    assert.equal(await report({ origin: server.url, 'sec-fetch-site': 'same-origin' }), '201')
    assert.equal(await report({}), '201')
  })

  test('a bot or a reporter that leaves at the same moment is no failure', async () => {
    server.clock.advance(hourMs)
    const { botId } = await listBot(server, ann)
    const leaving = await signIn(server, 'leaving')
    const report = (as: typeof bob) => callList(server, `POST /bots/${botId}/reports`, { as, body: { reason: 'x' } })
    await tx(server.pool.db, async (db) => {
      await db.deleteFrom('listings').where('bot_id', '=', botId).execute()
      assert.equal((await report(bob)).status, 201)
    })
    assert.equal((await report(bob)).status, 404)
    const other = await listBot(server, ann)
    await server.pool.query('delete from users where id = $1', [leaving.id])
    const late = { botId: other.botId, userId: leaving.id, reason: 'x' }
    assert.match(await insertReport(server.pool.db, late, server.clock.now()), /^rpt_/)
  })

  test('ten reports an hour from one address', async () => {
    const { botId } = await listBot(server, ann)
    server.clock.advance(hourMs)
    const report = async () => (await callList(server, `POST /bots/${botId}/reports`, { body: { reason: 'x' } })).status
    for (let i = 0; i < 10; i++) assert.equal(await report(), 201)
    assert.equal(await report(), 429)
  })
})
