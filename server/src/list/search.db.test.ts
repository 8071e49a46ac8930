import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { data } from '../../test/call.ts'
import { callList, listBot } from '../../test/list.ts'
import { makeManyListings } from '../../test/many-listings.ts'
import { signIn } from '../../test/people.ts'
import type { Pool } from '../db/pool.ts'
import { Search, type Wanted } from './search.ts'

const dayMs = 86_400_000

const server = await startTestServer()
const ann = await signIn(server, 'ann')
const bots = new Map<string, { botId: string; key: string }>()
const add = async (name: string, body: object = {}) => {
  server.clock.advance(1000)
  const bot = await listBot(server, ann, { name })
  bots.set(name, bot)
  await callList(server, `PATCH /my/bots/${bot.botId}`, { as: ann, body })
}
await add('MusicBot', { tags: ['music'], shortDescription: 'Plays songs in every channel' })
await add('음악봇', { tags: ['music', '음악'], description: '디스코드에서 음악을 재생합니다' })
await add('Modérator', { tags: ['moderation'], description: 'Keeps the peace, **always**' })
await add('Quiet', {})

const long = await startTestServer()
// `common` stands in every one, `half` in every second, `rare` in every hundredth; every tenth is certified.
await makeManyListings(long.pool, { listings: 12_000, now: long.clock.now() })

suite('a small list', () => {
  const names = async (query: string) =>
    data(await callList(server, `GET /bots?${query}`)).map((bot) => String(bot['name']))
  const find = (q: string) => names(`q=${encodeURIComponent(q)}`)

  test('is found by words and beginnings of words, in any order, all of which have to be there', async () => {
    assert.deepEqual(await find('music'), ['음악봇', 'MusicBot'], 'a tag is a word too')
    assert.deepEqual(await find('mus'), ['음악봇', 'MusicBot'])
    assert.deepEqual(await find('songs channel plays'), ['MusicBot'])
    assert.deepEqual(await find('songs peace'), [])
    assert.deepEqual(await find('MODERATOR'), ['Modérator'])
    assert.deepEqual(await find('always'), ['Modérator'])
    assert.deepEqual(await find('usicbot'), [], 'not in the middle of a word')
    assert.deepEqual(await find('bot'), ['MusicBot'], 'but at the beginning of a part')
  })

  test('is found in Korean by any part of it', async () => {
    for (const q of ['음악', '악봇', '음악봇', '디스코드', '재생', '음', '음악 재생'])
      assert.deepEqual(await find(q), ['음악봇'], q)
    assert.deepEqual(await find('봇음악'), [])
  })

  test('nothing that is typed breaks it', async () => {
    for (const q of ["'", '"', '\\', "' | '", ':*', '&', '!', '()', '%', '🤖', 'a:* & b', "x'::tsquery", ' ', '<->'])
      assert.equal((await callList(server, `GET /bots?q=${encodeURIComponent(q)}`)).status, 200, q)
    assert.deepEqual(await find('🤖'), [])
  })

  test('is narrowed by tag and certification, and sorted', async () => {
    assert.deepEqual(await names('tag=MUSIC&sort=newest'), ['음악봇', 'MusicBot'])
    assert.deepEqual(await names(`tag=${encodeURIComponent('음악')}`), ['음악봇'])
    assert.deepEqual(await names('tag=mus'), [])
    assert.deepEqual(await names('sort=newest'), ['Quiet', 'Modérator', '음악봇', 'MusicBot'])
    for (const [name, count] of [
      ['Quiet', 5],
      ['MusicBot', 50],
    ] as const)
      await callList(server, 'POST /bots/stats', { key: bots.get(name)?.key ?? '', body: { server_count: count } })
    assert.deepEqual(await names('sort=servers'), ['MusicBot', 'Quiet', 'Modérator', '음악봇'])
    assert.deepEqual((await names('certified=true')).toSorted(), ['MusicBot', 'Quiet'])
    assert.deepEqual(await names('certified=true&q=songs'), ['MusicBot'])
    assert.deepEqual(await names('certified=true&tag=moderation'), [])
    assert.equal((await names('certified=false')).length, 4)
    server.clock.advance(3 * dayMs)
    assert.deepEqual(await names('certified=true'), [])
    for (const wrong of ['sort=name', 'certified=yes', 'tag=', 'page=0', 'limit=0', 'page=x', 'q=a&q=b'])
      assert.equal((await callList(server, `GET /bots?${wrong}`)).status, 400, wrong)
  })

  test('stands in the order of recent votes: new ones are not buried', async () => {
    const vote = async (name: string, ...people: string[]) => {
      for (const person of people)
        await callList(server, `POST /bots/${bots.get(name)?.botId ?? ''}/vote`, { as: await signIn(server, person) })
    }
    await vote('Quiet', 'p1', 'p2', 'p3', 'p4')
    await vote('Modérator', 'p1')
    assert.deepEqual((await names('sort=votes')).slice(0, 2), ['Quiet', 'Modérator'])
    server.clock.advance(28 * dayMs)
    await vote('음악봇', 'p1')
    assert.deepEqual((await names('')).slice(0, 2), ['음악봇', 'Quiet'], 'one vote of today before four of last month')
    const rank = async (name: string) =>
      (await callList(server, `GET /bots/${bots.get(name)?.botId ?? ''}`)).body['rank']
    assert.deepEqual([await rank('음악봇'), await rank('Quiet')], [1, 2])
    const annAgain = await signIn(server, 'ann')
    bots.set('Newcomer', await listBot(server, annAgain, { name: 'Newcomer' }))
    assert.deepEqual((await names('')).slice(0, 3), ['음악봇', 'Quiet', 'Newcomer'])
  })

  test('comes in pages that end', async () => {
    const page = await callList(server, 'GET /bots?limit=2&page=2&sort=newest')
    assert.deepEqual(
      [page.body['page'], page.body['limit'], page.body['total'], page.body['totalPages'], data(page).length],
      [2, 2, 5, 3, 2],
    )
    assert.deepEqual(data(await callList(server, 'GET /bots?page=99')), [])
    assert.deepEqual(data(await callList(server, 'GET /bots?page=99999999999')), [])
    assert.equal((await callList(server, 'GET /bots?limit=1000')).body['limit'], 100)
  })

  test('has a page of each bot with its days', async () => {
    const { botId, key } = bots.get('MusicBot') ?? { botId: '', key: '' }
    const today = server.clock.now().toISOString().slice(0, 10)
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 60 } })
    server.clock.advance(dayMs)
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 60 } })
    const tomorrow = server.clock.now().toISOString().slice(0, 10)
    const days = data(await callList(server, `GET /bots/${botId}/history?days=2`))
    assert.deepEqual(days, [
      { day: today, votes: 0, serverCount: 60 },
      { day: tomorrow, votes: 0, serverCount: 60 },
    ])
    assert.equal(data(await callList(server, `GET /bots/${botId}/history`)).length, 3)
    assert.equal((await callList(server, `GET /bots/${botId}/history?days=401`)).status, 400)
    assert.equal((await callList(server, 'GET /bots/stats')).status, 404)
  })
})

suite('a long list', () => {
  const ask = async (query: string) => {
    const answer = await callList(long, `GET /bots?${query}`)
    assert.equal(answer.status, 200)
    return { total: answer.body['total'], bots: data(answer) }
  }

  test('is counted up to 10,000, where its pages end', async () => {
    for (const query of ['', 'q=common', 'tag=everything', 'sort=newest']) {
      const { total, bots } = await ask(query)
      assert.deepEqual([total, bots.length], [10_000, 20], query)
    }
    assert.equal((await ask('page=100&limit=100')).bots.length, 100)
    assert.equal((await ask('page=101&limit=100')).bots.length, 0)
    assert.equal((await ask('page=334&limit=30')).bots.length, 10, 'the last one is cut')
    assert.equal((await ask('q=half')).total, 6_000)
    assert.equal((await ask('q=rare')).total, 120)
    assert.equal((await ask('certified=true')).total, 1_200)
    assert.equal((await ask('q=rare&certified=true')).total, 120)
    assert.equal((await ask('q=half&certified=true')).total, 1_200)
  })

  test('is counted once for a question, and asked once for all who ask the same at a time', async () => {
    let statements = 0
    const db = long.pool.db.withPlugin({
      transformQuery: ({ node }) => {
        statements++
        return node
      },
      transformResult: ({ result }) => Promise.resolve(result),
    })
    const spent = async (search: Search, wanted: Wanted, times = 1) => {
      statements = 0
      const page = { limit: 20, offset: 0 }
      const answers = await Promise.all(Array.from({ length: times }, () => search.find(wanted, page)))
      assert(answers.every(({ botIds }) => botIds.length > 0))
      assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1)
      return statements
    }
    const made = () => new Search({ ...long.app, pool: { db } as Pool })
    for (const wanted of [{ q: 'common' }, { q: 'rare' }, { tag: 'everything' }, { certified: true }, {}]) {
      const search = made()
      assert.equal(await spent(search, wanted, 10), 2, `${JSON.stringify(wanted)}: a count and a page`)
      if (wanted.q !== 'rare') assert.equal(await spent(search, wanted), 1, 'the count is remembered')
    }
    const search = made()
    assert.equal(await spent(search, { q: 'common', certified: true }, 10), 4, 'counts of each, of both, and a page')
    assert.equal(await spent(search, { q: 'common', certified: true }), 1)
  })

  test('has one order, whichever way it is gone through', async () => {
    for (const sort of ['votes', 'servers', 'newest'] as const) {
      const order = sort === 'votes' ? 'heat' : sort === 'servers' ? 'server_count' : 'created_at'
      for (const [query, condition] of [
        ['', 'true'],
        ['q=half', 'l.words @@ $$half$$'],
        ['q=rare', 'l.words @@ $$rare$$'],
        ['q=half&certified=true', 'l.words @@ $$half$$ and s.is_badged'],
        ['certified=true', 's.is_badged'],
      ] as const) {
        const rows = await long.pool.query<{ bot_id: string }>(
          `select s.bot_id from standings s join listings l on l.bot_id = s.bot_id where ${condition}
           order by s.${order} desc nulls last, s.bot_id desc offset 40 limit 20`,
        )
        const { bots } = await ask(`${query}&sort=${sort}&page=3`)
        assert.deepEqual(
          bots.map((bot) => bot['botId']),
          rows.map(({ bot_id: id }) => id),
          `${sort} ${query}`,
        )
      }
    }
  })
})
