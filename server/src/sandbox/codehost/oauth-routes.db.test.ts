import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  checkToken,
  deleteAuthorization,
  deleteToken,
  exchangeWebFlowCode,
  refreshToken as refreshUserToken,
} from '@octokit/oauth-methods'
import { request } from '@octokit/request'
import { startTestCodehost, type TestCodehost } from '../../../test/codehost.ts'
import { noteSecret } from '../../../test/secrets.ts'

const hours8 = 28_800_000

/** A code, by the redirect that a script follows. */
async function askForCode(host: TestCodehost, fields: Record<string, string> = {}): Promise<string> {
  const query = { client_id: host.app.clientId, state: 's', login_hint: 'ann', prompt: 'none', ...fields }
  const answer = await fetch(`${host.web}/login/oauth/authorize?${new URLSearchParams(query).toString()}`, {
    redirect: 'manual',
  })
  assert.equal(answer.status, 302)
  const location = new URL(answer.headers.get('location') ?? '')
  assert.equal(location.origin + location.pathname, `${host.origin}/api/v1/auth/codehost/callback`)
  assert.equal(location.searchParams.get('state'), 's')
  return location.searchParams.get('code') ?? ''
}

const clientOf = ({ api, app }: TestCodehost) => ({
  clientType: 'github-app' as const,
  clientId: app.clientId,
  clientSecret: app.clientSecret,
  request: request.defaults({ baseUrl: api }),
})

test('the official client exchanges a code once, refreshes, checks and revokes', async () => {
  const host = await startTestCodehost()
  const client = clientOf(host)
  const code = await askForCode(host)
  const { authentication } = await exchangeWebFlowCode({ ...client, code })
  assert.match(authentication.token, /^ghu_\w{36}$/)
  assert('refreshToken' in authentication)
  assert.match(authentication.refreshToken, /^ghr_\w{76}$/)
  noteSecret(code, authentication.token, authentication.refreshToken)
  await assert.rejects(exchangeWebFlowCode({ ...client, code }), /bad_verification_code|incorrect or expired/)

  const user = await host.as(authentication.token)('GET /user')
  assert.equal(user.data.login, 'ann')
  assert.equal((await checkToken({ ...client, token: authentication.token })).data.user?.login, 'ann')

  const { authentication: newer } = await refreshUserToken({ ...client, refreshToken: authentication.refreshToken })
  noteSecret(newer.token, newer.refreshToken)
  await assert.rejects(host.as(authentication.token)('GET /user'), { status: 401 }, 'the old one ends')
  await assert.rejects(
    refreshUserToken({ ...client, refreshToken: authentication.refreshToken }),
    /bad_refresh_token|incorrect or expired/,
  )
  host.server.clock.advance(hours8 + 1)
  await assert.rejects(host.as(newer.token)('GET /user'), { status: 401 }, 'eight hours')
  const { authentication: newest } = await refreshUserToken({ ...client, refreshToken: newer.refreshToken })
  assert.equal((await deleteToken({ ...client, token: newest.token })).status, 204)
  await assert.rejects(host.as(newest.token)('GET /user'), { status: 401 })
  await assert.rejects(deleteToken({ ...client, token: newest.token }), { status: 404 })

  const [one, two] = [await host.userToken('ann'), await host.userToken('Ann')]
  assert.equal((await deleteAuthorization({ ...client, token: one.accessToken })).status, 204)
  await assert.rejects(host.as(two.accessToken)('GET /user'), { status: 401 }, 'all of that person')
})

test('a code works for whoever answers its challenge, where it was sent, for ten minutes', async () => {
  const host = await startTestCodehost()
  const exchange = async (fields: Record<string, string>, accept = 'application/json') => {
    const answer = await fetch(`${host.web}/login/oauth/access_token`, {
      method: 'POST',
      headers: { accept },
      body: new URLSearchParams({ client_id: host.app.clientId, client_secret: host.app.clientSecret, ...fields }),
    })
    return { status: answer.status, text: await answer.text() }
  }
  const errorOf = async (fields: Record<string, string>) => {
    const { status, text } = await exchange(fields)
    return [status, (JSON.parse(text) as { error?: string }).error]
  }
  const verifier = 'v'.repeat(43)
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const proof = { code_challenge: challenge, code_challenge_method: 'S256' }
  assert.deepEqual(await errorOf({ code: await askForCode(host, proof) }), [200, 'bad_verification_code'])
  assert.deepEqual(await errorOf({ code: await askForCode(host, proof), code_verifier: 'w'.repeat(43) }), [
    200,
    'bad_verification_code',
  ])
  assert.deepEqual(await errorOf({ code: await askForCode(host, proof), code_verifier: verifier }), [200, undefined])
  assert.deepEqual(await errorOf({ code: await askForCode(host), redirect_uri: 'http://evil.example/' }), [
    200,
    'redirect_uri_mismatch',
  ])
  assert.deepEqual(await errorOf({ code: 'x', client_secret: 'y' }), [200, 'incorrect_client_credentials'])
  assert.deepEqual(await errorOf({ code: 'x', client_id: 'y' }), [404, 'Not Found'])
  assert.deepEqual(await errorOf({ grant_type: 'password' }), [200, 'unsupported_grant_type'])
  const late = await askForCode(host)
  host.server.clock.advance(600_001)
  assert.deepEqual(await errorOf({ code: late }), [200, 'bad_verification_code'])
  const { text } = await exchange({ code: await askForCode(host) }, '*/*')
  const fields = new URLSearchParams(text)
  assert.deepEqual(
    [fields.get('token_type'), fields.get('expires_in'), fields.get('refresh_token_expires_in')],
    ['bearer', '28800', '15897600'],
  )
})

test('a person agrees or declines on the page, which sends codes nowhere but to this server', async () => {
  const host = await startTestCodehost()
  const query = new URLSearchParams({ client_id: host.app.clientId, state: 's', login: '"><b>' })
  const page = await fetch(`${host.web}/login/oauth/authorize?${query.toString()}`).then((answer) => answer.text())
  assert.match(page, /This is a sandbox/)
  assert.match(page, /value="&quot;&gt;&lt;b&gt;"/)
  const send = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${host.web}/login/oauth/authorize`, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body: new URLSearchParams({ client_id: host.app.clientId, state: 's', ...fields }),
    })
  const declined = new URL((await send({ decision: 'cancel' })).headers.get('location') ?? '')
  assert.deepEqual([...declined.searchParams.keys()], ['error', 'error_description', 'state'])
  const agreed = new URL((await send({ name: 'Ann Lee' })).headers.get('location') ?? '')
  assert.match(agreed.searchParams.get('code') ?? '', /^\w{20}$/)
  assert.equal((await send({ name: 'ann' }, { origin: 'https://evil.example' })).status, 403)
  assert.equal((await send({ name: 'ann', redirect_uri: 'https://evil.example/' })).status, 400)
  assert.equal((await send({ name: 'ann', client_id: 'other' })).status, 400)
  assert.equal((await send({ name: 'ann', code_challenge: 'c', code_challenge_method: 'plain' })).status, 400)
  const hinted = new URLSearchParams({ client_id: host.app.clientId, login_hint: 'ann', prompt: 'none' })
  const crossSite = await fetch(`${host.web}/login/oauth/authorize?${hinted.toString()}`, {
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'cross-site' },
  })
  assert.equal(crossSite.status, 200, 'the page asks')
})
