import assert from 'node:assert/strict'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call } from '../../test/call.ts'

const bot = { id: 'bot_1', name: 'pingpong', server: { state: 'running' }, expiresAt: '2099-01-01T00:00:00Z' }
const resources = {
  identifier: 'srv_1',
  state: 'running',
  cpuPercent: 3.14,
  memoryBytes: 1_048_576,
  memoryLimitBytes: 268_435_456,
  diskBytes: 0,
  diskLimitBytes: 1,
  networkRxBytes: 0,
  networkTxBytes: 0,
  uptimeMs: 1_000,
  restarts: 2,
  restartAt: null,
  lastExit: null,
}

/** Its states one after the other; the last one stays. */
async function start(...states: string[]) {
  const { seen, url } = await startServer((request, response) => {
    if (request.url === '/api/v1/bots')
      return json(response, 200, { data: [bot, { ...bot, id: 'bot_2', name: 'pinger' }] })
    if (request.method === 'POST') return json(response, 202, { identifier: 'srv_1', state: states[0], signal: 'stop' })
    json(response, 200, { ...resources, state: states.length > 1 ? states.shift() : states[0] })
  })
  return { seen, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } }
}

test('each command sends its signal, to the bot that is meant', async () => {
  for (const signal of ['start', 'stop', 'restart']) {
    const { env, seen } = await start('running')
    assert.equal((await call([signal, 'pingpong'], { env })).code, 0)
    const { method, url, body } = seen.at(-1) ?? { method: '', url: '', body: '{}' }
    assert.deepEqual([method, url, JSON.parse(body)], ['POST', '/api/v1/servers/bot_1/power', { signal }])
  }
  const { env, seen } = await start('offline')
  assert.equal((await call(['kill', 'bot_1'], { env })).code, 0)
  assert.equal(seen.at(-1)?.url, '/api/v1/servers/bot_1/kill')
})

test('a name that fits several bots names them, and nothing is sent', async () => {
  const { env, seen } = await start('running')
  const { code, stderr } = await call(['stop', 'ping'], { env })
  assert.equal(code, 2)
  assert.match(stderr, /pingpong \(bot_1\), pinger \(bot_2\)/)
  assert.equal((await call(['stop', 'nobody'], { env })).code, 3)
  assert(seen.every(({ method }) => method === 'GET'))
})

test('--wait ends when the bot is where it should be, and fails when it crashed instead', async () => {
  const stopped = await start('stopping', 'offline')
  const { code, stdout } = await call(['stop', 'pingpong', '--wait', '--json'], { env: stopped.env })
  assert.equal(code, 0)
  assert.equal((JSON.parse(stdout) as { state: string }).state, 'offline')
  const crashed = await start('crashed')
  const ended = await call(['start', 'pingpong', '--wait', '--json'], { env: crashed.env })
  assert.deepEqual([ended.code, ended.stdout], [1, ''])
  assert.match(ended.stderr, /"crashed"/)
})

test('the state of a bot is a table for people, and for programs what the server says with the day it expires', async () => {
  const { env } = await start('running')
  const { stdout } = await call(['status', 'pingpong'], { env })
  assert.match(stdout, /CPU +3\.1 %/)
  assert.match(stdout, /1\.0 MB/)
  const said = JSON.parse((await call(['status', 'pingpong', '--json'], { env })).stdout) as object
  assert.deepEqual(said, { ...resources, expiresAt: bot.expiresAt })
})
