import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'

const bot = (id: string) => ({
  id,
  name: id,
  type: 'custom',
  repo: null,
  server: { state: 'offline' },
  limits: { memoryMb: 1, cpus: 1, diskMb: 1 },
  expiresAt: '2026-01-01T00:00:00Z',
})

async function start() {
  const { seen, url } = await startServer((request, response) => {
    const path = request.url ?? ''
    if (path.includes('/files')) json(response, 500, {})
    else if (path.endsWith('/bot_1/renew')) json(response, 409, { code: 'invalid_state', detail: 'Not this one.' })
    else if (request.method === 'GET') json(response, 200, { data: [bot('bot_1'), bot('bot_2')] })
    else json(response, 200, bot('bot_2'))
  })
  return { seen, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } }
}

test('one bot that cannot be renewed keeps none of the others from it', async () => {
  const { env } = await start()
  const { code, stdout, stderr } = await call(['renew', '--all'], { env })
  assert.equal(code, 5)
  assert.match(stdout, /^bot_2 runs until/)
  assert.match(stderr, /bot_1: Not this one\./)
})

test('settings are changed as far as they are named', async () => {
  const { env, seen } = await start()
  const words = [
    '--auto-deploy',
    'off',
    '--branch',
    'main',
    '--start-command',
    'node .',
    '--memory',
    '256',
    '--cpus',
    '0.5',
  ]
  assert.equal((await call(['bots', 'set', 'bot_2', ...words], { env })).code, 0)
  assert.deepEqual(JSON.parse(seen.at(-1)?.body ?? ''), {
    autoDeployEnabled: false,
    gitBranch: 'main',
    startCommand: 'node .',
    limits: { memoryMb: 256, cpus: 0.5 },
  })
  const before = seen.length
  for (const wrong of [[], ['--auto-deploy', 'maybe'], ['--memory', 'much'], ['--cpus', 'x']])
    assert.equal((await call(['bots', 'set', 'bot_2', ...wrong], { env })).code, 2, wrong.join(' '))
  assert.equal(seen.length, before)
})

test('a folder knows its bot also when its files could not be fetched', async () => {
  const { env } = await start()
  const cwd = makeFolder()
  assert.equal((await call(['init', '--language', 'javascript'], { env, cwd })).code, 1)
  assert(existsSync(join(cwd, '.botberth.json')))
})

test('in Korean the heads are Korean too', async () => {
  const { env } = await start()
  const { stdout } = await call(['bots'], { env: { ...env, LANG: 'ko_KR.UTF-8' } })
  assert.match(stdout, /^이름 +ID +종류/)
})
