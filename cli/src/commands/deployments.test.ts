import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'

const bot = { id: 'bot_1', name: 'a', identifier: 'srv', type: 'custom', repo: null }
const made = (id: string, rollbackOf: string | null = null, status = 'succeeded') => ({
  id,
  rollbackOf,
  status,
  createdAt: '2026-01-01T00:00:00Z',
  durationMs: 1,
  finishedAt: '2026-01-01T00:00:01Z',
  steps: [],
})

async function start(deployments: readonly object[] = []) {
  const { seen, url } = await startServer((request, response) => {
    const path = request.url ?? ''
    if (request.method === 'POST') json(response, 201, made('dep_new'))
    else if (path.includes('/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const event = { topic: 'deployment:dep_new', deployment: made('dep_new') }
      response.end(`event: deployment\ndata: ${JSON.stringify(event)}\n\n`)
    } else if (path.includes('/deployments/')) json(response, 200, made(path.split('/').at(-1) ?? ''))
    else if (path.includes('/deployments')) json(response, 200, { data: deployments })
    else json(response, 200, path.endsWith('/bots/bot_1') ? bot : { data: [bot] })
  })
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' }
  const rolledBackTo = () =>
    seen.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body) as object)
  return { seen, env, url, rolledBackTo }
}

test('rolling back twice goes back twice', async () => {
  const once = await start([made('dep_3'), made('dep_x', null, 'failed'), made('dep_2'), made('dep_1')])
  assert.equal((await call(['rollback', 'a', '--yes'], { env: once.env })).code, 0)
  assert.deepEqual(once.rolledBackTo(), [{ deploymentId: 'dep_2', source: 'cli' }])
  const twice = await start([made('dep_4', 'dep_2'), made('dep_3'), made('dep_2'), made('dep_1')])
  assert.equal((await call(['rollback', 'a', '--yes'], { env: twice.env })).code, 0)
  assert.deepEqual(twice.rolledBackTo(), [{ deploymentId: 'dep_1', source: 'cli' }])
  const first = await start([made('dep_2', 'dep_1'), made('dep_1')])
  assert.equal((await call(['rollback', 'a', '--yes'], { env: first.env })).code, 3)
})

test('in a linked folder the deployment is all that has to be named', async () => {
  const { env, url, rolledBackTo } = await start([made('dep_1')])
  const cwd = makeFolder()
  writeFileSync(join(cwd, '.botberth.json'), JSON.stringify({ url, botId: 'bot_1' }))
  assert.equal((await call(['rollback', 'dep_7', '--yes'], { env, cwd })).code, 0)
  assert.deepEqual(rolledBackTo(), [{ deploymentId: 'dep_7', source: 'cli' }])
})

test('without a linked folder nothing is uploaded by guessing, and nothing deployed in its place', async () => {
  const { env, seen } = await start()
  const { code, stderr } = await call(['deploy', 'a'], { env, cwd: makeFolder() })
  assert.equal(code, 2)
  assert.match(stderr, /--no-upload/)
  assert(seen.every(({ method }) => method === 'GET'))
  assert.equal((await call(['deploy', 'a', '--no-upload', '--wait'], { env })).code, 0)
})

test('numbers are read before anything is done', async () => {
  const { env, seen } = await start()
  const wrong = [
    ['deploy', 'a', '--no-upload', '--timeout', 'abc'],
    ['deploy', 'a', '--no-upload', '--wait', '--detach'],
    ['start', 'a', '--wait', '--timeout', '2s'],
    ['deployments', 'a', '--page', '0'],
    ['deployments', 'a', '--limit', 'many'],
    ['list', 'search', '--limit', '1.5'],
  ]
  for (const args of wrong) assert.equal((await call(args, { env })).code, 2, args.join(' '))
  assert.equal(seen.length, 0)
})

test('whoever leaves a deployment is told that it goes on, and how to stop it', async () => {
  const stop = new AbortController()
  const { url } = await startServer((request, response) => {
    const path = request.url ?? ''
    if (request.method === 'POST') return json(response, 201, { ...made('dep_1'), finishedAt: null })
    if (!path.includes('/stream')) return json(response, 200, { data: [bot] })
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n')
    stop.abort()
  })
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' }
  const { code, stderr } = await call(['deploy', 'a', '--no-upload'], { env, signal: stop.signal })
  assert.equal(code, 130)
  assert.match(stderr, /goes on\. Stop it: `botberth deployment cancel dep_1`/)
})
