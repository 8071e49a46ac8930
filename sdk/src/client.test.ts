import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callAll, findUnasked, type Handle, json, startServer } from '../test/server.ts'
import { Botberth } from './client.ts'
import { BotberthError, ConnectionError } from './errors.ts'
import type { ClientOptions } from './transport.ts'

const start = async (handle: Handle, options: Partial<ClientOptions> = {}) => {
  const { seen, url } = await startServer(handle)
  return { seen, url, client: new Botberth({ url: `${url}/`, apiKey: 'svc_live_x', ...options }) }
}

const problem = (code: string, status: number) => ({ code, status, detail: 'No.', requestId: 'req_1', title: 'No' })

test('a request goes where its operation is, with the key and whatever it takes', async () => {
  const { client, seen } = await start((_request, response) => json(response, 200, { data: [], id: 'x' }))
  await client.bots.list()
  await client.files.delete('bot_1', 'src/ä b.js')
  await client.servers.logs('a/b', { tail: 5, q: 'x&y' })
  await client.bots.update('bot_1', { name: 'new' })
  assert.deepEqual(
    seen.map(({ method, url }) => `${method} ${url}`),
    [
      'GET /api/v1/bots',
      'DELETE /api/v1/bots/bot_1/files/src/%C3%A4%20b.js',
      'GET /api/v1/servers/a%2Fb/logs?tail=5&q=x%26y',
      'PATCH /api/v1/bots/bot_1',
    ],
  )
  assert(seen.every(({ headers }) => headers['x-api-key'] === 'svc_live_x'))
  assert.equal(seen[3]?.body, '{"name":"new"}')
  assert.equal(seen[3]?.headers['content-type'], 'application/json')
})

test('an id that is missing asks nobody', async () => {
  const { client, seen } = await start((_request, response) => json(response, 200, {}))
  await assert.rejects(client.bots.get(''), TypeError)
  assert.equal(seen.length, 0)
})

test('no name leads out of its route', async () => {
  const { client, seen } = await start((_request, response) => json(response, 200, {}))
  for (const path of ['..', '.', '../../bot_2', 'src/../..', 'src/.'])
    await assert.rejects(client.files.delete('bot_1', path), TypeError, path)
  await assert.rejects(client.bots.delete('..'), TypeError)
  assert.equal(seen.length, 0)
  await client.files.delete('bot_1', 'src/..hidden')
  assert.equal(seen[0]?.url, '/api/v1/bots/bot_1/files/src/..hidden')
})

test('a redirect is an error that names its target, which never sees the key', async () => {
  const other = await startServer((_request, response) => json(response, 200, {}))
  const { client, seen } = await start((_request, response) =>
    response.writeHead(301, { location: `${other.url}/api/v1/bots` }).end(),
  )
  await assert.rejects(
    client.bots.create({ name: 'x', type: 'custom' }),
    (error) => error instanceof BotberthError && error.status === 301 && error.message.includes(other.url),
  )
  assert.deepEqual([seen.length, other.seen.length], [1, 0])
})

test('a key that no header can have is not shown, and what fails before a request is no matter of the connection', async () => {
  const { url } = await startServer((_request, response) => json(response, 200, {}))
  const broken = new Botberth({ url, apiKey: 'svc_live_half\nother', retries: 0 })
  await assert.rejects(broken.me.get(), (error) => {
    assert(error instanceof TypeError && error.cause === undefined)
    assert.doesNotMatch(String(error.stack), /svc_live|half/)
    return true
  })
  const failure = new Error('no token')
  const tokenless = new Botberth({ url, accessToken: () => Promise.reject(failure) })
  await assert.rejects(tokenless.me.get(), failure)
  await assert.rejects(tokenless.stream(['me']).next(), failure)
  assert.throws(() => new Botberth({ url: 'bots.example' }), TypeError)
})

test('an upload takes as long as it takes', async () => {
  const { client } = await start(
    (_request, response) => void setTimeout(() => json(response, 200, { files: 1 }), 150),
    { retries: 0, timeoutMs: 50 },
  )
  await client.bots.uploadSource('x', new Uint8Array(10))
  await client.files.write('x', 'a.txt', Buffer.from('x'))
  await assert.rejects(client.bots.update('x', { name: 'y' }), ConnectionError)
})

test('what is gone when it is deleted again, after a lost answer, was deleted', async () => {
  let tries = 0
  const { client } = await start((request, response) => {
    if (tries++ % 2 === 0) request.socket.destroy()
    else json(response, 404, problem('not_found', 404))
  })
  assert.deepEqual(await client.bots.delete('bot_1'), { id: 'bot_1', deleted: true })
  assert.deepEqual(await client.files.delete('bot_1', 'a/b'), { id: 'bot_1', path: 'a/b', deleted: true })
  tries = 1
  await assert.rejects(client.bots.delete('bot_1'), { code: 'not_found' })
})

test('any fetch will do, whatever its answers are made of', async () => {
  const answer = { ok: true, status: 200, headers: new Headers({ 'content-type': 'application/json' }), body: null }
  const mine = { ...answer, json: () => Promise.resolve({ name: 'me' }) }
  const client = new Botberth({ url: 'http://x', fetch: () => Promise.resolve(mine as unknown as Response) })
  assert.equal((await client.me.get()).name, 'me')
})

test('an error has the code, the request’s id and the fields', async () => {
  const errors = [{ pointer: '/name', detail: 'takes 1 to 128 characters' }]
  const { client } = await start((_request, response) =>
    json(
      response,
      400,
      { ...problem('validation_failed', 400), errors, hint: 'more' },
      { 'content-type': 'application/problem+json' },
    ),
  )
  await assert.rejects(client.bots.create({ name: '', type: 'custom' }), (error) => {
    assert(error instanceof BotberthError)
    assert.deepEqual(
      [error.code, error.status, error.requestId, error.message],
      ['validation_failed', 400, 'req_1', 'No.'],
    )
    assert.deepEqual([error.errors, error.problem['hint']], [errors, 'more'])
    return true
  })
})

test('an answer from something in between is an error too', async () => {
  for (const type of ['text/html', 'application/json']) {
    const { client } = await start((_request, response) =>
      response.writeHead(502, { 'content-type': type }).end('<h1>Bad'),
    )
    await assert.rejects(
      client.me.get(),
      (error) => error instanceof BotberthError && error.code === 'unknown' && error.status === 502,
    )
  }
})

test('429 and 503 are asked again when the server says so, with one Idempotency-Key', async () => {
  const statuses = [429, 503, 201]
  const { client, seen } = await start((_request, response) => {
    const status = statuses.shift() ?? 500
    json(response, status, status === 201 ? { id: 'bot_1' } : problem('x', status), { 'retry-after': '0' })
  })
  assert.equal((await client.bots.create({ name: 'x', type: 'custom' })).id, 'bot_1')
  assert.equal(new Set(seen.map(({ headers }) => headers['idempotency-key'])).size, 1)
  assert.match(String(seen[0]?.headers['idempotency-key']), /^[0-9a-f]{32}$/)
})

test('a wait that nobody would sit through is an error that says how long', async () => {
  const { client, seen } = await start((_request, response) =>
    json(response, 429, problem('rate_limited', 429), { 'retry-after': '900' }),
  )
  await assert.rejects(client.me.get(), (error) => error instanceof BotberthError && error.retryAfterMs === 900_000)
  assert.equal(seen.length, 1)
})

test('a lost connection is made again, unless that could do something twice', async () => {
  const { client, seen } = await start((request) => request.socket.destroy(), { retries: 1 })
  await assert.rejects(client.me.get(), ConnectionError)
  assert.equal(seen.length, 2)
  await assert.rejects(client.servers.restart('x'), ConnectionError)
  assert.equal(seen.length, 3)
  await assert.rejects(client.bots.create({ name: 'x', type: 'custom' }), ConnectionError)
  assert.equal(seen.length, 5)
  const once = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() })
  await assert.rejects(client.bots.uploadSource('x', once), ConnectionError)
  assert.equal(seen.length, 6)
})

test('a server that does not answer, or not to the end, is given up in time', async () => {
  const silent = await start(() => {}, { retries: 0, timeoutMs: 50 })
  await assert.rejects(silent.client.me.get(), /did not answer within 50 ms/)
  const half = await start((_request, response) => void response.writeHead(200).write('{'), {
    retries: 0,
    timeoutMs: 50,
  })
  await assert.rejects(half.client.me.get(), ConnectionError)
})

test('whoever asks can stop asking, also between two tries', async () => {
  const { client } = await start((_request, response) =>
    json(response, 503, problem('unavailable', 503), { 'retry-after': '30' }),
  )
  const stop = new AbortController()
  const asked = client.me.get({ signal: stop.signal })
  setTimeout(() => stop.abort(), 50)
  await assert.rejects(asked, { name: 'AbortError' })
})

test('pages are read one after the other, as far as somebody wants them', async () => {
  const { client, seen } = await start((request, response) => {
    const page = Number(new URL(request.url ?? '', 'http://x').searchParams.get('page'))
    json(response, 200, { data: [{ id: page * 2 - 1 }, { id: page * 2 }], page, limit: 2, total: 6, totalPages: 3 })
  })
  const ids: unknown[] = []
  for await (const { id } of client.deployments.each('bot_1')) ids.push(id)
  assert.deepEqual(ids, [1, 2, 3, 4, 5, 6])
  for await (const _ of client.deployments.each('bot_1')) break
  assert.equal(seen.length, 4)
})

test('a token that cannot be had is the error, not a server that cannot be reached', async () => {
  const accessToken = () => Promise.reject(new BotberthError(401, { code: 'unauthenticated' }))
  const client = new Botberth({ url: 'http://127.0.0.1:1', accessToken })
  await assert.rejects(client.me.get(), { code: 'unauthenticated' })
  await assert.rejects(client.stream(['me']).next(), { code: 'unauthenticated' })
})

test('health is answered also when it is bad', async () => {
  const { client } = await start((_request, response) =>
    json(response, 503, { status: 'degraded', db: 'disconnected', uptime: 1 }),
  )
  assert.equal((await client.health()).db, 'disconnected')
})

test('a stream goes on where it was cut', async () => {
  const { client, seen } = await start((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const isFirst = !request.url?.includes('lastEventId')
    const lines = (from: number) => JSON.stringify({ topic: 'bot:1:logs', lines: [{ seq: from, text: 'ä' }] })
    const bytes = Buffer.from(`: hello\n\nevent: logs\nid: c${isFirst ? 1 : 2}\ndata: ${lines(isFirst ? 1 : 2)}\n\n`)
    // Also in the middle of a character.
    response.write(bytes.subarray(0, bytes.length - 8))
    setTimeout(() => {
      response.write(bytes.subarray(bytes.length - 8))
      if (isFirst) setTimeout(() => response.destroy(), 20)
      else response.write('event: gone\ndata: {"topic":"bot:1:logs"}\n\n')
    }, 20)
  })
  const connections: boolean[] = []
  const events: unknown[] = []
  const onConnection = (isConnected: boolean) => connections.push(isConnected)
  for await (const event of client.stream(['bot:1:logs'], { tail: 3, onConnection })) events.push(event)
  assert.deepEqual(events, [
    { type: 'logs', topic: 'bot:1:logs', lines: [{ seq: 1, text: 'ä' }] },
    { type: 'logs', topic: 'bot:1:logs', lines: [{ seq: 2, text: 'ä' }] },
    { type: 'gone', topic: 'bot:1:logs' },
  ])
  assert.deepEqual(
    seen.map(({ url }) => url),
    ['/api/v1/stream?topics=bot%3A1%3Alogs&tail=3', '/api/v1/stream?topics=bot%3A1%3Alogs&lastEventId=c1'],
  )
  assert.deepEqual(connections, [true, false, true])
})

test('a stream that is cut before its first event begins again at the same place', async () => {
  const { client, seen } = await start((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (request.url?.includes('lastEventId=c0')) response.write('event: gone\ndata: {"topic":"x"}\n\n')
    else {
      response.write('retry: 2000\nid: c0\n\n')
      setTimeout(() => response.destroy(), 20)
    }
  })
  for await (const _ of client.stream(['x'])) break
  assert.equal(seen.length, 2)
  assert.equal(seen[0]?.headers['accept'], 'text/event-stream')
})

test('a stream waits as long as it is told to, and only for what may pass', async () => {
  const busy = await start((_request, response) =>
    json(response, 429, problem('rate_limited', 429), { 'retry-after': '3600' }),
  )
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 1_500)
  await assert.rejects(busy.client.stream(['x'], { signal: stop.signal }).next(), { name: 'AbortError' })
  assert.equal(busy.seen.length, 1)
  const nonsense = await start((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {\n\n')
  })
  await assert.rejects(nonsense.client.stream(['x']).next(), SyntaxError)
})

test('a stream that is refused is an error, and one that is left is closed', async () => {
  const refused = await start((_request, response) => json(response, 401, problem('unauthenticated', 401)))
  await assert.rejects(refused.client.stream(['me']).next(), { code: 'unauthenticated' })
  let isClosed = false
  const left = await start((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: gap\ndata: {"topic":"x","firstSeq":1}\n\n')
    request.socket.once('close', () => (isClosed = true))
  })
  for await (const _ of left.client.stream(['x'])) break
  for (let tries = 0; !isClosed && tries < 100; tries++) await new Promise((resolve) => setTimeout(resolve, 10))
  assert(isClosed)
})

test('an archive comes as a stream, however long it takes', async () => {
  const { client } = await start(
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/zstd' }).write('first ')
      setTimeout(() => response.end('last'), 100)
    },
    { timeoutMs: 50 },
  )
  assert.equal(await new Response(await client.backups.download('bot_1', 'bak_1')).text(), 'first last')
})

/** Redirects and links for browsers, which no program follows, and what only the code host sends. */
const forOthers = new Set([
  'loginWithChat',
  'finishChatLogin',
  'connectCodehost',
  'finishCodehostConnect',
  'receiveCodehostEvent',
  'downloadByLink',
])

test('every operation of the contract has a method', async () => {
  const { client, seen } = await start(
    (_request, response) => json(response, 200, { data: [], page: 1, totalPages: 1 }),
    {
      retries: 0,
    },
  )
  await callAll(client, ['health', 'version', 'stream'])
  await client.files.list('1')
  assert.deepEqual(findUnasked('hosting', seen, forOthers), [])
})
