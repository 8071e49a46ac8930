// Two people, every route, every kind of id: a matrix that grows with the contract. An endpoint with a parameter has
// to say here what a record of somebody is, or why it has none.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '@botberth/contract/endpoint.ts'
import { type EndpointName, endpointList } from '@botberth/contract/endpoints.ts'
import { startTestServer } from '../../test/api.ts'
import { connect, makeRepo } from '../../test/linked.ts'
import { callList, listBot, newBotId } from '../../test/list.ts'
import { makeOwner, type Person, signIn } from '../../test/people.ts'
import { apiBases } from './paths.ts'

const server = await startTestServer()
await makeOwner(server)
const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]

interface Case {
  /** Makes a record of that person and gives its id. */
  readonly make: (person: Person) => Promise<string>
  readonly body?: unknown
  readonly query?: string
}

const apiKeyOf = async (person: Person) => {
  const [row] = await server.pool.query<{ id: string }>('select id from api_keys where user_id = $1', [person.id])
  return row?.id ?? ''
}

const sessionOf = async (person: Person) => {
  const [row] = await server.pool.query<{ id: string }>('select id from sessions where user_id = $1', [person.id])
  return row?.id ?? ''
}

const botOf = async (person: Person) => {
  const headers = { 'x-api-key': person.key, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'mine', type: 'custom' })
  const answer = await fetch(`${server.url}/api/v1/bots`, { method: 'POST', headers, body })
  return ((await answer.json()) as { id: string }).id
}

const deploymentOf = async (person: Person) => {
  const headers = { 'x-api-key': person.key, 'content-type': 'application/json' }
  const body = JSON.stringify({ botId: await botOf(person) })
  const answer = await fetch(`${server.url}/api/v1/deployments`, { method: 'POST', headers, body })
  return ((await answer.json()) as { id: string }).id
}

const serverOf = async (person: Person) => {
  const [row] = await server.pool.query<{ identifier: string }>('select identifier from bots where id = $1', [
    await botOf(person),
  ])
  return row?.identifier ?? ''
}

const installationOf = async (person: Person) => {
  await connect(server, person)
  return String((await makeRepo(server, `${person.name}/app`)).installationId)
}

const subscriptionOf = async (person: Person) => {
  const headers = { 'x-api-key': person.key, 'content-type': 'application/json' }
  const body = JSON.stringify({ url: 'https://example.com/', events: ['server.crashed'] })
  const answer = await fetch(`${server.url}/api/v1/webhooks/subscriptions`, { method: 'POST', headers, body })
  return ((await answer.json()) as { id: string }).id
}

const listingOf = async (person: Person) => (await listBot(server, person)).botId

const registrationOf = async (person: Person) =>
  String((await callList(server, 'POST /registrations', { as: person, body: { botId: newBotId() } })).body['id'])

const everybodys = 'the list is everybody’s'

const cases: Partial<Record<EndpointName, Case | string>> = {
  revokeApiKey: { make: apiKeyOf },
  endSession: { make: sessionOf },
  getBot: { make: botOf },
  updateBot: { make: botOf, body: { name: 'yours' } },
  deleteBot: { make: botOf },
  renewBot: { make: botOf },
  listDeployments: { make: botOf },
  uploadSource: { make: botOf },
  listFiles: { make: botOf },
  readFile: { make: botOf },
  writeFile: { make: botOf },
  deleteFile: { make: botOf },
  makeDeployKey: { make: botOf },
  disconnectRepo: { make: botOf },
  listRepositories: { make: installationOf },
  rollBack: { make: botOf, body: { deploymentId: 'x' } },
  createBackup: { make: botOf },
  listBackups: { make: botOf },
  getBackup: { make: botOf },
  deleteBackup: { make: botOf },
  lockBackup: { make: botOf },
  unlockBackup: { make: botOf },
  restoreBackup: { make: botOf },
  downloadBackup: { make: botOf },
  linkBackup: { make: botOf },
  downloadByLink: 'opens to whoever has the signed link, and to nobody by an id',
  getSubscription: { make: subscriptionOf },
  updateSubscription: { make: subscriptionOf, body: { status: 'disabled' } },
  deleteSubscription: { make: subscriptionOf },
  testSubscription: { make: subscriptionOf },
  listDeliveries: { make: subscriptionOf },
  getDelivery: { make: subscriptionOf },
  redeliver: { make: subscriptionOf },
  getDeployment: { make: deploymentOf },
  readDeploymentLogs: { make: deploymentOf },
  listVariableChanges: { make: deploymentOf },
  cancelDeployment: { make: deploymentOf },
  setPower: { make: serverOf, body: { signal: 'start' } },
  killServer: { make: serverOf },
  getResources: { make: serverOf },
  listResourceHistory: { make: serverOf },
  readServerLogs: { make: serverOf },
  getStartup: { make: botOf },
  setStartup: { make: serverOf, body: { variables: [] } },
  setVariable: { make: serverOf, body: { key: 'A', value: 'b' } },
  deleteVariable: { make: serverOf },
  getDevicePairing: 'belongs to nobody until somebody who knows the code decides',
  decideDevicePairing: 'belongs to nobody until somebody who knows the code decides',
  updateUser: 'the owner’s alone: 403 for all others, whatever the id',
  updateListing: 'the owner’s alone: 403 for all others, whatever the id',
  getListing: everybodys,
  listListingDays: everybodys,
  getListingWidget: everybodys,
  voteForListing: everybodys,
  reportListing: everybodys,
  checkVoteNumberOf: { make: listingOf, query: '?userId=1' },
  postStatsOf: { make: listingOf, body: { server_count: 1 } },
  getRegistration: { make: registrationOf },
  verifyRegistration: { make: registrationOf },
  updateMyListing: { make: listingOf, body: { description: 'mine' } },
  deleteMyListing: { make: listingOf },
  reissueListKey: { make: listingOf },
  transferListing: { make: listingOf, body: { chatUserId: '100000000000000000' } },
  putVoteWebhook: { make: listingOf, body: { url: 'https://example.com/' } },
  getVoteWebhook: { make: listingOf },
  deleteVoteWebhook: { make: listingOf },
  testVoteWebhook: { make: listingOf },
  listVoteDeliveries: { make: listingOf },
}

const { key: bobsListKey } = await listBot(server, bob)

function credentialFor({ api, access }: Endpoint): Record<string, string> {
  if (access === 'listing') return { 'x-api-key': bobsListKey }
  return api === 'list' && access === 'session' ? { cookie: bob.cookie } : { 'x-api-key': bob.key }
}

for (const [name, endpoint] of endpointList) {
  if (!endpoint.params) continue
  const known = cases[name]

  test(`${name}: somebody else’s record answers like one that does not exist`, async () => {
    assert(known !== undefined, 'add a case for this endpoint')
    if (typeof known === 'string') return
    const ask = async (id: string) => {
      const path = apiBases[endpoint.api] + endpoint.path.replace(/\{\w+\}/, id) + (known.query ?? '')
      const headers = { ...credentialFor(endpoint), 'x-request-id': 'same', 'content-type': 'application/json' }
      const answer = await fetch(server.url + path, {
        method: endpoint.method,
        headers,
        ...(known.body !== undefined && { body: JSON.stringify(known.body) }),
      })
      const text = await answer.text()
      return { status: answer.status, text: text.replaceAll(id, 'ID') }
    }
    const id = await known.make(ann)
    assert(id)
    const foreign = await ask(id)
    assert.equal(foreign.status, 404)
    const unknown = id.slice(0, -4) + (id.endsWith('zzzz') ? 'yyyy' : 'zzzz')
    assert.deepEqual(foreign, await ask(unknown))
    assert.deepEqual(foreign, await ask('malformed'))
  })
}

test('the matrix names no endpoint that has gone', () => {
  const names = new Set<string>(endpointList.filter(([, { params }]) => params).map(([name]) => name))
  for (const name of Object.keys(cases)) assert(names.has(name), name)
})
