import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../test/call.ts'

const bot = (id: string, name: string) => ({ id, name, identifier: id, type: 'custom', repo: null })

async function start(...names: string[]) {
  const { seen, url } = await startServer((request, response) => {
    const bots = names.map((name, index) => bot(`bot_${index}`, name))
    json(response, 200, request.method === 'GET' ? { data: bots } : { deleted: true })
  })
  return { seen, url, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } }
}

test('what cannot be undone takes the whole name, and an empty one names nothing', async () => {
  const { seen, env } = await start('staging-2')
  for (const name of ['staging', 'bot_', '', ' ']) {
    const { code } = await call(['bots', 'delete', name, '--yes'], { env })
    assert.equal(code, name.trim() === '' ? 2 : 3, name)
  }
  assert.equal((await call(['rollback', 'staging', '--yes'], { env })).code, 3)
  for (const command of ['deploy', 'restart']) assert.equal((await call([command, ''], { env })).code, 2)
  assert(seen.every(({ method }) => method === 'GET'))
  assert.equal((await call(['bots', 'delete', 'staging-2', '--yes'], { env })).code, 0)
  assert.equal(seen.at(-1)?.url, '/api/v1/bots/bot_0')
})

test('a key from the environment or standard input goes to no server that only a folder names', async () => {
  const { seen, url } = await start('a')
  const cwd = makeFolder()
  const inner = join(cwd, 'inner')
  mkdirSync(inner)
  writeFileSync(join(cwd, '.botberth.json'), JSON.stringify({ url, botId: 'bot_0' }))
  const given = { BOTBERTH_API_KEY: 'svc_live_x', BOTBERTH_LIST_KEY: 'svc_list_x' }
  for (const args of [['bots'], ['status'], ['api', 'GET', '/bots'], ['list', 'stats', '1']]) {
    const { code, stderr } = await call(args, { cwd: inner, env: given })
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, /BOTBERTH_URL/)
  }
  assert.equal((await call(['--api-key-stdin', 'bots'], { cwd, input: 'svc_live_x' })).code, 2)
  assert.equal(seen.length, 0)
  assert.equal((await call(['api', 'GET', '/bots'], { cwd, env: { ...given, BOTBERTH_URL: url } })).code, 0)
  // Where one has signed in it is no stranger.
  await call(['login', '--api-key-stdin', '--url', url], { cwd, input: 'svc_live_y' })
  assert.equal((await call(['api', 'GET', '/bots'], { cwd, env: given })).code, 0)
})

test('a file that is broken is named, and nothing of it shown', async () => {
  const { url } = await start('a')
  const cwd = makeFolder()
  mkdirSync(join(cwd, '.config/botberth'), { recursive: true })
  const settings = join(cwd, '.config/botberth/config.json')
  writeFileSync(settings, `{"keys": {"${url}": svc_live_secret}}`)
  const broken = await call(['bots', '--url', url], { cwd })
  assert.deepEqual([broken.code, broken.stdout], [2, ''])
  assert.match(broken.stderr, /config\.json cannot be understood/)
  assert.doesNotMatch(broken.stderr, /svc_live/)
  writeFileSync(settings, '{}')
  for (const text of ['{', '[]', 'null', '{"url": 1}']) {
    writeFileSync(join(cwd, '.botberth.json'), text)
    const { code, stderr } = await call(['bots'], { cwd })
    assert.equal(code, 2, text)
    assert.match(stderr, /\.botberth\.json cannot be understood/)
  }
})

test('standard input is for one thing', async () => {
  const { env, seen } = await start('a')
  const lines = [
    ['webhooks', 'create', 'https://x.example', '--secret-stdin'],
    ['env', 'import', '-', '--bot', 'a'],
    ['api', 'PUT', '/x', '--input', '-'],
    ['mcp'],
  ]
  for (const args of lines) {
    const { code } = await call([...args, '--api-key-stdin'], { env, input: 'svc_live_x' })
    assert.equal(code, 2, args.join(' '))
  }
  assert(seen.every(({ method }) => method === 'GET'))
})

test('a key that no header can have is refused and not shown', async () => {
  const { env, seen } = await start('a')
  const { code, stderr } = await call(['bots', '--api-key-stdin'], { env, input: 'svc_live_a\nsvc_live_b' })
  assert.equal(code, 4)
  assert.doesNotMatch(stderr, /svc_live/)
  assert.equal(seen.length, 0)
})

test('whoever interrupts while standard input is read is heard', async () => {
  const { env } = await start('a')
  const stop = new AbortController()
  const ended = call(['bots', '--api-key-stdin'], { env, input: new PassThrough(), signal: stop.signal })
  setTimeout(() => stop.abort(), 20)
  assert.equal((await ended).code, 130)
})
