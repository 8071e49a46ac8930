// What cannot be undone, what is done when nobody can be asked, and what scripts get to see when something is wrong.
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { type Handle, json, startServer } from '@botberth/sdk/test/server.ts'
import { call } from '../../test/call.ts'

const bot = {
  id: 'bot_1',
  name: 'pingpong',
  identifier: 'srv_1',
  server: { state: 'running' },
  expiresAt: '2099-01-01T00:00:00Z',
}

async function start(more: Handle = (_request, response) => json(response, 200, {})) {
  const { seen, url } = await startServer((request, response) => {
    if (request.method === 'GET' && request.url === '/api/v1/bots') json(response, 200, { data: [bot] })
    else more(request, response)
  })
  const changes = () => seen.filter(({ method }) => method !== 'GET').map(({ method, url }) => `${method} ${url}`)
  return { seen, changes, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } }
}

const destructive = [
  { args: ['bots', 'delete', 'pingpong'], name: 'pingpong', change: 'DELETE /api/v1/bots/bot_1' },
  {
    args: ['backups', 'delete', 'bak_1', 'pingpong'],
    name: 'bak_1',
    change: 'DELETE /api/v1/bots/bot_1/backups/bak_1',
  },
  {
    args: ['backups', 'restore', 'bak_1', 'pingpong'],
    name: 'pingpong',
    change: 'POST /api/v1/bots/bot_1/backups/bak_1/restore',
  },
  { args: ['webhooks', 'delete', 'whs_1'], name: 'whs_1', change: 'DELETE /api/v1/webhooks/subscriptions/whs_1' },
  { args: ['keys', 'revoke', 'key_1'], name: 'key_1', change: 'DELETE /api/v1/auth/api-keys/key_1' },
]

for (const { args, name, change } of destructive) {
  const command = args.slice(0, 2).join(' ')

  test(`${command} needs --yes where nobody can be asked, and does nothing without it`, async () => {
    const { env, changes } = await start()
    const { code, stdout, stderr } = await call([...args, '--json'], { env })
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
    assert.deepEqual([code, stdout, error.code], [2, '', 'needs_flag'])
    assert.match(error.message, /--yes/)
    assert.deepEqual(changes(), [])
    assert.equal((await call([...args, '--yes'], { env })).code, 0)
    assert.deepEqual(changes(), [change])
  })

  test(`${command} asks at a terminal, and only the whole name is a yes`, async () => {
    const { env, changes } = await start()
    const answer = (input: string) => call(args, { env, input, isTerminal: true })
    for (const no of ['\n', 'y\n', `${name.slice(0, -1)}\n`]) assert.equal((await answer(no)).code, 1, no)
    assert.deepEqual(changes(), [])
    assert.equal((await answer(`${name}\n`)).code, 0)
    assert.deepEqual(changes(), [change])
  })
}

test('what is done unasked takes the whole name of a bot', async () => {
  const { env, changes } = await start()
  assert.equal((await call(['bots', 'delete', 'ping', '--yes'], { env })).code, 3)
  assert.equal((await call(['bots', 'delete', '', '--yes'], { env })).code, 2)
  assert.deepEqual(changes(), [])
})

test('a server that hangs up is exit code 8, and what it is says so in JSON', async () => {
  const { env } = await start((request) => request.socket.destroy())
  const { code, stdout, stderr } = await call(['restart', 'pingpong', '--json'], { env })
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
  assert.deepEqual([code, stdout, error.code], [8, '', 'unreachable'])
  assert(error.message.includes(env.BOTBERTH_URL))
})

const refusals = [
  [401, 'unauthenticated', 4],
  [403, 'forbidden', 5],
  [404, 'not_found', 3],
  [409, 'invalid_state', 5],
  [500, 'internal', 1],
] as const

for (const [status, code, exitCode] of refusals) {
  test(`what is refused with ${status} ends with ${exitCode}, and tells the request by which it is found`, async () => {
    const { env } = await start((_request, response) =>
      json(response, status, { code, detail: 'Not now.', requestId: 'req_7' }),
    )
    const ended = await call(['stop', 'pingpong', '--json'], { env })
    const { error } = JSON.parse(ended.stderr) as { error: Record<string, unknown> }
    assert.deepEqual([ended.code, ended.stdout, error['code'], error['requestId']], [exitCode, '', code, 'req_7'])
  })
}

test('Ctrl+C ends a command that waits with 130, and nothing more is asked', async () => {
  const controller = new AbortController()
  const { env, seen } = await start((request, response) => {
    if (request.method === 'POST')
      return json(response, 202, { identifier: 'srv_1', state: 'stopping', signal: 'stop' })
    json(response, 200, { state: 'stopping' })
    controller.abort()
  })
  const { code } = await call(['stop', 'pingpong', '--wait'], { env, signal: controller.signal })
  assert.equal(code, 130)
  assert.equal(seen.filter(({ url }) => url.endsWith('/resources')).length, 1)
})

test('Ctrl+C at a question is a no', async () => {
  const { env, changes } = await start()
  const controller = new AbortController()
  const input = new PassThrough()
  const asked = call(['bots', 'delete', 'pingpong'], { env, input, isTerminal: true, signal: controller.signal })
  controller.abort()
  assert.equal((await asked).code, 130)
  assert.deepEqual(changes(), [])
})

test('times and numbers that make no sense are refused before anybody is asked', async () => {
  const { env, seen } = await start()
  for (const args of [
    ['stop', 'pingpong', '--wait', '--timeout', '0'],
    ['stop', 'pingpong', '--timeout', 'soon'],
    ['backups', 'create', 'pingpong', '--timeout', '-1'],
    ['webhooks', 'create', 'https://x.example', '--event', 'nonsense'],
  ])
    assert.equal((await call(args, { env })).code, 2, args.join(' '))
  assert.deepEqual(seen, [])
})
