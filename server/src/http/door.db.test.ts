import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { makeOwner } from '../../test/people.ts'
import { sendRaw } from '../../test/raw.ts'

const server = await startTestServer()
const owner = await makeOwner(server)
const port = await server.listening.openDoor({ host: '127.0.0.1', port: 0 })

/** Without the tidying that `fetch` does to paths. */
function ask(path: string, headers: Record<string, string> = {}): Promise<{ status: number; limit: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers }, (answer) => {
      answer.resume()
      resolve({ status: answer.statusCode ?? 0, limit: answer.headers['x-ratelimit-limit'] })
    })
    asked.once('error', reject).end()
  })
}

test('through the door there are both APIs, and nothing else', async () => {
  for (const path of ['/api/v1/version', '/%61pi/v1/version', '/api/v1/openapi.json', '/list/api/openapi.json'])
    assert.equal((await ask(path)).status, 200, path)
  assert.equal((await ask('/api/v1/bots')).status, 401)
  const others = ['/', '/list', '/docs', '/metrics', '/healthz', '/readyz', '/auth/owner?code=x', '/login', '/api/v1x']
  const tricks = [
    '/api/v1/../../metrics',
    '/api/v1/%2e%2e/%2e%2e/metrics',
    '//metrics',
    '/metrics?/api/v1',
    '/metrics#/api/v1/x',
  ]
  for (const path of [...others, ...tricks]) assert.notEqual((await ask(path)).status, 200, path)
})

test('whoever comes through it is a stranger: limited, and with no right that this machine has', async () => {
  const key = { 'x-api-key': owner.key }
  assert.equal((await fetch(`${server.url}/api/v1/me`, { headers: key })).headers.get('x-ratelimit-limit'), null)
  assert.deepEqual(await ask('/api/v1/me', key), { status: 200, limit: '6000' })
  assert.notEqual((await ask('/api/v1/auth/chat/login?login_hint=eve&prompt=none')).status, 302)
})

test('nobody speaks for others through the door, also where a proxy on the loopback may; its limits are its own', async () => {
  const behind = await startTestServer({ env: { PUBLIC_RATE_LIMIT: '3', TRUST_PROXY: '127.0.0.1' } })
  const doorPort = await behind.listening.openDoor({ host: '127.0.0.1', port: 0 })
  const left = async (at: string, from?: string) => {
    const headers = from === undefined ? {} : { 'x-forwarded-for': from }
    return (await fetch(`${at}/api/v1/version`, { headers })).headers.get('x-ratelimit-remaining')
  }
  const door = `http://127.0.0.1:${doorPort}`
  assert.deepEqual([await left(behind.url, '192.0.2.7'), await left(behind.url, '192.0.2.8')], ['2', '2'])
  assert.deepEqual([await left(door, '192.0.2.7'), await left(door, '192.0.2.9')], ['2', '1'])
  assert.equal(await left(behind.url), '2')
  // `fetch` sends no `Expect`.
  const expecting = await sendRaw(
    doorPort,
    'GET /api/v1/version HTTP/1.1\r\nHost: x\r\nExpect: x\r\nX-Forwarded-For: 192.0.2.10\r\nConnection: close\r\n\r\n',
  )
  assert.match(expecting, /^x-ratelimit-remaining: 0\r$/im)
  await behind.close()
})

test('a stop of the server ends what came through the door, streams too', async () => {
  const stopped = await startTestServer()
  const somebody = await makeOwner(stopped)
  const doorPort = await stopped.listening.openDoor({ host: '127.0.0.1', port: 0 })
  const stream = await fetch(`http://127.0.0.1:${doorPort}/api/v1/stream?topics=me`, {
    headers: { 'x-api-key': somebody.key },
  })
  assert.equal(stream.status, 200)
  const ended = Promise.allSettled([stream.text()])
  await stopped.close()
  await ended
  await assert.rejects(fetch(`http://127.0.0.1:${doorPort}/api/v1/version`))
})
