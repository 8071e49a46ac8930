// Walks the contract, so that every endpoint that is ever added is tried with everything below.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { type Endpoint, possibleErrors } from '@botberth/contract/endpoint.ts'
import { endpointList } from '@botberth/contract/endpoints.ts'
import { errors } from '@botberth/contract/errors.ts'
import { startTestServer } from '../../test/api.ts'
import { listBot } from '../../test/list.ts'
import { makeOwner, signIn } from '../../test/people.ts'
import { Connection, sendRaw } from '../../test/raw.ts'
import { apiBases } from './paths.ts'

const server = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '0' } })
const { key } = await makeOwner(server)
const ann = await signIn(server, 'ann')
const { key: listKey } = await listBot(server, ann)
const connection = new Connection(server.port)
after(() => connection.close())

const bodies: Record<string, string | Buffer> = {
  'no body': '',
  'an empty object': '{}',
  'an array': '[]',
  null: 'null',
  'a text': '"x"',
  'a number': '1',
  truncated: '{"name":',
  'duplicate keys': '{"name":"a","name":"b"}',
  __proto__: '{"__proto__":{"name":"x"},"constructor":{"prototype":{}}}',
  '200,000 levels': '['.repeat(100_000) + ']'.repeat(100_000),
  'invalid UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'a byte order mark': '\ufeff{}',
  'a NUL': '{"name":"a\\u0000b"}',
  'a raw NUL': '{"name":"a\0b"}',
  '1e999': '{"name":1e999,"count":1e999}',
  '2^53+1': '{"name":9007199254740993}',
  'a lone surrogate': '{"name":"\\ud800"}',
  'null for everything': '{"name":null,"url":null,"events":null}',
  'wrong types': '{"name":{},"type":[],"events":{},"url":true,"secret":1}',
  'a text of 200 KB': JSON.stringify({ name: 'x'.repeat(200_000) }),
  'one byte too many': JSON.stringify({ name: 'x'.repeat(256 * 1024 + 1 - 11) }),
  '1 MB': JSON.stringify({ name: 'x'.repeat(1_000_000) }),
}

const types = [
  'application/json',
  'application/json; charset=utf-8',
  'application/vnd.x+json',
  '',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'not a type;;',
  'application/json; charset=latin1',
]

const ids = [
  'x',
  '%00',
  '..',
  '%2e%2e',
  '%2e%2e%2f%2e%2e',
  '%ff',
  '%zz',
  "'; drop table users; --",
  'x'.repeat(2_000),
  'bot_',
  '1e9',
  '-1',
  '🤖',
]

const queries = [
  '?',
  '?page=0',
  '?page=-1',
  '?page=1.5',
  '?page=abc',
  '?page=1e9',
  '?page=99999999999999999999',
  '?limit=0',
  '?limit=101',
  '?page=1&page=2',
  '?user_id=a&user_id=b',
  '?__proto__=1',
  '?q=%00',
  '?q=%zz',
  `?q=${'x'.repeat(8_000)}`,
  '?%5B%5D=1',
]

// What an endpoint does not read it passes over or refuses, and some of each tell which.
const unreadBodies = ['no body', 'an empty object', 'truncated', 'invalid UTF-8', '1 MB']
const unreadTypes = ['application/json', '', 'not a type;;']
const unreadQueries = ['?', '?page=1&page=2', '?__proto__=1', '?q=%zz', `?q=${'x'.repeat(8_000)}`]

const triedMethods = new Set<string>()

for (const [name, endpoint] of endpointList) {
  // Of those that do not, one of each method gets everything all the same.
  const readsBody = endpoint.body !== undefined || endpoint.rawBody !== undefined || !triedMethods.has(endpoint.method)
  if (endpoint.body === undefined && endpoint.rawBody === undefined) triedMethods.add(endpoint.method)

  test(`${name} answers every wrong body as the contract says`, async () => {
    for (const [what, body] of Object.entries(bodies)) {
      if (!readsBody && !unreadBodies.includes(what)) continue
      const status = await call(endpoint, { body, type: 'application/json' })
      assert(isDeclared(endpoint, status), `${what}: ${status}`)
    }
  })

  test(`${name} answers every content type as the contract says`, async () => {
    for (const type of readsBody ? types : unreadTypes) {
      const status = await call(endpoint, { body: '{"name":"x"}', type })
      assert(isDeclared(endpoint, status), `${type}: ${status}`)
    }
  })

  test(`${name} answers odd paths and queries as the contract says`, async () => {
    for (const id of endpoint.params === undefined ? [] : ids)
      assert.notEqual(Math.floor((await call(endpoint, { id })) / 100), 5, id)
    for (const query of endpoint.query === undefined ? unreadQueries : queries) {
      const status = await call(endpoint, { query })
      assert(isDeclared(endpoint, status), `${query}: ${status}`)
    }
  })
}

test('broken HTTP gets a 4xx problem body, and the server goes on', async () => {
  const head = 'POST /api/v1/version HTTP/1.1\r\nHost: x\r\n'
  const requests: Record<string, string> = {
    'both lengths': `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'chunked garbage': `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\nxx\r\n`,
    'two lengths': `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
    'a negative length': `${head}Content-Length: -5\r\n\r\n`,
    'no HTTP at all': 'hello\r\n\r\n',
    'a header line without a colon': `${head}nonsense\r\n\r\n`,
    'no Host': 'GET /api/v1/version HTTP/1.1\r\n\r\n',
    '20 KB of header': `${head}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
    'a path of 10 KB': `GET /api/v1/${'x'.repeat(10_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    'an unknown expectation':
      'GET /api/v1/nothing HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nConnection: close\r\n\r\n',
    'an upgrade': 'GET /api/v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  }
  for (const [what, request] of Object.entries(requests)) {
    const answer = await sendRaw(server.port, request)
    assert.match(answer, /^HTTP\/1\.1 4\d\d /, `${what}: ${answer.slice(0, 100)}`)
    assert.match(answer.toLowerCase(), /content-type: application\/problem\+json/, what)
  }
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200)
})

test('who asks is decided before any body is read', async () => {
  const huge = 'x'.repeat(300_000)
  const post = (path: string) =>
    sendRaw(
      server.port,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${huge.length}\r\nConnection: close\r\n\r\n${huge}`,
    )
  assert.match(await post('/api/v1/bots'), /^HTTP\/1\.1 401 /)
  assert.match(await post('/api/v1/auth/api-keys'), /^HTTP\/1\.1 401 /)
  assert.match(await post('/api/v1/version'), /^HTTP\/1\.1 405 /)
  const slow = await sendRaw(server.port, 'POST /api/v1/bots HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n')
  assert.match(slow, /^HTTP\/1\.1 401 /)
})

test('every spelling of a path is the same path, for the router and for the gate', async () => {
  const status = async (method: string, target: string) =>
    Number(
      /^HTTP\/1\.1 (\d+)/.exec(
        await sendRaw(server.port, `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      )?.[1],
    )
  for (const target of [
    '/api/v1/version',
    '/api/v1/%76ersion',
    '/%61pi/v1/version',
    'http://x/api/v1/version',
    '/api/v1/version#x',
    '/api/v1/version/',
  ]) {
    assert.deepEqual(
      [await status('GET', target), await status('POST', target), await status('OPTIONS', target)],
      [200, 405, 204],
      target,
    )
  }
  for (const target of [
    '/api/v1',
    '/api/v1/',
    '/api/v1/bots',
    '/%61pi/v1/bots',
    'http://x/api/v1/bots',
    '/api/v1/b%6fts?x',
  ]) {
    assert.equal(await status('GET', target), 401, target)
  }
  for (const [target, expected] of [
    ['/docs', 204],
    ['/docs/', 204],
    ['/docs//', 404],
  ] as const)
    assert.equal(await status('OPTIONS', target), expected, target)
})

test('a body that breaks off or turns into rubbish is answered at once', async () => {
  const head = `POST /api/v1/bots HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\n`
  const rubbish = await sendRaw(server.port, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`)
  assert.match(rubbish, /^HTTP\/1\.1 400 [\s\S]*"code":"invalid_request"/)
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(`${head}Content-Length: 100\r\n\r\nhello`)
  const chunks: Buffer[] = []
  for await (const chunk of socket.setTimeout(2_000, () => socket.destroy())) chunks.push(chunk as Buffer)
  assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 400 [\s\S]*"code":"invalid_request"/)
})

test('an answer that is under way is not cut short by rubbish behind its request', async () => {
  const request = 'GET /api/v1/version HTTP/1.1\r\nHost: x\r\n\r\nBROKEN\r\n\r\n'
  const answer = await sendRaw(server.port, request, { isClosedAfter: true })
  assert.match(answer, /^HTTP\/1\.1 200 [\s\S]*"apiPrefix":"v1"\}$/)
})

test('a request with two Host lines is refused', async () => {
  assert.match(
    await sendRaw(
      server.port,
      'GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    ),
    /^HTTP\/1\.1 400 /,
  )
})

interface Input {
  readonly id?: string
  readonly query?: string
  readonly body?: string | Buffer
  readonly type?: string
}

/** The status of one request, after a check that an error is a well-formed problem. */
async function call(endpoint: Endpoint, { id = 'ABCD-EFGH', query = '', body, type }: Input): Promise<number> {
  const path = apiBases[endpoint.api] + endpoint.path.replace(/\{\w+\}/g, encodeURI(id).replaceAll('%25', '%')) + query
  const sent = body === undefined ? Buffer.alloc(0) : Buffer.from(body)
  const headers = {
    ...credentialFor(endpoint),
    ...(type !== undefined && { 'content-type': type }),
    'content-length': String(sent.length),
  }
  const { status, contentType, text } = await connection.send({ method: endpoint.method, path, headers, body: sent })
  if (status >= 400) checkProblem(contentType, text, status)
  return status
}

/** Lets everything in that can be called again and again. */
function credentialFor({ api, access }: Endpoint): Record<string, string> {
  if (access === 'listing') return { 'x-api-key': listKey }
  return api === 'list' && access === 'session' ? { cookie: ann.cookie } : { 'x-api-key': key }
}

function checkProblem(contentType: string, text: string, status: number): void {
  assert.match(contentType, /^application\/problem\+json/)
  const { code, status: inner, requestId } = JSON.parse(text) as Record<string, unknown>
  assert.equal(inner, status)
  assert.equal(errors[code as keyof typeof errors]?.status, status)
  assert(requestId)
}

function isDeclared(endpoint: Endpoint, status: number): boolean {
  return status in endpoint.answers || possibleErrors(endpoint).some((code) => errors[code].status === status)
}
