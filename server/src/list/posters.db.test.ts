// Programs that bots use already, made for other lists: nothing but the address is changed.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { Api as TopGg } from '@top-gg/sdk'
import dbots from 'dbots'
import type * as Undici from 'undici'
import { startTestServer } from '../../test/api.ts'
import { call } from '../../test/call.ts'
import { callList, listBot } from '../../test/list.ts'
import { signIn } from '../../test/people.ts'

const server = await startTestServer()
const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
const bobsId = String((await call(server, 'GET /me', { as: bob })).body['chatUserId'])
const serverCount = async (botId: string) => (await callList(server, `GET /bots/${botId}`)).body['serverCount']

test('dbots posts to a custom service, as it would to any', async () => {
  const { botId, key } = await listBot(server, ann)
  const { TopGG: Known } = dbots.Service.getAll() as unknown as Record<string, typeof dbots.Service>
  assert(Known)
  class Ours extends Known {
    static override get aliases() {
      return ['ours']
    }
    static override get baseURL() {
      return `${server.url}/list/api`
    }
  }
  const poster = new dbots.Poster({
    clientID: botId,
    apiKeys: { ours: key },
    customServices: [Ours as never],
    serverCount: () => 1234,
    userCount: () => 1,
    voiceConnections: () => 0,
  })
  await poster.post('ours')
  assert.equal(await serverCount(botId), 1234)
  const ours = poster.getService('ours') as unknown as {
    userVoted(botId: string, userId: string): Promise<{ data: unknown }>
  }
  assert.deepEqual((await ours.userVoted(botId, bobsId)).data, { voted: 0 })
  await callList(server, `POST /bots/${botId}/vote`, { as: bob })
  assert.deepEqual((await ours.userVoted(botId, bobsId)).data, { voted: 1 })
})

test('the SDK of another list works when its address leads here', async () => {
  const { botId, key } = await listBot(server, ann)
  // The undici that it brings along.
  const undici = createRequire(createRequire(import.meta.url).resolve('@top-gg/sdk'))('undici') as typeof Undici
  const before = undici.getGlobalDispatcher()
  class Elsewhere extends undici.Agent {
    override dispatch(...[options, handler]: Parameters<InstanceType<typeof undici.Agent>['dispatch']>): boolean {
      // Our own requests go through it too.
      if (String(options.origin) !== 'https://top.gg') return super.dispatch(options, handler)
      const path = options.path.replace(/^\/api/, '/list/api')
      return super.dispatch({ ...options, origin: server.url, path }, handler)
    }
  }
  undici.setGlobalDispatcher(new Elsewhere())
  try {
    const api = new TopGg(key)
    await api.postStats({ serverCount: 4321, shardCount: 2 })
    assert.equal(await serverCount(botId), 4321)
    assert.equal(await api.hasVoted(bobsId), false)
    await callList(server, `POST /bots/${botId}/vote`, { as: bob })
    assert.equal(await api.hasVoted(bobsId), true)
    await assert.rejects(new TopGg(`${key}x`).postStats({ serverCount: 1 }), /401/)
  } finally {
    await undici.getGlobalDispatcher().close()
    undici.setGlobalDispatcher(before)
  }
})
