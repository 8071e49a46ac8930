import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { signIn } from '../../test/people.ts'
import { noteSecret } from '../../test/secrets.ts'

// Without loopback, which a server on loopback may reach.
const server = await startTestServer({ env: { ALLOWED_PRIVATE_NETS: '192.0.2.7/32' } })
const ann = await signIn(server, 'ann')
const path = '/webhooks/subscriptions'
const good = { url: 'https://example.com/hook', events: ['server.crashed'] }

const make = async (body: object = {}, as = ann) => {
  const answer = await call(server, `POST ${path}`, { as, body: { ...good, ...body } })
  if (answer.status === 201) noteSecret(String(answer.body['secret']))
  return answer
}
const makeId = async (body: object = {}) => String((await make(body)).body['id'])

describe('createSubscription', () => {
  test('answers with the record, where it is, and the secret this once', async () => {
    const { status, body, headers } = await make({ events: ['server.crashed', 'deploy.completed', 'server.crashed'] })
    assert.equal(status, 201)
    const { id, secret, createdAt, ...rest } = body
    assert.match(String(id), /^whs_/)
    assert.match(String(secret), /^whsec_[\w+/]{43}=$/)
    assert.match(String(createdAt), /Z$/)
    assert.deepEqual(rest, {
      url: 'https://example.com/hook',
      events: ['server.crashed', 'deploy.completed'],
      status: 'active',
      consecutiveFailures: 0,
      disabledAt: null,
      disabledReason: null,
      lastDeliveryAt: null,
    })
    assert.equal(headers.get('location'), `/api/v1${path}/${String(id)}`)
    const again = await call(server, `GET ${path}/${String(id)}`, { as: ann })
    assert.equal('secret' in again.body, false)
    const { secret: _, ...withoutSecret } = body
    assert.deepEqual(again.body, withoutSecret)
  })

  test('takes a secret of 1 to 256 bytes as it is, and keeps it encrypted', async () => {
    for (const secret of ['x', 'é'.repeat(128), ' spaces stay \u{1F511}'])
      assert.equal((await make({ secret })).body['secret'], secret)
    assert.match(String((await make({ secret: null })).body['secret']), /^whsec_/)
    for (const secret of ['', 'é'.repeat(129), 'x'.repeat(257), 7, ['x']]) {
      const { status, body } = await make({ secret })
      assert.equal(status, 400, JSON.stringify(secret))
      assert.equal((body['errors'] as { pointer: string }[])[0]?.pointer, '/secret')
    }
    const rows = await server.pool.query<{ secret: Buffer }>('select secret from webhook_subscriptions')
    assert(rows.every(({ secret }) => !secret.includes('spaces stay')))
  })

  test('refuses what is no receiver', async () => {
    const urls = [
      '',
      'x',
      '//example.com',
      'ftp://example.com',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'https://user@example.com/',
      'https://user:word@example.com/',
      'https://:word@example.com/',
      'http://example.com:0/',
      'http://example.com:22/',
      'http://example.com:25/',
      'http://example.com:65536/',
      'http://256.1.1.1/',
      'http://[fe80::1%25eth0]/',
      `https://example.com/${'x'.repeat(2048)}`,
      7,
      null,
      ['https://example.com/'],
    ]
    for (const url of urls) {
      const { status, body } = await make({ url })
      assert.deepEqual([status, body['code']], [400, 'validation_failed'], String(url).slice(0, 60))
    }
    for (const events of [undefined, [], ['*'], ['ping'], ['server.crashed', 'x'], 'server.crashed', [7], {}])
      assert.equal((await make({ events })).status, 400, JSON.stringify(events))
  })

  test('refuses an address that is not public, however it is spelt', async () => {
    const hosts = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '017700000001',
      '0177.0.0.1',
      '0',
      '0.0.0.0',
      '127.0.0.1.',
      '１２７.０.０.１',
      '10.0.0.1',
      '172.16.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '169.254.169.254',
      '168.63.129.16',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::7f00:1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[fd00:ec2::254]',
      '[fe80::1]',
      '224.0.0.1',
      '255.255.255.255',
    ]
    for (const host of hosts) {
      const { status, body } = await make({ url: `http://${host}/` })
      assert.deepEqual([status, body['code']], [400, 'url_not_allowed'], host)
    }
  })

  test('keeps one spelling of a URL', async () => {
    const { body } = await make({ url: ' HTTPS://EXAMPLE.com:443/a/../b\t?q=1#part' })
    assert.equal(body['url'], 'https://example.com/b?q=1')
  })

  test('is carried out once for each Idempotency-Key, and shows its secret once', async () => {
    const headers = { 'idempotency-key': 'hook-1' }
    const first = await call(server, `POST ${path}`, { as: ann, body: good, headers })
    noteSecret(String(first.body['secret']))
    const second = await call(server, `POST ${path}`, { as: ann, body: good, headers })
    assert.deepEqual([first.status, second.status, second.body['code']], [201, 409, 'secret_not_repeatable'])
    assert.equal(second.body['id'], first.body['id'])
    const other = await call(server, `POST ${path}`, {
      as: ann,
      body: { ...good, events: ['deploy.completed'] },
      headers,
    })
    assert.deepEqual([other.status, other.body['code']], [422, 'idempotency_key_reused'])
  })

  test('lets one person have 100, also if they are made at once', async () => {
    const bob = await signIn(server, 'bob')
    const answers = await Promise.all(Array.from({ length: 105 }, () => make({}, bob)))
    assert.equal(answers.filter(({ status }) => status === 201).length, 100)
    for (const { body } of answers.filter(({ status }) => status !== 201)) assert.equal(body['code'], 'limit_reached')
    assert.equal(data(await call(server, `GET ${path}`, { as: bob })).length, 100)
  })
})

describe('updateSubscription', () => {
  test('changes what is given and leaves the rest', async () => {
    const id = await makeId()
    const change = (body: object) => call(server, `PATCH ${path}/${id}`, { as: ann, body })
    const { body: before } = await call(server, `GET ${path}/${id}`, { as: ann })
    assert.deepEqual((await change({})).body, before)
    const { body: moved } = await change({ url: 'https://example.org/', events: ['backup.completed'] })
    assert.deepEqual(moved, { ...before, url: 'https://example.org/', events: ['backup.completed'] })
    const { body: disabled } = await change({ status: 'disabled' })
    assert.deepEqual([disabled['status'], disabled['disabledReason']], ['disabled', 'owner'])
    assert.deepEqual((await change({ status: 'disabled' })).body, disabled)
    assert.deepEqual((await change({ status: 'active' })).body, moved)
    const sealed = () => server.pool.query('select secret from webhook_subscriptions where id = $1', [id])
    const oldSecret = await sealed()
    await change({ secret: 'another one' })
    assert.notDeepEqual(await sealed(), oldSecret)
  })

  test('refuses wrong values', async () => {
    const id = await makeId()
    const change = (body: object) => call(server, `PATCH ${path}/${id}`, { as: ann, body })
    for (const body of [{ status: 'paused' }, { url: 'x' }, { events: [] }, { secret: '' }])
      assert.equal((await change(body)).body['code'], 'validation_failed', JSON.stringify(body))
    assert.equal((await change({ url: 'http://127.0.0.1/' })).body['code'], 'url_not_allowed')
  })
})

describe('testSubscription', () => {
  test('says what is sent, and lets only so many wait', async () => {
    const id = await makeId()
    const ping = () => call(server, `POST ${path}/${id}/test`, { as: ann })
    const { status, body } = await ping()
    assert.deepEqual([status, body['event'], body['status'], body['attempts']], [202, 'ping', 'pending', []])
    for (let time = 1; time < 10; time++) await ping()
    const refused = await ping()
    assert.deepEqual([refused.status, refused.body['code']], [409, 'limit_reached'])
    const { body: page } = await call(server, `GET ${path}/${id}/deliveries?limit=3&page=4`, { as: ann })
    assert.deepEqual([page['total'], page['totalPages'], (page['data'] as []).length], [10, 4, 1])
  })
})

test('a delivery belongs to its subscription', async () => {
  const [mine, other] = [await makeId(), await makeId()]
  const { body } = await call(server, `POST ${path}/${mine}/test`, { as: ann })
  const ask = (subscription: string, rest = '') =>
    call(server, `GET ${path}/${subscription}/deliveries/${String(body['id'])}${rest}`, { as: ann })
  assert.equal((await ask(mine)).status, 200)
  assert.equal((await ask(other)).status, 404)
  const again = await call(server, `POST ${path}/${other}/deliveries/${String(body['id'])}/redeliver`, { as: ann })
  assert.equal(again.status, 404)
})

test('a subscription goes with its owner, and so do the events', async () => {
  const carl = await signIn(server, 'carl')
  const { body } = await make({}, carl)
  await call(server, `POST ${path}/${String(body['id'])}/test`, { as: carl })
  assert.equal((await call(server, 'DELETE /me', { as: carl })).status, 200)
  const rows = await server.pool.query(
    'select id from webhook_subscriptions where user_id = $1 union all select id from events where user_id = $1',
    [carl.id],
  )
  assert.deepEqual(rows, [])
})
