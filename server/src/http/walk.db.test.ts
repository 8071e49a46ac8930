// Walks the contract with what every endpoint has to answer alike, so that those that are added later are covered.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '@botberth/contract/endpoint.ts'
import { endpointList } from '@botberth/contract/endpoints.ts'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { call } from '../../test/call.ts'
import { createAwayPool } from '../../test/db.ts'
import { callList, listBot } from '../../test/list.ts'
import { makeOwner, type Person, signIn } from '../../test/people.ts'
import { randomToken, sha256 } from '../lib/secret.ts'
import { apiBases } from './paths.ts'

/** The status and the code that an endpoint answers this credential with, whatever its input. */
async function ask(server: TestServer, endpoint: Endpoint, headers: Record<string, string>): Promise<string> {
  const path = apiBases[endpoint.api] + endpoint.path.replace(/\{\w+\}/g, 'ABCD-EFGH')
  const init = {
    method: endpoint.method,
    redirect: 'manual' as const,
    headers: { 'content-type': 'application/json', ...headers },
  }
  const answer = await fetch(server.url + path, {
    ...init,
    ...(endpoint.body && { body: JSON.stringify(sampleOf(endpoint)) }),
  })
  const { code } = answer.status >= 400 ? ((await answer.json()) as { code: string }) : { code: '' }
  return `${answer.status} ${code}`.trim()
}

/** A body that passes, for endpoints that look at it before they do anything else. */
function sampleOf({ path }: Endpoint): unknown {
  if (path === '/auth/device/token') return { deviceCode: 'x' }
  if (path === '/bots') return { name: 'x', type: 'custom' }
  return { name: 'x', approve: true, reason: 'x' }
}

const credentialOf = (endpoint: Endpoint, person: Person, listKey: string): Record<string, string> => {
  if (endpoint.access === 'listing') return { 'x-api-key': listKey }
  return ['session', 'cookie', 'guest'].includes(endpoint.access)
    ? { cookie: person.cookie }
    : { 'x-api-key': person.key }
}

const personal = endpointList.filter(([, { access }]) => !['public', 'open', 'signed', 'visitor'].includes(access))
const closed = personal.filter(([, { access }]) => access !== 'guest')

test('every endpoint that is not open is 401 without a credential', async () => {
  const server = await startTestServer()
  for (const [name, endpoint] of closed) assert.equal(await ask(server, endpoint, {}), '401 unauthenticated', name)
})

test('every endpoint that knows people is 403 for a suspended account', async () => {
  const server = await startTestServer()
  const owner = await makeOwner(server)
  const ann = await signIn(server, 'ann')
  const { key } = await listBot(server, ann)
  await call(server, `PATCH /operator/users/${ann.id}`, { as: owner, body: { suspended: true } })
  for (const [name, endpoint] of personal)
    assert.equal(await ask(server, endpoint, credentialOf(endpoint, ann, key)), '403 account_suspended', name)
})

test('every operator’s endpoint is 403 for anybody else', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  for (const [name, endpoint] of closed.filter(([, { access }]) => access === 'operator')) {
    assert.equal(await ask(server, endpoint, credentialOf(endpoint, ann, '')), '403 forbidden', name)
  }
})

test('every endpoint is limited', async () => {
  const server = await startTestServer({ env: { API_RATE_LIMIT: '5', PUBLIC_RATE_LIMIT: '1' } })
  const ann = await signIn(server, 'ann') // three requests with the session
  const { key } = await listBot(server, ann) // and two more
  for (let i = 0; i < 5; i++) {
    await call(server, 'GET /me', { as: ann })
    await callList(server, 'GET /bots/check-vote?user_id=x', { key })
    await callList(server, 'GET /bots', { headers: { 'x-forwarded-for': '192.0.2.1' } })
  }
  await call(server, 'GET /version')
  // As if from outside: what comes from this machine itself may sign in as often as it likes.
  const from = { 'x-forwarded-for': '192.0.2.1' }
  for (let i = 0; i < 60; i++) await fetch(`${server.url}/api/v1/auth/chat/callback`, { headers: from })
  for (const [name, endpoint] of endpointList)
    assert.equal(
      await ask(server, endpoint, { ...credentialOf(endpoint, ann, key), ...from }),
      '429 rate_limited',
      name,
    )
})

test('every endpoint that needs the database is 503 while it is away', async () => {
  const server = await startTestServer({ pool: await createAwayPool() })
  const credentials = {
    'x-api-key': `svc_live_${randomToken()}`,
    authorization: `svc_list_${randomToken()}`,
    cookie: `botberth_session=${randomToken()}`,
    'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
  }
  for (const [name, endpoint] of endpointList.filter(([, { access }]) => access !== 'public')) {
    // The ways back from the platforms look at the browser's own cookie first.
    if (!name.startsWith('finish')) assert.equal(await ask(server, endpoint, credentials), '503 unavailable', name)
  }
  const headers = { cookie: `botberth_login_${sha256('s').toString('hex').slice(0, 8)}=s` }
  for (const platform of ['chat', 'codehost'])
    assert.equal(
      (await fetch(`${server.url}/api/v1/auth/${platform}/callback?state=s&code=c`, { headers })).status,
      503,
    )
})
