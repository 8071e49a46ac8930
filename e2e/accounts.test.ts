// The owner and their credentials, as an operator meets them: on the terminal and with curl.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeScratch, root, startServer, stopServer } from './server.ts'

const scratch = makeScratch('accounts')

const me = (url: string, headers: Record<string, string>) => fetch(`${url}/api/v1/me`, { headers })

async function role(url: string, key: string): Promise<unknown> {
  const answer = await me(url, { 'x-api-key': key })
  return answer.status === 200 ? ((await answer.json()) as { role: string }).role : answer.status
}

function command(dataDir: string, ...args: string[]): string {
  return execFileSync('npm', ['run', '--silent', ...args], {
    cwd: root,
    env: { ...process.env, DATA_DIR: dataDir },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

test('the first start prints a link and a key of the owner, once; the commands print more, with and without a server', async () => {
  const dataDir = join(scratch, 'first')
  const first = await startServer({ dataDir, env: { LOG_LEVEL: 'debug' } })
  const link = /Sign in as the owner\s+(\S+)/.exec(first.output())?.[1] ?? ''
  const key = /svc_live_\w{43}/.exec(first.output())?.[0] ?? ''
  assert.equal(await role(first.url, key), 'owner')
  const opened = await fetch(link, { redirect: 'manual' })
  assert.equal(opened.status, 302)
  assert.match(opened.headers.get('set-cookie') ?? '', /^botberth_session=/)
  assert.equal((await fetch(link, { redirect: 'manual' })).status, 409)

  const another = command(dataDir, 'key', '--', 'from the terminal').trim()
  assert.match(another, /^svc_live_\w{43}$/)
  assert.equal(await role(first.url, another), 'owner')
  const secondLink = command(dataDir, 'owner-link').trim()
  assert(secondLink.startsWith(`${first.url}/auth/owner?code=`))
  assert.equal((await fetch(secondLink, { redirect: 'manual' })).status, 302)
  await stopServer(first)

  const offline = command(dataDir, 'key', '--', 'without a server').trim()
  const second = await startServer({ dataDir })
  assert.doesNotMatch(second.output(), /svc_live_|owner\?code=/)
  for (const known of [key, another, offline]) assert.equal(await role(second.url, known), 'owner')
  await stopServer(second)

  const secrets = [
    key,
    another,
    offline,
    new URL(link).searchParams.get('code') ?? '',
    /session=(\w+)/.exec(opened.headers.get('set-cookie') ?? '')?.[1] ?? '',
  ]
  const printed = first.output().replace(/This is the first start[\s\S]*?Ctrl-C/, '') + second.output()
  for (const secret of secrets) {
    assert(secret.length > 20)
    assert(!printed.includes(secret), 'no secret in the log')
    assert.deepEqual(filesWith(dataDir, secret), [], 'no secret on disk')
  }
  assert.equal(statSync(join(dataDir, 'secret.key')).mode & 0o777, 0o600)
})

test('BOOTSTRAP_API_KEY works for the owner, and no other key is made or printed', async () => {
  const key = `svc_live_${'Ab3'.repeat(12)}`
  const dataDir = join(scratch, 'bootstrap')
  for (let start = 0; start < 2; start++) {
    const running = await startServer({ dataDir, env: { BOOTSTRAP_API_KEY: key } })
    assert.doesNotMatch(running.output(), /svc_live_/)
    assert.equal(await role(running.url, key), 'owner')
    const listed = (await fetch(`${running.url}/api/v1/auth/api-keys`, { headers: { 'x-api-key': key } }).then(
      (answer) => answer.json(),
    )) as { data: unknown[] }
    assert.equal(listed.data.length, 1)
    await stopServer(running, 'SIGKILL')
  }
  const other = `svc_live_${'Zz9'.repeat(12)}`
  const rotated = await startServer({ dataDir, env: { BOOTSTRAP_API_KEY: other } })
  assert.deepEqual([await role(rotated.url, key), await role(rotated.url, other)], [401, 'owner'], 'the old one goes')
  await stopServer(rotated)
})

test('off loopback there is no sandbox, and whoever has no key stays out', async () => {
  const running = await startServer({ dataDir: join(scratch, 'public'), env: { HOST: '0.0.0.0' } })
  const key = /svc_live_\w{43}/.exec(running.output())?.[0] ?? ''
  assert.equal((await fetch(`${running.url}/sandbox/chat`)).status, 404)
  assert.equal((await fetch(`${running.url}/api/v1/auth/chat/login`, { redirect: 'manual' })).status, 409)
  assert.equal((await fetch(`${running.url}/metrics`)).status, 403)
  const answer = await me(running.url, { 'x-api-key': key })
  assert.equal(answer.headers.get('x-ratelimit-limit'), '6000')
  await stopServer(running)
})

test('another SECRET_KEY ends every session, and keys live on', async () => {
  const dataDir = join(scratch, 'secret')
  const first = await startServer({ dataDir, env: { SECRET_KEY: 'a'.repeat(40) } })
  const key = /svc_live_\w{43}/.exec(first.output())?.[0] ?? ''
  const link = /Sign in as the owner\s+(\S+)/.exec(first.output())?.[1] ?? ''
  const cookie = (await fetch(link, { redirect: 'manual' })).headers.get('set-cookie')?.split(';')[0] ?? ''
  const { accessToken } = (await fetch(`${first.url}/api/v1/auth/token`, { method: 'POST', headers: { cookie } }).then(
    (answer) => answer.json(),
  )) as { accessToken: string }
  assert.equal((await me(first.url, { authorization: `Bearer ${accessToken}` })).status, 200)
  await stopServer(first, 'SIGKILL')
  const again = await startServer({ dataDir, env: { SECRET_KEY: 'a'.repeat(40) } })
  assert.equal((await me(again.url, { authorization: `Bearer ${accessToken}` })).status, 200, 'a kill ends no session')
  await stopServer(again)
  const other = await startServer({ dataDir, env: { SECRET_KEY: 'b'.repeat(40) } })
  assert.match(other.output(), /SECRET_KEY is not the one that this database was last used with/)
  assert.doesNotMatch(again.output(), /SECRET_KEY is not/)
  assert.equal((await me(other.url, { authorization: `Bearer ${accessToken}` })).status, 401)
  assert.equal(await role(other.url, key), 'owner')
  await stopServer(other)
})

/** Every file below a folder, PostgreSQL's own included, that holds the text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text))
}
