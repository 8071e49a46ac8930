import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'

const start = () =>
  startServer((request, response) => {
    if (request.url?.endsWith('/me')) json(response, 200, { name: 'me', role: 'user' })
    else json(response, 200, request.method === 'GET' ? { data: [{ id: 'key_1', name: 'mine', last4: 'abcd' }] } : {})
  })

function signIn(url: string, more: object): string {
  const folder = makeFolder()
  mkdirSync(join(folder, '.config/botberth'), { recursive: true })
  writeFileSync(settingsOf(folder), JSON.stringify({ url, keys: { [url]: 'svc_live_abcd' }, ...more }))
  return folder
}

const settingsOf = (folder: string) => join(folder, '.config/botberth/config.json')

test('logout revokes a key that was made for this terminal, by its id', async () => {
  const { seen, url } = await start()
  const cwd = signIn(url, { paired: { [url]: 'key_7' } })
  assert.equal((await call(['logout'], { cwd })).code, 0)
  assert.deepEqual(
    seen.map(({ method, url }) => `${method} ${url}`),
    ['DELETE /api/v1/auth/api-keys/key_7'],
  )
  assert.doesNotMatch(readFileSync(settingsOf(cwd), 'utf8'), /svc_live|key_7/)
})

test('logout only forgets a key that somebody brought', async () => {
  const { seen, url } = await start()
  const cwd = makeFolder()
  await call(['login', '--url', url, '--api-key-stdin'], { cwd, input: 'svc_live_abcd' })
  assert.match(readFileSync(settingsOf(cwd), 'utf8'), /svc_live_abcd/)
  assert.equal((await call(['logout'], { cwd })).code, 0)
  assert(seen.every(({ method }) => method === 'GET'))
  assert.doesNotMatch(readFileSync(settingsOf(cwd), 'utf8'), /svc_live/)
})

test('logout forgets the key also when the server is gone, and says what is left to do', async () => {
  const gone = 'http://127.0.0.1:1'
  const cwd = signIn(gone, { paired: { [gone]: 'key_7' } })
  const { code, stderr } = await call(['logout'], { cwd })
  assert.equal(code, 8)
  assert.match(stderr, /not revoked/)
  assert.doesNotMatch(readFileSync(settingsOf(cwd), 'utf8'), /svc_live/)
})

test('whoami names the key', async () => {
  const { url } = await start()
  const { stdout } = await call(['whoami'], { env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_abcd' } })
  assert.equal(stdout, `me (user) at ${url}, with the key mine\n`)
})
