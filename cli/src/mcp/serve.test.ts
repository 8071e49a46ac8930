import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call } from '../../test/call.ts'

const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
const message = (value: object) => `${JSON.stringify({ jsonrpc: '2.0', ...value })}\n`
const greeting =
  message({ id: 1, method: 'initialize', params: hello }) + message({ method: 'notifications/initialized' })

test('what was asked for before the other side hung up is answered', async () => {
  const { url } = await startServer(
    (_request, response) => void setTimeout(() => json(response, 200, { data: [] }), 300),
  )
  const input = greeting + message({ id: 2, method: 'tools/call', params: { name: 'list_bots', arguments: {} } })
  const { code, stdout } = await call(['mcp'], { input, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } })
  assert.equal(code, 0)
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number })
  assert.deepEqual(
    answers.map(({ id }) => id),
    [1, 2],
  )
})

test('nobody waits for a deployment whose end nobody wants to know', async () => {
  const { url, seen } = await startServer((request, response) => {
    const path = request.url ?? ''
    if (path.endsWith('/bots')) json(response, 200, { data: [{ id: 'bot_1', name: 'a' }] })
    else json(response, 200, path.includes('/logs') ? { data: [] } : { id: 'dep_1', finishedAt: null })
  })
  const input = greeting + message({ id: 2, method: 'tools/call', params: { name: 'deploy', arguments: { bot: 'a' } } })
  await call(['mcp', '--write'], { input, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } })
  assert(seen.some(({ method }) => method === 'POST'))
})

test('an interrupt ends it with 130', async () => {
  const stop = new AbortController()
  const env = { BOTBERTH_URL: 'http://127.0.0.1:1', BOTBERTH_API_KEY: 'svc_live_x' }
  const ended = call(['mcp'], { input: new PassThrough(), env, signal: stop.signal })
  setTimeout(() => stop.abort(), 300)
  assert.equal((await ended).code, 130)
})
