import assert from 'node:assert/strict'
import { ensureOwner } from '../src/auth/owner.ts'
import { tx } from '../src/db/tx.ts'
import type { TestServer } from './api.ts'
import { noteSecret } from './secrets.ts'

/** Somebody with every kind of credential. */
export interface Person {
  readonly id: string
  readonly name: string
  readonly key: string
  readonly token: string
  readonly cookie: string
}

/** The owner, as the first start makes them. */
export async function makeOwner(server: TestServer): Promise<{ key: string; linkCode: string }> {
  const { pool, config, clock } = server.app
  const welcome = await tx(pool.db, (db) => ensureOwner(db, config, clock.now()))
  assert(welcome?.key)
  noteSecret(welcome.key, welcome.linkCode)
  return { key: welcome.key, linkCode: welcome.linkCode }
}

/** Signs somebody in through the sandbox, as a script does: by following redirects. */
export async function signIn(server: TestServer, name: string, query = ''): Promise<Person> {
  const cookie = await followLogin(
    server,
    `/api/v1/auth/chat/login?prompt=none&login_hint=${encodeURIComponent(name)}${query}`,
  )
  const { accessToken } = (await post(server, '/auth/token', undefined, { cookie })) as { accessToken: string }
  const authorization = `Bearer ${accessToken}`
  const { key } = (await post(server, '/auth/api-keys', { name: 'test' }, { authorization })) as { key: string }
  noteSecret(accessToken, key)
  const me = (await fetch(`${server.url}/api/v1/me`, { headers: { authorization } }).then((answer) =>
    answer.json(),
  )) as { id: string }
  return { id: me.id, name, key, token: accessToken, cookie }
}

/** The session's cookie at the end of a chain of redirects. */
export async function followLogin(server: TestServer, path: string): Promise<string> {
  const jar = new Map<string, string>()
  let url = server.url + path
  for (let hops = 0; hops < 10; hops++) {
    const headers = { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') }
    const answer = await fetch(url, { redirect: 'manual', headers })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]?.split('=') ?? []
      if (value) jar.set(name, value)
      else jar.delete(name)
      noteSecret(value)
    }
    const next = answer.headers.get('location')
    if (!next) {
      assert(answer.ok, `${answer.status} ${await answer.text()}`)
      break
    }
    url = new URL(next, url).href
    noteSecret(
      ...[...new URL(url).searchParams.values()].filter((value) => value.length > 30 && !value.startsWith('http')),
    )
    if (jar.has('botberth_session')) break
  }
  const session = jar.get('botberth_session')
  assert(session, 'no session at the end of the redirects')
  return `botberth_session=${session}`
}

async function post(
  server: TestServer,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<unknown> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
  const answer = await fetch(`${server.url}/api/v1${path}`, init)
  const text = await answer.text()
  assert(answer.ok, `${answer.status} ${text}`)
  return JSON.parse(text)
}
