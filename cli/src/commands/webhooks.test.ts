import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call } from '../../test/call.ts'

test('a signature is checked here, with the secret of the environment', async () => {
  const input = '{"event":"ping"}'
  const signature = `sha256=${createHmac('sha256', 'hush').update(input).digest('hex')}`
  const verify = (env: Record<string, string>) => call(['webhooks', 'verify', signature], { input, env })
  assert.equal((await verify({ WEBHOOK_SECRET: 'hush' })).code, 0)
  assert.equal((await verify({ WEBHOOK_SECRET: 'other' })).code, 5)
  const { code, stderr } = await verify({})
  assert.equal(code, 2)
  assert.match(stderr, /WEBHOOK_SECRET/)
})

const made = { id: 'whs_1', url: 'https://x.example/hook', events: [], status: 'active', secret: 'whsec_made' }

async function start(status = 201, answer: object = made) {
  const { seen, url } = await startServer((_request, response) => json(response, status, answer))
  return { seen, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } }
}

test('a secret that the server made is printed this once, and one that was given is not', async () => {
  const { env, seen } = await start()
  const create = ['webhooks', 'create', 'https://x.example/hook']
  assert.match((await call(create, { env })).stdout, /^whs_1\nwhsec_made\n$/)
  assert.deepEqual(JSON.parse(seen.at(-1)?.body ?? ''), {
    url: 'https://x.example/hook',
    events: ['deploy.completed', 'server.crashed', 'backup.completed'],
  })
  const given = await call([...create, '--secret-stdin', '--event', 'server.crashed'], { env, input: 'hush\n' })
  assert.equal(given.stdout, 'whs_1\n')
  assert.deepEqual(JSON.parse(seen.at(-1)?.body ?? ''), {
    url: 'https://x.example/hook',
    events: ['server.crashed'],
    secret: 'hush',
  })
})

test('a webhook is enabled and disabled by its id', async () => {
  const { env, seen } = await start(200)
  for (const [command, status] of [
    ['enable', 'active'],
    ['disable', 'disabled'],
  ] as const) {
    assert.equal((await call(['webhooks', command, 'whs_1'], { env })).code, 0)
    assert.deepEqual([seen.at(-1)?.method, JSON.parse(seen.at(-1)?.body ?? '')], ['PATCH', { status }])
  }
})

test('of each delivery the last outcome is shown: a status, a cause, or that there is none yet', async () => {
  const delivery = (id: string, attempts: object[]) => ({
    id,
    event: 'ping',
    status: 'failed',
    attempts,
    createdAt: '2026-01-02T03:04:05Z',
  })
  const { env } = await start(200, {
    data: [
      delivery('dlv_1', [
        { statusCode: null, error: 'dns' },
        { statusCode: 503, error: 'http_status' },
      ]),
      delivery('dlv_2', [{ statusCode: null, error: 'timeout' }]),
      delivery('dlv_3', []),
    ],
  })
  const { stdout } = await call(['webhooks', 'deliveries', 'whs_1'], { env })
  assert.match(stdout, /dlv_1 .* 2 +503 /)
  assert.match(stdout, /dlv_2 .* 1 +timeout /)
  assert.match(stdout, /dlv_3 .* 0 +- /)
})
