import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { createAwayPool } from '../../test/db.ts'
import { sendRaw } from '../../test/raw.ts'

const env = { PUBLIC_RATE_LIMIT: '0' }

async function json(server: TestServer, path: string, init: RequestInit = {}) {
  const answer = await fetch(server.url + path, init)
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
}

test('GET /health, /version and /templates answer exactly the fields of the contract', async () => {
  const server = await startTestServer({ env })
  const health = await json(server, '/api/v1/health')
  assert.equal(health.status, 200)
  assert.deepEqual({ ...health.body, uptime: 0 }, { status: 'ok', db: 'connected', uptime: 0 })
  assert.equal(typeof health.body['uptime'], 'number')

  const version = await json(server, '/api/v1/version')
  assert.match(String(version.body['version']), /^\d+(\.\d+)+$/)
  assert.deepEqual(Object.keys(version.body).toSorted(), ['apiPrefix', 'version'])
  assert.equal(version.body['apiPrefix'], 'v1')

  const { data } = (await json(server, '/api/v1/templates')).body as { data: Record<string, unknown>[] }
  assert(data.length >= 4)
  for (const template of data)
    assert.deepEqual(Object.keys(template).toSorted(), ['description', 'id', 'language', 'name', 'variables'])
})

test('with the database away /health says so with 503, /readyz too, and the rest of the public endpoints answer', async () => {
  const server = await startTestServer({ env, pool: await createAwayPool() })
  const health = await json(server, '/api/v1/health')
  assert.equal(health.status, 503)
  assert.deepEqual({ ...health.body, uptime: 0 }, { status: 'degraded', db: 'disconnected', uptime: 0 })
  assert.equal((await json(server, '/readyz')).status, 503)
  assert.equal((await json(server, '/healthz')).status, 200)
  assert.equal((await json(server, '/api/v1/version')).status, 200)
})

test('HEAD works wherever GET does, OPTIONS tells the methods, another method is 405', async () => {
  const server = await startTestServer({ env })
  const head = await fetch(`${server.url}/api/v1/version`, { method: 'HEAD' })
  assert.equal(head.status, 200)
  assert.equal(await head.text(), '')
  const options = await fetch(`${server.url}/api/v1/version`, { method: 'OPTIONS' })
  assert.equal(options.status, 204)
  assert.equal(options.headers.get('allow'), 'GET, HEAD, OPTIONS')
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
    const { status, headers, body } = await json(server, '/api/v1/version', { method })
    assert.equal(status, 405, method)
    assert.equal(headers.get('allow'), 'GET, HEAD, OPTIONS')
    assert.equal(body['code'], 'method_not_allowed')
  }
})

test('one trailing slash is ignored', async () => {
  const server = await startTestServer({ env })
  assert.equal((await fetch(`${server.url}/api/v1/version/`)).status, 200)
  assert.equal((await fetch(`${server.url}/api/v1/version//`)).status, 401)
})

test('a body on an endpoint that takes none is ignored, whatever it claims to be', async () => {
  const server = await startTestServer({ env })
  const answer = await sendRaw(
    server.port,
    'GET /api/v1/version HTTP/1.1\r\nHost: x\r\nContent-Type: not/a;;type\r\nContent-Length: 5\r\nConnection: close\r\n\r\n{bad]',
  )
  assert.match(answer, /^HTTP\/1\.1 200 /)
})

test('without a credential every other path below /api/v1 is 401, known or not; elsewhere unknown is 404', async () => {
  const server = await startTestServer({ env })
  for (const path of ['/api/v1/bots', '/api/v1/nonsense', '/api/v1/%zz', '/api/v1/%00']) {
    const { status, headers, body } = await json(server, path)
    assert.equal(status, 401, path)
    assert(headers.get('www-authenticate'), path)
    assert.equal(body['code'], 'unauthenticated')
  }
  for (const path of ['/list/api/nonsense', '/nonsense', '/list/nonsense', '/%zz'])
    assert.equal((await json(server, path)).status, 404, path)
})

test('errors are problem bodies with a stable code, the request id and no inner details', async () => {
  const server = await startTestServer({ env })
  const { status, headers, body } = await json(server, '/nonsense?code=secret', {
    headers: { 'x-request-id': 'abc-1' },
  })
  assert.equal(status, 404)
  assert.equal(headers.get('content-type'), 'application/problem+json')
  assert.equal(headers.get('x-request-id'), 'abc-1')
  assert.deepEqual(body, {
    type: '/docs/errors#not_found',
    title: 'Not found',
    status: 404,
    detail: 'There is no such thing here, or it is not yours.',
    instance: '/nonsense',
    code: 'not_found',
    message: 'There is no such thing here, or it is not yours.',
    requestId: 'abc-1',
  })
})

test('a request id that could forge a log line is replaced', async () => {
  const server = await startTestServer({ env })
  const { headers } = await json(server, '/healthz', { headers: { 'x-request-id': 'a b"{}' } })
  assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-z]+$/)
})

test('both APIs are open to every origin, but never with cookies', async () => {
  const server = await startTestServer({ env })
  const preflight = await fetch(`${server.url}/api/v1/version`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'GET' },
  })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /x-api-key/)
  assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
  const page = await fetch(`${server.url}/`, { headers: { origin: 'https://a.example' } })
  assert.equal(page.headers.get('access-control-allow-origin'), null)
})

test('pages and documents are served', async () => {
  const server = await startTestServer({ env })
  for (const path of ['/', '/list', '/docs', '/docs/errors']) {
    const answer = await fetch(server.url + path)
    assert.equal(answer.status, 200, path)
    assert.match(answer.headers.get('content-type') ?? '', /text\/html/)
    assert(answer.headers.get('content-security-policy'), path)
  }
  const source = /src="(.*scalar.js)"/.exec(await fetch(`${server.url}/docs`).then((answer) => answer.text()))?.[1]
  const script = await fetch(new URL(source ?? '', `${server.url}/docs/`))
  assert.match(script.headers.get('content-type') ?? '', /javascript/)
  assert.equal(script.headers.get('content-encoding'), 'gzip')
  assert((await script.text()).length > 1_000_000)
  for (const path of ['/api/v1/openapi.json', '/list/api/openapi.json']) {
    assert.equal((await json(server, path)).body['openapi'], '3.1.1', path)
  }
})

test('metrics are for loopback, or for whoever has the token', async () => {
  const local = await startTestServer({ env })
  const text = await fetch(`${local.url}/metrics`).then((answer) => answer.text())
  assert.match(text, /botberth_database_up 1/)
  assert.match(text, /nodejs_eventloop_lag_seconds/)
  const again = await fetch(`${local.url}/metrics`).then((answer) => answer.text())
  assert.match(again, /botberth_http_request_duration_seconds_count\{method="GET",route="\/metrics",status="200"\} 1/)
  const sum = /_seconds_sum\{method="GET",route="\/metrics",status="200"\} (\S+)/.exec(again)?.[1]
  assert(Number(sum) > 0, `a request took ${sum} s`)
  assert.equal((await fetch(`${local.url}/metrics`, { headers: { 'x-forwarded-for': '127.0.0.1' } })).status, 403)

  const token = 'a-long-enough-token'
  const shared = await startTestServer({ env: { ...env, PUBLIC_URL: 'https://bots.example', METRICS_TOKEN: token } })
  assert.equal((await fetch(`${shared.url}/metrics`)).status, 403)
  assert.equal(
    (await fetch(`${shared.url}/metrics`, { headers: { authorization: 'Bearer wrong-token-altogether' } })).status,
    403,
  )
  assert.equal((await fetch(`${shared.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  const sameLength = `${token.slice(0, -1)}\u00e9`
  assert.equal(
    (await fetch(`${shared.url}/metrics`, { headers: { authorization: `Bearer ${sameLength}` } })).status,
    403,
  )
})
