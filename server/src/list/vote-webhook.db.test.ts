import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { callList, listBot } from '../../test/list.ts'
import { signIn } from '../../test/people.ts'
import { isSignedWith, startReceiver } from '../../test/receiver.ts'
import { noteSecret } from '../../test/secrets.ts'
import { until } from '../../test/until.ts'
import { untilAllEnded } from '../../test/webhooks.ts'

const server = await startTestServer({
  isWorking: true,
  sandbox: 'shim',
  env: { ALLOWED_PRIVATE_NETS: '127.0.0.0/8' },
})
const receiver = await startReceiver()
const ann = await signIn(server, 'ann')
let voters = 0

const put = (botId: string, body: object) => callList(server, `PUT /my/bots/${botId}/vote-webhook`, { as: ann, body })
const get = (botId: string) => callList(server, `GET /my/bots/${botId}/vote-webhook`, { as: ann })
const vote = async (botId: string) => {
  const person = await signIn(server, `voter${voters++}`)
  const answer = await callList(server, `POST /bots/${botId}/vote`, { as: person })
  assert.equal(answer.status, 200)
  return { votedAt: answer.body['votedAt'], id: (await call(server, 'GET /me', { as: person })).body['chatUserId'] }
}

suite('the vote webhook', () => {
  test('tells of each vote, signed', async () => {
    const { botId } = await listBot(server, ann)
    const { status, body } = await put(botId, { url: receiver.url('/votes') })
    assert.equal(status, 200)
    const secret = String(body['secret'])
    noteSecret(secret)
    assert.deepEqual([body['events'], body['status']], [['vote'], 'active'])
    assert.equal('secret' in (await get(botId)).body, false)
    const { votedAt, id } = await vote(botId)
    const hit = await until('the delivery', async () => receiver.at('/votes')[0])
    const sent = JSON.parse(hit.body) as Record<string, unknown>
    assert.deepEqual(sent, { id: sent['id'], event: 'vote', botId, userId: id, votedAt, timestamp: votedAt })
    assert(isSignedWith(secret, hit))
    assert.equal(hit.event, 'vote')
    await untilAllEnded(server)
    const log = await callList(server, `GET /my/bots/${botId}/vote-webhook/deliveries`, { as: ann })
    assert.deepEqual(
      data(log).map((delivery) => [delivery['event'], delivery['status']]),
      [['vote', 'delivered']],
    )
  })

  test('a vote that does not count is not told, and none of another bot', async () => {
    const { botId } = await listBot(server, ann)
    const other = await listBot(server, ann)
    noteSecret(String((await put(botId, { url: receiver.url('/once') })).body['secret']))
    const bob = await signIn(server, 'bob')
    await Promise.all(Array.from({ length: 10 }, () => callList(server, `POST /bots/${botId}/vote`, { as: bob })))
    await vote(other.botId)
    await untilAllEnded(server)
    assert.equal(receiver.at('/once').length, 1)
  })

  test('is retried, disabled after ten failures in a row, and enabled by being set again', async () => {
    const { botId } = await listBot(server, ann)
    const secret = 'a secret of the owner, kept'
    receiver.answer = ({ path }) => (path === '/bad' ? 500 : 200)
    const { body } = await put(botId, { url: receiver.url('/bad'), secret })
    assert.equal(body['secret'], secret)
    for (let i = 0; i < 10; i++) await vote(botId)
    await untilAllEnded(server)
    assert.equal(receiver.at('/bad').length, 40)
    const disabled = (await get(botId)).body
    assert.deepEqual([disabled['status'], disabled['disabledReason']], ['disabled', 'consecutive_failures'])
    await vote(botId)
    await untilAllEnded(server)
    assert.equal(receiver.at('/bad').length, 40, 'nothing more is sent')
    const again = await put(botId, { url: receiver.url('/good') })
    assert.deepEqual(
      [again.body['status'], again.body['consecutiveFailures'], again.body['id'], again.body['secret']],
      ['active', 0, body['id'], null],
    )
    await vote(botId)
    const hit = await until('the delivery', async () => receiver.at('/good')[0])
    assert(isSignedWith(secret, hit), 'the secret stays')
    noteSecret(secret)
  })

  test('can be tested and removed', async () => {
    const { botId } = await listBot(server, ann)
    const test = () => callList(server, `POST /my/bots/${botId}/vote-webhook/test`, { as: ann })
    assert.deepEqual([(await test()).status, (await get(botId)).status], [404, 404])
    noteSecret(String((await put(botId, { url: receiver.url('/ping') })).body['secret']))
    const asked = await test()
    assert.deepEqual([asked.status, asked.body['event']], [202, 'ping'])
    await until('the ping', async () => receiver.at('/ping')[0])
    const held: (() => void)[] = []
    receiver.answer = () => new Promise((resolve) => held.push(() => resolve(200)))
    const answers = await Promise.all(Array.from({ length: 15 }, test))
    assert(answers.some(({ body }) => body['code'] === 'limit_reached'))
    receiver.answer = () => 200
    for (const release of held) release()
    const remove = () => callList(server, `DELETE /my/bots/${botId}/vote-webhook`, { as: ann })
    assert.deepEqual([(await remove()).status, (await remove()).status, (await get(botId)).status], [200, 404, 404])
  })

  test('takes no address that deliveries may not reach, and no wrong secret', async () => {
    const { botId } = await listBot(server, ann)
    for (const url of ['http://10.0.0.1/', 'http://169.254.169.254/latest', 'http://[::ffff:10.0.0.1]/'])
      assert.equal((await put(botId, { url })).body['code'], 'url_not_allowed', url)
    for (const body of [{}, { url: 'x' }, { url: 'ftp://example.com' }, { url: 'https://u:p@example.com/' }])
      assert.equal((await put(botId, body)).status, 400)
    for (const secret of ['', 'x'.repeat(257), 'ü'.repeat(200)])
      assert.equal((await put(botId, { url: 'https://example.com/', secret })).status, 400)
    assert.equal((await get(botId)).status, 404)
  })

  test('who leaves while votes come in waits for nobody for ever, nor do the voters', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, (_, index) => signIn(server, `crowd${index}`)))
    for (let round = 0; round < 3; round++) {
      const dora = await signIn(server, 'dora')
      const { botId } = await listBot(server, dora)
      const body = { url: receiver.url('/crowd'), secret: 'of somebody who leaves' }
      await callList(server, `PUT /my/bots/${botId}/vote-webhook`, { as: dora, body })
      const votes = people.map((as) => callList(server, `POST /bots/${botId}/vote`, { as }))
      const gone = await call(server, 'DELETE /me', { as: dora })
      assert.equal(gone.status, 200)
      for (const { status } of await Promise.all(votes)) assert([200, 404].includes(status), String(status))
    }
  })

  test('is none of the subscriptions that the hosting API knows', async () => {
    const cara = await signIn(server, 'cara')
    const { botId } = await listBot(server, cara)
    const { body } = await callList(server, `PUT /my/bots/${botId}/vote-webhook`, {
      as: cara,
      body: { url: 'https://example.com/' },
    })
    noteSecret(String(body['secret']))
    const path = `/webhooks/subscriptions/${String(body['id'])}`
    assert.deepEqual(data(await call(server, 'GET /webhooks/subscriptions', { as: cara })), [])
    for (const request of [`GET ${path}`, `DELETE ${path}`, `POST ${path}/test`, `GET ${path}/deliveries`])
      assert.equal((await call(server, request, { as: cara })).status, 404, request)
    assert.equal((await call(server, `PATCH ${path}`, { as: cara, body: { status: 'disabled' } })).status, 404)
    const wanted = { url: 'https://example.com/', events: ['vote'] }
    assert.equal((await call(server, 'POST /webhooks/subscriptions', { as: cara, body: wanted })).status, 400)
  })
})
