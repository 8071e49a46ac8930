import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startTestServer } from '../../../test/api.ts'
import { createAwayPool } from '../../../test/db.ts'
import { latin, letters } from '../../../test/letters.ts'
import { callList, listBot } from '../../../test/list.ts'
import { makeManyListings } from '../../../test/many-listings.ts'
import { signIn } from '../../../test/people.ts'
import { getPage, wordsOf } from '../../../test/site.ts'

const hourMs = 3_600_000
const hostileName = '</title><script>alert(1)</script>" onload="x'

const server = await startTestServer()
const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
await server.pool.query("update sessions set expires_at = '2100-01-01'")

const describe = (botId: string, body: object) => callList(server, `PATCH /my/bots/${botId}`, { as: ann, body })

suite('the main page', () => {
  test('with no bot says how to list the first one, in both languages', async () => {
    const page = await getPage(server, '/list')
    assert.equal(page.status, 200)
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(wordsOf(page), /No bot is listed here yet.*Register the first bot/)
    const korean = await getPage(server, '/list', { headers: { 'accept-language': 'ko-KR,ko;q=0.9' } })
    assert.match(wordsOf(korean), /아직 등록된 봇이 없습니다.*첫 번째 봇 등록하기/)
    assert.match(korean.text, /<html lang="ko">/)
  })

  test('shows the check mark at once, and takes it away at the very moment of the lapse', async () => {
    const { botId, key } = await listBot(server, ann, { name: 'Marked' })
    assert.doesNotMatch((await getPage(server, '/list')).text, /class="badge"/)
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 1234 } })
    for (const path of ['/list', '/list/certified', '/list/bots?certified=true', `/list/bots/${botId}`])
      assert.match((await getPage(server, path)).text, /<span class="badge"/, path)
    assert.match(wordsOf(await getPage(server, '/list')), /Marked Certified .*1.2K servers.*0 votes this month/)
    server.clock.advance(72 * hourMs - 1)
    assert.match((await getPage(server, '/list')).text, /class="badge"/)
    server.clock.advance(1)
    for (const path of ['/list', '/list/bots', '/list/bots?certified=true', '/list/certified', `/list/bots/${botId}`])
      assert.doesNotMatch((await getPage(server, path)).text, /class="badge"/, path)
    assert.match(wordsOf(await getPage(server, '/list/certified')), /No bot matches/)
  })

  test('shows no more of a stranger than their text', async () => {
    const { botId } = await listBot(server, ann, { name: hostileName })
    await describe(botId, {
      shortDescription: '<img src=x onerror=alert(1)>',
      inviteUrl: 'https://e.example/"><script>',
    })
    for (const path of [
      '/list',
      `/list/bots/${botId}`,
      `/list/bots/${botId}/vote`,
      `/list/bots/${botId}/report`,
      '/list/bots?q=alert',
    ]) {
      const { text } = await getPage(server, path)
      assert.doesNotMatch(text, /<script>|<img src=x|" onload="/, path)
      assert.match(text, /&lt;script&gt;alert\(1\)/, path)
    }
  })

  test('is told apart for whoever is signed in, whatever site led here', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' }
    assert.match(wordsOf(await getPage(server, '/list', { as: ann, headers })), /My bots.*Signed in as ann/)
    assert.match(wordsOf(await getPage(server, '/list')), /Sign in/)
    const { headers: sent } = await getPage(server, '/list', { headers: { cookie: 'botberth_session=nobody' } })
    assert.equal(sent.get('cache-control'), 'private, no-cache')
  })

  test('has a strict policy, and a tag that makes the second look cheap', async () => {
    const page = await getPage(server, '/list')
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.doesNotMatch(policy, /unsafe|\*/)
    assert.doesNotMatch(page.text, / style="| on\w+="|<script>/)
    const etag = page.headers.get('etag') ?? ''
    const again = await getPage(server, '/list', { headers: { 'if-none-match': etag } })
    assert.deepEqual([again.status, again.text], [304, ''])
    await listBot(server, bob, { name: 'Newer' })
    assert.equal((await getPage(server, '/list', { headers: { 'if-none-match': etag } })).status, 200)
    const korean = { 'if-none-match': etag, 'accept-language': 'ko' }
    assert.equal((await getPage(server, '/list', { headers: korean })).status, 200)
  })

  test('the language of the address is remembered', async () => {
    const asked = await getPage(server, '/list?lang=ko')
    assert.match(asked.headers.get('set-cookie') ?? '', /^botberth_language=ko; Path=\/; HttpOnly; SameSite=Lax/)
    const later = await getPage(server, '/list/new', { headers: { cookie: 'botberth_language=ko' } })
    assert.match(later.text, /<html lang="ko">/)
    assert.match((await getPage(server, '/list?lang=xx')).text, /<html lang="en">/)
  })

  test('tells other sites what to show of it, with whole addresses', async () => {
    const { text } = await getPage(server, '/list')
    assert.match(text, new RegExp(`<meta property="og:url" content="${server.url}/list">`))
    assert.match(text, new RegExp(`<meta property="og:image" content="${server.url}/list/assets/icon-[\\w-]+\\.png">`))
    assert.match(text, /<meta name="twitter:card" content="summary">/)
    assert.match(text, new RegExp(`hreflang="ko" href="${server.url}/list\\?lang=ko"`))
  })
})

suite('search', () => {
  test('finds by words, tags and marks, and keeps all of it in the address', async () => {
    const { botId, key } = await listBot(server, ann, { name: 'Melodica' })
    await describe(botId, { shortDescription: 'Plays songs', tags: ['Music', '노래'] })
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 5 } })
    for (const path of [
      '/list/bots?q=melodica',
      '/list/bots?q=SONG',
      '/list/bots?tag=music',
      '/list/bots?q=songs&tag=MUSIC&certified=true&sort=servers',
      '/list/tags/music',
      `/list/tags/${encodeURIComponent('노래')}`,
    ]) {
      const words = wordsOf(await getPage(server, path))
      assert.match(words, /1 bot .*Melodica/, path)
    }
    const { text } = await getPage(server, '/list/bots?q=songs&tag=music&certified=true&sort=servers')
    assert.match(text, /href="\/list\/bots\?q=songs&amp;sort=servers&amp;certified=true"/, 'without the tag')
    assert.match(text, /<input type="hidden" name="tag" value="music">/)
    assert.match(text, /<meta name="robots" content="noindex">/)
  })

  test('without a hit offers tags and a way back; hostile words stay words', async () => {
    const page = await getPage(server, `/list/bots?q=${encodeURIComponent('"><script>alert(1)</script>')}&tag=%3Cb%3E`)
    assert.match(wordsOf(page), /No bot matches.*#music.*Clear all filters/)
    assert.doesNotMatch(page.text, /<script>|<b>/)
  })

  test('whatever else an address holds is taken for nothing', async () => {
    for (const query of [
      'page=0',
      'page=-1',
      'page=x',
      'sort=bad',
      'certified=2',
      'q=%00',
      'q=a&q=b',
      'tag=',
      'page=999999',
      'q=%ED%A0%80',
      `q=${'x'.repeat(5000)}`,
    ])
      assert.equal((await getPage(server, `/list/bots?${query}`)).status, 200, query)
    assert.equal((await getPage(server, '/list/tags/%00')).status, 200)
  })

  test('pages through many, and every page but the search leads engines on', async () => {
    await makeManyListings(server.pool, { listings: 60, now: server.clock.now() })
    const first = await getPage(server, '/list/tags/everything')
    assert.match(wordsOf(first), /60 bots.*Page 1 of 3 Next/)
    assert.match(first.text, /href="\/list\/tags\/everything\?page=2" rel="next"/)
    const last = await getPage(server, '/list/tags/everything?page=3')
    assert.match(wordsOf(last), /Previous Page 3 of 3/)
    assert.equal(last.text.match(/class="card"/g)?.length, 12)
    assert.match(last.text, new RegExp(`rel="canonical" href="${server.url}/list/tags/everything\\?page=3"`))
    assert.match(wordsOf(await getPage(server, '/list/tags/everything?page=9')), /60 bots.*Previous/)
  })

  test('a hidden bot is nowhere', async () => {
    const { botId } = await listBot(server, ann, { name: 'Hideous' })
    await server.pool.query('update standings set hidden_at = now() where bot_id = $1', [botId])
    for (const path of ['/list', '/list/new', '/list/bots'])
      assert.doesNotMatch((await getPage(server, path)).text, /Hideous/)
    for (const path of ['', '/about', '/vote', '/report'])
      assert.equal((await getPage(server, `/list/bots/${botId}${path}`)).status, 404)
    const { text } = await getPage(server, '/list/sitemap/0.xml')
    assert(!text.includes(botId) && text.includes('<loc>'))
  })
})

/** The newest bots, which say as much as they may, in Korean; the last of them in letters that hardly compress. */
async function fillUp(count: number): Promise<string> {
  const url = (length: number) => `https://example.com/${letters(length, latin)}`
  let last = ''
  for (let index = 1; index <= count; index++) {
    const isLast = index === count
    const korean = isLast ? {} : { kinds: 600 }
    const { botId } = await listBot(server, ann, { name: letters(isLast ? 100 : 12, korean) })
    const body = {
      shortDescription: letters(160, korean),
      description: letters(isLast ? 20_000 : 1, korean),
      tags: Array.from({ length: 8 }, () => letters(isLast ? 24 : 4, korean)),
      inviteUrl: url(isLast ? 480 : 60),
      supportUrl: url(480),
      websiteUrl: url(480),
    }
    const { status } = await callList(server, `PATCH /my/bots/${botId}`, { as: ann, body })
    assert.equal(status, 200)
    last = botId
  }
  await server.pool.query(
    `insert into listing_days (bot_id, day, votes, server_count)
     select $1, $2::date - n, n * 7919 % 1000, 1000000 + n * 104729 % 99999 from generate_series(0, 29) n`,
    [last, server.clock.now()],
  )
  return last
}

suite('around the pages', () => {
  test('pages, style and script together have at most 15 kB compressed', async (t) => {
    const sizeOf = async (path: string) => {
      const { headers } = await getPage(server, path, { headers: { 'accept-encoding': 'gzip' } })
      assert.equal(headers.get('content-encoding'), 'gzip', path)
      return Number(headers.get('content-length'))
    }
    const full = await fillUp(24)
    const paths = [
      '/list',
      '/list/bots',
      '/list/tags/everything',
      '/list/bots/800000000000000001',
      '/list?lang=ko',
      '/list/new?lang=ko',
      `/list/bots/${full}?lang=ko`,
      `/list/bots/${full}/about?lang=ko`,
      `/list/bots/${full}/about?part=2&lang=ko`,
      `/list/bots/${full}/about?part=999&lang=ko`,
    ]
    for (const path of paths) {
      const { text } = await getPage(server, path)
      const parts = text.match(/\/list\/assets\/site-[\w-]+\.(css|js)/g) ?? []
      assert.equal(parts.length, 2)
      const sizes = await Promise.all([path, ...parts].map(sizeOf))
      const sum = sizes.reduce((a, b) => a + b)
      t.diagnostic(`${path}: ${sizes.join(' + ')} = ${sum} bytes`)
      assert(sum < 15_000, `${path}: ${sum}`)
    }
    assert.equal(
      (await getPage(server, '/list', { headers: { 'accept-encoding': 'br' } })).headers.get('content-encoding'),
      'br',
    )
    for (const accepted of ['identity', 'gzip;q=0, br;q=0.0', 'x'])
      assert.equal(
        (await getPage(server, '/list', { headers: { 'accept-encoding': accepted } })).headers.get('content-encoding'),
        null,
      )
  })

  test('an unknown page is a page, an unknown path of the API is not', async () => {
    const page = await getPage(server, '/list/nothing', { headers: { 'accept-language': 'ko' } })
    assert.equal(page.status, 404)
    assert.match(wordsOf(page), /여기에는 아무것도 없습니다.*not_found/)
    assert.equal((await getPage(server, '/list/bots/930000000000000000')).status, 404)
    const api = await getPage(server, '/list/api/nothing')
    assert.match(api.headers.get('content-type') ?? '', /^application\/problem\+json/)
    assert.match((await getPage(server, '/nothing')).text, /Back to Botberth/)
  })

  test('while the database is away, the page says so', async () => {
    const away = await startTestServer({ pool: await createAwayPool() })
    for (const path of ['/list', '/list/bots/1', '/list/my', '/list/sitemap.xml']) {
      const page = await getPage(away, path, { headers: { cookie: 'botberth_session=x' } })
      assert.equal(page.status, 503, path)
      assert.match(wordsOf(page), /Back in a moment/)
    }
  })

  test('those who look around too much are told to wait', async () => {
    const limited = await startTestServer({ env: { API_RATE_LIMIT: '2' } })
    for (const status of [200, 200, 429]) assert.equal((await getPage(limited, '/list')).status, status)
    assert.match(wordsOf(await getPage(limited, '/list/new')), /Too many requests/)
  })

  test('styles and script are kept for ever under a name that changes with them', async () => {
    const { text } = await getPage(server, '/list')
    for (const [url] of text.matchAll(/\/list\/assets\/[\w-]+\.(css|js|svg)/g)) {
      const answer = await getPage(server, url)
      assert.equal(answer.status, 200, url)
      assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert(answer.text.length > 100)
    }
    assert.equal((await getPage(server, '/list/assets/site-x.css')).status, 404)
  })

  test('search engines find every bot, in parts', async () => {
    const robots = await getPage(server, '/robots.txt')
    assert.match(robots.text, new RegExp(`Sitemap: ${server.url}/list/sitemap\\.xml\n`))
    assert.match(robots.text, /Disallow: \/list\/my\n/)
    const index = await getPage(server, '/list/sitemap.xml')
    assert.match(index.headers.get('content-type') ?? '', /^application\/xml/)
    const parts = [...index.text.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, url]) => new URL(url ?? '').pathname)
    assert.equal(parts.length, 2)
    assert.match((await getPage(server, parts[0] ?? '')).text, new RegExp(`<loc>${server.url}/list/new</loc>`))
    const bots = await getPage(server, parts[1] ?? '')
    assert((bots.text.match(/<url>/g)?.length ?? 0) > 60)
    assert.match(bots.text, new RegExp(`<loc>${server.url}/list/bots/800000000000000060</loc><lastmod>2026-`))
  })
})
