import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { data } from '../../test/call.ts'
import { callList, editProfile, listBot } from '../../test/list.ts'
import { signIn } from '../../test/people.ts'
import { getPage } from '../../test/site.ts'
import { until } from '../../test/until.ts'

const dayMs = 86_400_000

const server = await startTestServer()
const ann = await signIn(server, 'ann')
const nameOf = async (botId: string) =>
  (await server.pool.query<{ name: string }>('select name from listings where bot_id = $1', [botId]))[0]?.name

test('a bot that is renamed on the platform is renamed here, a day later, by a visit or its statistics', async () => {
  const { botId, key } = await listBot(server, ann, { name: 'Caterpillar' })
  await editProfile(server, botId, { name: 'Chrysalis' })
  server.clock.advance(dayMs - 1)
  assert.match((await getPage(server, `/list/bots/${botId}`)).text, /Caterpillar/)
  server.clock.advance(1)
  assert.match((await getPage(server, `/list/bots/${botId}`)).text, /Caterpillar/, 'nobody waits for it')
  await until('the new name', async () => (await nameOf(botId)) === 'Chrysalis')
  const found = async (q: string) => data(await callList(server, `GET /bots?q=${q}`)).length
  assert.deepEqual([await found('caterpillar'), await found('chrysalis')], [0, 1])

  await editProfile(server, botId, { name: 'Butterfly' })
  server.clock.advance(dayMs)
  assert.equal((await callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })).status, 200)
  await until('the newer name', async () => (await nameOf(botId)) === 'Butterfly')
})

test('the platform is asked once a day, by all servers together, and its failures are nobody’s', async () => {
  const asked: string[] = []
  const answers: { current: (response: ServerResponse, id: string) => void } = { current: () => {} }
  const platform = createServer(({ url = '' }, response) => {
    const id = url.split('/')[2] ?? ''
    asked.push(id)
    answers.current(response, id)
  }).listen(0, '127.0.0.1')
  await once(platform, 'listening')
  after(() => {
    platform.closeAllConnections()
    platform.close()
  })
  const { port } = platform.address() as AddressInfo
  const env = { CHAT_CLIENT_ID: '1'.repeat(18), CHAT_CLIENT_SECRET: 's', CHAT_API_URL: `http://127.0.0.1:${port}` }
  const parts = { pool: server.pool, clock: server.clock, env }
  const [one, two] = [await startTestServer(parts), await startTestServer(parts)]
  const { botId } = await listBot(server, ann, { name: 'Steady' })
  const other = await listBot(server, ann, { name: 'Other' })
  const visit = (at: typeof one, id: string) => callList(at, `GET /bots/${id}`)

  answers.current = (response, id) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id, name: 'Told', icon: 'abc', description: '' }))
  server.clock.advance(dayMs)
  await Promise.all([one, two, one, two].map((at) => visit(at, botId)))
  await until('the name', async () => (await nameOf(botId)) === 'Told')
  const { body } = await visit(two, botId)
  assert.equal(body['avatarUrl'], `https://cdn.discordapp.com/app-icons/${botId}/abc.png`)

  answers.current = (response) => response.writeHead(500).end()
  server.clock.advance(dayMs)
  assert.equal((await visit(one, botId)).status, 200)
  await until('the question', () => Promise.resolve(asked.length === 2))
  assert.equal((await visit(one, other.botId)).status, 200)
  assert.deepEqual([(await visit(one, botId)).body['name'], asked], ['Told', [botId, botId]], 'it is left in peace')
})
