import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { callAll, findUnasked, type Handle, json, startServer } from '../test/server.ts'
import { BotList } from './list-client.ts'

async function start(handle: Handle, path = '') {
  const { seen, url } = await startServer(handle)
  return { seen, list: new BotList({ url: url + path, apiKey: 'svc_list_x', retries: 0 }) }
}

const posted: Handle = (_request, response) => json(response, 200, { message: 'Thanks', isCertified: true })

/** The same as others, for programs that were made for other lists. */
const aliases = new Set(['postStatsOf', 'checkVoteNumber', 'checkVoteNumberOf'])

test('every operation of the list has a method', async () => {
  const { seen, list } = await start((_request, response) =>
    json(response, 200, { data: [], page: 1, totalPages: 1, isCertified: true, message: '' }),
  )
  await callAll(list, ['postStats', 'checkVote'])
  assert.deepEqual(findUnasked('list', seen, aliases), [])
})

test('statistics and votes are those of the key, and the address that a hosted bot is given will do', async () => {
  const { seen, list } = await start(posted, '/list/api')
  assert.deepEqual(await list.postStats(42), { message: 'Thanks', isCertified: true })
  await list.checkVote('1 2')
  assert.deepEqual(
    seen.map(({ method, url, body }) => [method, url, body]),
    [
      ['POST', '/list/api/bots/stats', '{"server_count":42}'],
      ['GET', '/list/api/bots/check-vote?user_id=1+2', ''],
    ],
  )
  assert(seen.every(({ headers }) => headers['x-api-key'] === 'svc_list_x'))
})

/** Lets everything happen that waits for no timer. */
async function settle(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 500 && !condition(); turn++) await new Promise((resolve) => setImmediate(resolve))
  assert(condition())
}

test('statistics are posted at once and then hourly, whatever fails between, until that is stopped', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    let isBroken = false
    const { seen, list } = await start((request, response) => {
      if (isBroken) json(response, 500, {})
      else posted(request, response)
    })
    const told: unknown[] = []
    let servers = 0
    const poster = list.postEveryHour(() => ++servers, {
      onPosted: ({ isCertified }) => told.push(isCertified),
      onError: (error) => told.push(String(error)),
    })
    const next = async (count: number) => {
      mock.timers.tick(3_600_000 * 0.89)
      await new Promise((resolve) => setImmediate(resolve))
      assert.equal(told.length, count - 1, 'too early')
      mock.timers.tick(3_600_000 * 0.22)
      await settle(() => told.length === count)
    }
    await settle(() => told.length === 1)
    await next(2)
    isBroken = true
    await next(3)
    isBroken = false
    await next(4)
    assert.deepEqual(told, [true, true, 'BotberthError: The server answered with 500.', true])
    assert.deepEqual(
      seen.map(({ body }) => body),
      [1, 2, 3, 4].map((count) => `{"server_count":${count}}`),
    )
    poster.stop()
    mock.timers.tick(3_600_000 * 2)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(seen.length, 4)
  } finally {
    mock.timers.reset()
  }
})

test('a count that fails is told and does not end it', async () => {
  const { seen, list } = await start(posted)
  const told = Promise.withResolvers<unknown>()
  const poster = list.postEveryHour(
    () => {
      throw new Error('not ready')
    },
    { onError: told.resolve },
  )
  assert.equal(String(await told.promise), 'Error: not ready')
  assert.equal(seen.length, 0)
  poster.stop()
})

test('whoever is told of a failure may fail too', async (t) => {
  const warned = Promise.withResolvers<unknown>()
  t.mock.method(console, 'warn', (...words: unknown[]) => warned.resolve(words[1]))
  const { list } = await start((_request, response) => json(response, 400, {}))
  const another = new Error('another')
  const poster = list.postEveryHour(() => 1, {
    onError: () => {
      throw another
    },
  })
  assert.equal(await warned.promise, another)
  poster.stop()
})
