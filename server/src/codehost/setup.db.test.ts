// Making an app by the manifest flow, with the sandbox as the code host.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { makeOwner } from '../../test/people.ts'
import { shareSandboxApp } from '../../test/sandbox-app.ts'
import { noteSecret } from '../../test/secrets.ts'
import { issueCode } from '../sandbox/codehost/tokens.ts'
import { startSetup } from './setup.ts'
import { findStoredApp, storeApp } from './stored-app.ts'

const nets = ['127.0.0.0/8', '::1/128']
const apiOf = (server: TestServer) => `${server.url}/sandbox/codehost/api/v3`

async function begin(server: TestServer, organization?: string) {
  const wanted = { apiUrl: apiOf(server), publicUrl: 'https://bots.example', organization, allowedPrivateNets: nets }
  const setup = await startSetup(wanted)
  const page = await (await fetch(setup.url)).text()
  const [, action = ''] = /action="([^"]+)"/.exec(page) ?? []
  const [, manifest = ''] = /name="manifest" value="([^"]+)"/.exec(page) ?? []
  const text = manifest.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
  return { setup, action: new URL(action), manifest: JSON.parse(text) as Record<string, unknown> }
}

async function startSandbox(): Promise<TestServer> {
  const server = await startTestServer()
  await shareSandboxApp(server.app.config.dataDir)
  return server
}

const codeOf = (server: TestServer) =>
  issueCode(server.app, 'manifest', { login: 'ann', redirectUri: 'http://localhost/', challenge: null })

test('the page asks the code host for an app with exactly what is needed', async () => {
  const server = await startSandbox()
  const { setup, action, manifest } = await begin(server)
  try {
    assert.equal(action.pathname, '/sandbox/codehost/settings/apps/new')
    assert.deepEqual(manifest, {
      name: 'Botberth bots.example',
      url: 'https://bots.example',
      redirect_url: `${setup.url}/done`,
      callback_urls: ['https://bots.example/api/v1/auth/codehost/callback'],
      setup_url: 'https://bots.example',
      hook_attributes: { url: 'https://bots.example/api/v1/codehost/events', active: true },
      public: true,
      default_permissions: { contents: 'read', metadata: 'read', statuses: 'write' },
      default_events: ['push', 'repository'],
    })
  } finally {
    setup.close()
  }
  const ofOrganization = await begin(server, 'my org')
  ofOrganization.setup.close()
  assert.equal(ofOrganization.action.pathname, '/sandbox/codehost/organizations/my%20org/settings/apps/new')
})

test('the code comes back by the browser or by hand, only of this set-up, and becomes the app’s keys', async () => {
  const server = await startSandbox()
  const { setup, action } = await begin(server)
  try {
    const state = action.searchParams.get('state') ?? ''
    const code = await codeOf(server)
    const back = (query: Record<string, string>) => fetch(`${setup.url}/done?${new URLSearchParams(query).toString()}`)
    assert.equal((await back({ code, state: 'another' })).status, 502)
    assert.equal((await back({ state })).status, 502)
    assert.equal((await back({ code: 'of-nobody', state })).status, 502)
    assert.equal((await fetch(`${setup.url}/other`)).status, 404)
    await assert.rejects(setup.take('no address'), /no code of this set-up/)
    assert.equal((await back({ code, state })).status, 200)
    const made = await setup.made
    noteSecret(made.clientSecret, made.webhookSecret)
    assert.deepEqual([made.appId, made.privateKey.startsWith('-----BEGIN')], [1_000_001, true])
  } finally {
    setup.close()
  }
  const second = await begin(server)
  try {
    const state = second.action.searchParams.get('state') ?? ''
    await second.setup.take(`http://localhost:1/done?code=${await codeOf(server)}&state=${state}`)
    assert.equal((await second.setup.made).appId, 1_000_001)
  } finally {
    second.setup.close()
  }
})

test('a stored app is sealed, and the next start works with it', async () => {
  const sandbox = await startSandbox()
  const identity = (await sandbox.app.codehost())?.platform
  assert(identity)
  const { appId, privateKey, clientId, clientSecret, webhookSecret } = identity
  noteSecret(clientSecret, webhookSecret)
  const app = { appId, privateKey, clientId, clientSecret, webhookSecret, apiUrl: apiOf(sandbox) }
  const server = await startTestServer({
    env: { PUBLIC_URL: 'https://bots.example', ALLOWED_PRIVATE_NETS: '127.0.0.0/8' },
  })
  await storeApp(server.pool.db, server.app.secrets, app)
  assert.deepEqual(await findStoredApp(server.pool.db, server.app.secrets), app)
  const { key } = await makeOwner(server)
  const headers = { 'x-api-key': key }
  const begun = await fetch(`${server.url}/api/v1/auth/codehost/connect`, { headers, redirect: 'manual' })
  const location = begun.headers.get('location') ?? ''
  assert(location.startsWith(`${sandbox.url}/sandbox/codehost/login/oauth/authorize?client_id=${clientId}`), location)
  const listed = (await fetch(`${server.url}/api/v1/codehost/installations`, { headers }).then((answer) =>
    answer.json(),
  )) as Record<string, unknown>
  assert.match(String(listed['installUrl']), /\/apps\/botberth-sandbox\/installations\/new$/)
})
