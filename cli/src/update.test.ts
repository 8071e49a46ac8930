import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../test/call.ts'
import { isNewer } from './update.ts'

test('a version is newer by its first part that differs', () => {
  assert(isNewer('1.10.0', '1.9.9') && isNewer('2.0.0', '1.99.99') && isNewer('0.0.2', '0.0.1'))
  for (const theirs of ['1.9.9', '1.9.8', '0.10.10', '2.0.0-beta', 'nonsense'])
    assert(!isNewer(theirs, '1.9.9'), theirs)
})

async function start({ isSlow = false } = {}) {
  const { url, seen } = await startServer((request, response) => {
    if (!request.url?.endsWith('/version')) return void setTimeout(() => json(response, 200, { data: [] }), 200)
    if (!isSlow) json(response, 200, { version: '99.0.0' })
  })
  const cwd = makeFolder()
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' }
  const list = (more: { args?: string[]; env?: Record<string, string>; isTerminal?: boolean } = {}) =>
    call(['bots', 'list', ...(more.args ?? [])], {
      cwd,
      isTerminal: more.isTerminal ?? true,
      env: { ...env, ...more.env },
    })
  const asked = () => seen.filter((one) => one.url.endsWith('/version')).length
  return { list, asked, cwd }
}

test('somebody at a terminal is told of a newer version, once a day, and not in the result', async () => {
  const { list, asked } = await start()
  const first = await list()
  assert.match(first.stderr, /99\.0\.0/)
  assert.doesNotMatch(first.stdout, /99/)
  assert.doesNotMatch((await list()).stderr, /99/)
  assert.equal(asked(), 1)
})

test('nobody else is, and nothing is asked', async () => {
  const { list, asked } = await start()
  const others = [
    { isTerminal: false },
    { args: ['--json'] },
    { env: { CI: 'true' } },
    { env: { BOTBERTH_NO_UPDATE_NOTICE: '1' } },
  ]
  for (const more of others) assert.doesNotMatch((await list(more)).stderr, /99/)
  assert.equal(asked(), 0)
})

test('a server that is slow to tell holds up no command', async () => {
  const { list, asked, cwd } = await start({ isSlow: true })
  const { code, stderr } = await list()
  assert.equal(code, 0)
  assert.doesNotMatch(stderr, /version/)
  assert(!existsSync(join(cwd, '.config/botberth/updates.json')))
  await list()
  assert.equal(asked(), 2)
})
