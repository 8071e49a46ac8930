import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { signIn } from '../../test/people.ts'

async function setUp() {
  const server = await startTestServer() // nothing is worked off
  const ann = await signIn(server, 'ann')
  const { body } = await call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' } })
  const { id, identifier } = body as { id: string; identifier: string }
  const ask = (request: string, sent?: unknown) =>
    call(server, request.replace('@', `/servers/${identifier}`), { as: ann, ...(sent !== undefined && { body: sent }) })
  return { server, ann, id, identifier, ask }
}

test('a server that was never deployed has zeros, takes variables, and starts by a deployment', async () => {
  const { server, id, identifier, ask } = await setUp()
  const { body } = await ask('GET @/resources')
  assert.deepEqual(body, {
    identifier,
    state: 'offline',
    cpuPercent: 0,
    memoryBytes: 0,
    memoryLimitBytes: 512 * 1024 * 1024,
    diskBytes: 0,
    diskLimitBytes: 1024 * 1024 * 1024,
    networkRxBytes: 0,
    networkTxBytes: 0,
    processes: 0,
    uptimeMs: 0,
    restarts: 0,
    restartAt: null,
    lastExit: null,
    sampledAt: server.clock.now().toISOString(),
  })
  assert.deepEqual((await ask('GET @/resources/history')).body, { data: [] })
  assert.equal((await ask('GET @/resources/history?minutes=0')).status, 400)
  assert.deepEqual((await ask('GET @/logs')).body, { data: [], before: null, after: null })
  const stopped = await ask('POST @/power', { signal: 'stop' })
  assert.deepEqual([stopped.status, stopped.body], [202, { identifier, signal: 'stop', state: 'offline' }])
  for (const signal of ['start', 'restart', 'start']) {
    const answer = await ask('POST @/power', { signal })
    assert.deepEqual(answer.body, { identifier, signal, state: 'starting' })
  }
  const rows = await server.pool.query('select bot_id, source, status from deployments')
  assert.deepEqual(rows, [{ bot_id: id, source: 'power', status: 'queued' }])
})

test('the history goes back seven days, by the minute for the last one of them', async () => {
  const { server, id, ask } = await setUp()
  const ten = 10 * 60_000
  const [day, week] = [24 * 60, 7 * 24 * 60]
  server.clock.advance(ten - (server.clock.now().getTime() % ten))
  const now = server.clock.now().getTime()
  const agesIn = async (minutes: number) => {
    const { body } = await ask(`GET @/resources/history?minutes=${minutes}`)
    return (body['data'] as { at: string }[]).map(({ at }) => (now - Date.parse(at)) / 60_000)
  }
  for (const age of [1, 2, day - 1, day + 1, day + 10, week - 10, week + 1])
    await server.pool.query('insert into resource_samples values ($1, $2, 1, 2, 3, 4, 5)', [
      id,
      new Date(now - age * 60_000),
    ])
  await server.work.resources.keep()
  assert.deepEqual(await agesIn(week), [week - 10, day + 10, day - 1, 2, 1])
  assert.deepEqual(await agesIn(60), [2, 1])
  assert.equal((await ask(`GET @/resources/history?minutes=${week + 1}`)).status, 400)
  assert.equal((await server.pool.query('select * from resource_samples')).length, 5)
})

test('power takes three words and nothing else', async () => {
  const { ask } = await setUp()
  for (const body of [{}, { signal: 'kill' }, { signal: 'START' }, { signal: null }, { signal: ['start'] }])
    assert.equal((await ask('POST @/power', body)).status, 400, JSON.stringify(body))
  assert.deepEqual([(await ask('POST @/kill')).status, (await ask('POST @/kill')).body['state']], [202, 'offline'])
})

test('variables come back byte for byte, and secret ones never', async () => {
  const { server, ask } = await setUp()
  const values = [
    '',
    ' a ',
    '$HOME `id` "\'#\\',
    'line\nline\r\n',
    '{"a":1}',
    '한국어 🤖 ‮',
    'x'.repeat(32_768),
    '{project}',
  ]
  for (const [index, value] of values.entries()) {
    const { status, body } = await ask('PUT @/startup/variable', { key: `V${index}`, value })
    assert.equal(status, 200)
    assert.deepEqual(body, {
      key: `V${index}`,
      value,
      updatedAt: server.clock.now().toISOString(),
      restartRequired: false,
    })
  }
  const secret = await ask('PUT @/startup/variable', { key: 'TOKEN', value: 'hush-hush-hush', secret: true })
  assert.equal(secret.body['value'], null)
  const { body } = await ask('GET @/startup')
  assert.equal(body['startCommand'], null)
  const variables = body['variables'] as { key: string; value: string | null; secret: boolean }[]
  const byKey = new Map(variables.map(({ key, value }) => [key, value]))
  assert.equal(byKey.get('TOKEN'), null)
  for (const [index, value] of values.entries()) assert.equal(byKey.get(`V${index}`), value)
  const stored = await server.pool.query('select value from startup_variables')
  assert(!JSON.stringify(stored).includes(Buffer.from('hush-hush').toString('hex')))
})

test('a secret stays one when its value changes, unless somebody says otherwise', async () => {
  const { ask } = await setUp()
  const put = async (more: object) => (await ask('PUT @/startup/variable', { key: 'TOKEN', ...more })).body['value']
  assert.equal(await put({ value: 'one', secret: true }), null)
  assert.equal(await put({ value: 'two' }), null)
  const { body } = await ask('GET @/startup')
  const [variable] = body['variables'] as { value: string | null; secret: boolean }[]
  assert.deepEqual([variable?.value, variable?.secret], [null, true])
  assert.equal(await put({ value: 'three', secret: false }), 'three')
})

test('wrong names and values are refused', async () => {
  const { ask } = await setUp()
  const wrong = [
    { key: '', value: 'x' },
    { key: '1A', value: 'x' },
    { key: 'A-B', value: 'x' },
    { key: 'A=B', value: 'x' },
    { key: 'x'.repeat(129), value: 'x' },
    { key: 'BOTBERTH_API_URL', value: 'x' },
    { key: 'A', value: 'a\0b' },
    { key: 'A', value: 'é'.repeat(16_385) },
    { key: 'A', value: 5 },
    { key: 'A' },
  ]
  for (const body of wrong)
    assert.equal((await ask('PUT @/startup/variable', body)).status, 400, JSON.stringify(body).slice(0, 80))
  for (const key of ['PATH', 'NODE_OPTIONS', 'LD_PRELOAD', '_', 'botberth_x'])
    assert.equal((await ask('PUT @/startup/variable', { key, value: 'x' })).status, 200, key)
})

test('256 variables and no more; all of them can be replaced at once', async () => {
  const { ask } = await setUp()
  const variables = Array.from({ length: 256 }, (_, index) => ({ key: `V${index}`, value: String(index) }))
  assert.equal((await ask('PUT @/startup', { variables })).status, 200)
  const full = await ask('PUT @/startup/variable', { key: 'ONE_MORE', value: '' })
  assert.deepEqual([full.status, full.body['code']], [409, 'limit_reached'])
  assert.equal((await ask('PUT @/startup/variable', { key: 'V1', value: 'new' })).status, 200)
  assert.equal((await ask('PUT @/startup', { variables: [...variables, { key: 'X', value: '' }] })).status, 400)
  assert.equal(
    (
      await ask('PUT @/startup', {
        variables: [
          { key: 'A', value: '' },
          { key: 'A', value: '' },
        ],
      })
    ).status,
    400,
  )
  assert.equal((await ask('PUT @/startup', { variables: [{ key: 'A' }] })).status, 400)
  await ask('PUT @/startup', {
    variables: [
      { key: 'S', value: 'kept', secret: true },
      { key: 'A', value: '1' },
    ],
  })
  const { body } = await ask('PUT @/startup', { variables: [{ key: 'S' }] })
  assert.deepEqual(
    (body['variables'] as { key: string; value: unknown; secret: boolean }[]).map(({ key, value, secret }) => [
      key,
      value,
      secret,
    ]),
    [['S', null, true]],
  )
})

test('a variable is removed once', async () => {
  const { ask } = await setUp()
  await ask('PUT @/startup/variable', { key: 'A', value: 'b' })
  assert.deepEqual((await ask('DELETE @/startup/variable/A')).body, { id: 'A', deleted: true })
  assert.equal((await ask('DELETE @/startup/variable/A')).status, 404)
  assert.deepEqual(data(await ask('GET @/logs')), [])
})

test('all variables together have an end', async () => {
  const { ask } = await setUp()
  const value = 'x'.repeat(32_768)
  for (let index = 0; index < 31; index++)
    assert.equal((await ask('PUT @/startup/variable', { key: `V${index}`, value, secret: true })).status, 200)
  const full = await ask('PUT @/startup/variable', { key: 'V31', value })
  assert.deepEqual([full.status, full.body['code']], [409, 'limit_reached'])
  const kept = Array.from({ length: 31 }, (_, index) => ({ key: `V${index}` }))
  const all = await ask('PUT @/startup', { variables: [...kept, { key: 'A', value }] })
  assert.deepEqual([all.status, all.body['code']], [409, 'limit_reached'])
})
