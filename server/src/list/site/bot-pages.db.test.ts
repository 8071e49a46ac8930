import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startTestServer } from '../../../test/api.ts'
import { call } from '../../../test/call.ts'
import { letters } from '../../../test/letters.ts'
import { callList, listBot } from '../../../test/list.ts'
import { makeOwner, signIn } from '../../../test/people.ts'
import { getPage, postForm, wordsOf } from '../../../test/site.ts'

const hourMs = 3_600_000

const server = await startTestServer()
const owner = await makeOwner(server)
const ownerLink = await fetch(`${server.url}/auth/owner?code=${owner.linkCode}`, { redirect: 'manual' })
const ownerCookie = ownerLink.headers.getSetCookie()[0]?.split(';')[0] ?? ''
const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
await server.pool.query("update sessions set expires_at = '2100-01-01'")

const describe = (botId: string, body: object) => callList(server, `PATCH /my/bots/${botId}`, { as: ann, body })

suite('the page of a bot', () => {
  test('shows all that is known of it', async () => {
    const { botId, key } = await listBot(server, ann, { name: 'Whole' })
    await describe(botId, {
      shortDescription: 'Does it all',
      description: '# Commands\n\n**Bold** words',
      tags: ['fun'],
      inviteUrl: 'https://chat.example/invite',
      supportUrl: 'https://chat.example/support',
      websiteUrl: 'https://whole.example',
    })
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 12_345 } })
    await callList(server, `POST /bots/${botId}/vote`, { as: bob })
    const page = await getPage(server, `/list/bots/${botId}`)
    assert.match(
      wordsOf(page),
      /Whole Certified Does it all by ann Vote Invite to a server Servers 12,345 just now Votes this month 1 Votes in all 1 Rank #\d/,
    )
    assert.match(page.text, /<h3>Commands<\/h3>\s*<p><strong>Bold<\/strong> words<\/p>/)
    assert.match(page.text, /<svg class="chart"[^>]* aria-label="Votes a day in the last 30 days: 1 in all/)
    for (const url of ['https://chat.example/invite', 'https://chat.example/support', 'https://whole.example/'])
      assert.match(page.text, new RegExp(`href="${url}" rel="nofollow ugc noopener noreferrer"`))
    assert.match(page.text, new RegExp(`<meta property="og:title" content="Whole · Botberth">`))
    assert.match(page.text, /<meta property="og:description" content="Does it all">/)
    assert.match(page.text, new RegExp(`<meta property="og:url" content="${server.url}/list/bots/${botId}">`))
    assert.doesNotMatch(wordsOf(page), / Edit /)
  })

  test('its owner can edit it, nobody else', async () => {
    const { botId } = await listBot(server, ann)
    assert.match(wordsOf(await getPage(server, `/list/bots/${botId}`, { as: ann })), / Edit /)
    assert.doesNotMatch(wordsOf(await getPage(server, `/list/bots/${botId}`, { as: bob })), / Edit /)
  })

  test('a new one says what is missing', async () => {
    const { botId } = await listBot(server, ann)
    const words = wordsOf(await getPage(server, `/list/bots/${botId}`))
    assert.match(words, /Servers – not told yet/)
    assert.match(words, /There is no description yet.*Nothing has been counted yet/)
  })

  test('of old numbers nobody is told when they were told', async () => {
    const { botId, key } = await listBot(server, ann)
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 7 } })
    server.clock.advance(5 * hourMs)
    assert.match(wordsOf(await getPage(server, `/list/bots/${botId}`)), /Servers 7 5 hours ago/)
    server.clock.advance(70 * hourMs)
    assert.match(wordsOf(await getPage(server, `/list/bots/${botId}`)), /Servers 7 Votes this month/)
  })

  test('hostile Markdown and names stay text', async () => {
    const { botId } = await listBot(server, ann, { name: '</bdi><script>' })
    await describe(botId, {
      description:
        '<script>x</script> [a](javascript:alert(1)) ![b](javascript:alert(2)) <img src=x onerror=y> [c](//evil.example)',
      tags: ['a-b'],
    })
    const { text } = await getPage(server, `/list/bots/${botId}`)
    const inside = text.slice(text.indexOf('<article>'))
    assert.doesNotMatch(inside, /<script|javascript:[^<]*"|onerror=y[^&]*>|href="\/\//)
    assert.match(inside, /&lt;script&gt;x&lt;\/script&gt;/)
  })

  test('a picture comes from the platform’s host alone', async () => {
    const { botId } = await listBot(server, ann)
    await server.pool.query(
      "update listings set avatar_url = 'https://cdn.discordapp.com/app-icons/1/a.png' where bot_id = $1",
      [botId],
    )
    const page = await getPage(server, `/list/bots/${botId}`)
    assert.match(
      page.text,
      /<img class="avatar large" src="https:\/\/cdn\.discordapp\.com\/app-icons\/1\/a\.png\?size=192"/,
    )
    assert.match(page.text, /og:image" content="https:\/\/cdn\.discordapp\.com\/app-icons\/1\/a\.png\?size=256"/)
    assert.match(page.headers.get('content-security-policy') ?? '', /img-src 'self' https:\/\/cdn\.discordapp\.com;/)
  })
})

suite('voting on the site', () => {
  test('signed out, the button signs in and leads back to the vote', async () => {
    const { botId } = await listBot(server, ann)
    const page = await getPage(server, `/list/bots/${botId}/vote`)
    const back = encodeURIComponent(`/list/bots/${botId}/vote`)
    assert.match(page.text, new RegExp(`href="/api/v1/auth/chat/login\\?returnTo=${back}">Sign in to vote`))
    const carl = await fetch(`${server.url}/api/v1/auth/chat/login?prompt=none&login_hint=carl&returnTo=${back}`, {
      redirect: 'manual',
    })
    assert.equal(carl.status, 302)
    const posted = await postForm(server, `/list/bots/${botId}/vote`, {})
    assert.equal(posted.status, 401)
    assert.match(posted.text, new RegExp(`returnTo=${back}`))
  })

  test('one click votes, says thanks and when the next vote counts; check-vote knows', async () => {
    const { botId, key } = await listBot(server, ann)
    assert.match(
      wordsOf(await getPage(server, `/list/bots/${botId}/vote`, { as: bob })),
      /0 votes this month Vote for Bot One vote a day/,
    )
    const voted = await postForm(server, `/list/bots/${botId}/vote`, {}, { as: bob })
    assert.deepEqual([voted.status, voted.headers.get('location')], [303, `/list/bots/${botId}/vote?thanks`])
    const thanks = wordsOf(await getPage(server, `/list/bots/${botId}/vote?thanks`, { as: bob }))
    assert.match(
      thanks,
      /1 vote this month Thank you! Your vote counts\. You can vote again in \d+ h \d+ min \( \w+ \d+, 2026, 00:00 UTC \)/,
    )
    const { body } = await call(server, 'GET /me', { as: bob })
    const check = await callList(server, `GET /bots/check-vote?user_id=${String(body['chatUserId'])}`, { key })
    assert.equal(check.body['voted'], true)
  })

  test('whoever voted today is told the time left, to the minute, until the day is over', async () => {
    const { botId } = await listBot(server, ann)
    await postForm(server, `/list/bots/${botId}/vote`, {}, { as: bob })
    const untilMidnight = 24 * hourMs - (server.clock.now().getTime() % (24 * hourMs))
    server.clock.advance(untilMidnight - 61_000)
    const again = await postForm(server, `/list/bots/${botId}/vote`, {}, { as: bob })
    assert.deepEqual([again.status, again.headers.get('location')], [303, `/list/bots/${botId}/vote`])
    const words = wordsOf(await getPage(server, `/list/bots/${botId}/vote`, { as: bob }))
    assert.match(words, /You have voted for this bot today\. You can vote again in 1 min/)
    server.clock.advance(61_000)
    assert.match(
      (await getPage(server, `/list/bots/${botId}/vote?thanks`, { as: bob })).text,
      /<button class="button" autofocus>/,
    )
    assert.match(
      (await postForm(server, `/list/bots/${botId}/vote`, {}, { as: bob })).headers.get('location') ?? '',
      /thanks$/,
    )
  })

  test('a form of another site votes for nobody', async () => {
    const { botId } = await listBot(server, ann)
    for (const headers of [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[]) {
      const forged = await postForm(server, `/list/bots/${botId}/vote`, {}, { as: bob, headers })
      assert.equal(forged.status, 403)
      assert.match(wordsOf(forged), /This came from another site/)
    }
    assert.match(wordsOf(await getPage(server, `/list/bots/${botId}/vote`, { as: bob })), /0 votes this month/)
  })

  test('the owner by link is told why they cannot vote', async () => {
    const { botId } = await listBot(server, ann)
    const as = { cookie: ownerCookie }
    assert.match(
      wordsOf(await getPage(server, `/list/bots/${botId}/vote`, { as })),
      /Bots know people by the chat platform/,
    )
    assert.equal(
      (await postForm(server, `/list/bots/${botId}/vote`, {}, { as })).headers.get('location'),
      `/list/bots/${botId}/vote`,
    )
  })

  test('a bot that is not there cannot be voted for', async () => {
    assert.equal((await getPage(server, '/list/bots/930000000000099999/vote')).status, 404)
    assert.equal((await postForm(server, '/list/bots/930000000000099999/vote', {}, { as: bob })).status, 404)
  })

  test('a suspended account is told so when it acts, and sees pages as anybody', async () => {
    const { botId } = await listBot(server, ann)
    const dora = await signIn(server, 'dora')
    await call(server, `PATCH /operator/users/${dora.id}`, { as: owner, body: { suspended: true } })
    assert.match(wordsOf(await getPage(server, '/list', { as: dora })), / Sign in /)
    assert.match(
      wordsOf(await postForm(server, `/list/bots/${botId}/vote`, {}, { as: dora })),
      /Your account is suspended/,
    )
  })
})

suite('a long description', () => {
  test('begins on the page of the bot, and is read in whole in parts', async () => {
    const { botId } = await listBot(server, ann, { name: 'Talker' })
    const sections = Array.from({ length: 40 }, (_, index) => `## Part ${index}\n\n${letters(480)}`)
    await describe(botId, { description: sections.join('\n\n') })
    const page = await getPage(server, `/list/bots/${botId}`)
    assert.match(page.text, /<h4>Part 0<\/h4>/)
    assert.doesNotMatch(page.text, /<h4>Part 39<\/h4>/)
    assert.match(page.text, new RegExp(`<a class="button quiet" href="/list/bots/${botId}/about">Read all of it</a>`))
    const first = await getPage(server, `/list/bots/${botId}/about`)
    assert.match(wordsOf(first), /Talker About this bot Part 0 .* Page 1 of 8 Next/)
    const read = await Promise.all(
      Array.from({ length: 8 }, (_, index) => getPage(server, `/list/bots/${botId}/about?part=${index + 1}`)),
    )
    const found = read.flatMap(({ text }) => [...text.matchAll(/<h4>(Part \d+)<\/h4>/g)].map(([, name]) => name))
    assert.deepEqual(
      found,
      sections.map((_, index) => `Part ${index}`),
    )
    for (const part of ['0', '-1', 'x', '1.5', ''])
      assert.match(wordsOf(await getPage(server, `/list/bots/${botId}/about?part=${part}`)), /Page 1 of 8/, part)
    await describe(botId, { description: 'Short' })
    assert.doesNotMatch((await getPage(server, `/list/bots/${botId}`)).text, /Read all of it/)
    assert.match(wordsOf(await getPage(server, `/list/bots/${botId}/about?part=3`)), /Talker About this bot Short/)
  })
})

suite('reporting on the site', () => {
  test('takes a reason, keeps what was typed, and says thanks', async () => {
    const { botId } = await listBot(server, ann)
    for (const reason of ['  ', 'x'.repeat(1001), 'a\0b']) {
      const wrong = await postForm(server, `/list/bots/${botId}/report`, { reason })
      assert.equal(wrong.status, 400)
      assert.match(wordsOf(wrong), /Write 1 to 1000 characters/)
    }
    const kept = await postForm(server, `/list/bots/${botId}/report`, { reason: `</textarea><b>${'x'.repeat(1000)}` })
    assert.match(kept.text, /<textarea[^>]*aria-invalid="true"[^>]*>\n&lt;\/textarea&gt;&lt;b&gt;xxx/)
    const elsewhere = { headers: { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' } }
    const forged = await postForm(server, `/list/bots/${botId}/report`, { reason: 'x' }, elsewhere)
    assert.equal(forged.status, 403, 'another site’s form, without a cookie')
    const sent = await postForm(server, `/list/bots/${botId}/report`, { reason: 'It is\r\nspam' }, { as: bob })
    assert.deepEqual([sent.status, sent.headers.get('location')], [303, `/list/bots/${botId}/report?sent`])
    assert.match(wordsOf(await getPage(server, `/list/bots/${botId}/report?sent`)), /The operator will look at it/)
    const rows = await server.pool.query('select user_id, reason from reports where bot_id = $1', [botId])
    assert.deepEqual(rows, [{ user_id: bob.id, reason: 'It is\nspam' }])
  })

  test('the limit is one for the site and the API', async () => {
    const { botId } = await listBot(server, ann)
    server.clock.advance(2 * hourMs)
    for (let i = 0; i < 10; i++)
      assert.equal((await callList(server, `POST /bots/${botId}/reports`, { body: { reason: 'x' } })).status, 201)
    const refused = await postForm(server, `/list/bots/${botId}/report`, { reason: 'one more' })
    assert.equal(refused.status, 429)
    assert.match(refused.text, /Try again in an hour[\s\S]*|one more/)
    assert.match(refused.text, />\none more<\/textarea>/)
  })
})

suite('GET /bots/{botId}/widget.svg', () => {
  const get = async (botId: string) => {
    const answer = await fetch(`${server.url}/list/api/bots/${botId}/widget.svg`)
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }

  test('is an image with the bot’s numbers, kept for five minutes', async () => {
    const { botId, key } = await listBot(server, ann, { name: 'Pictured <b>&"' })
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 12_345 } })
    await callList(server, `POST /bots/${botId}/vote`, { as: bob })
    const { status, headers, text } = await get(botId)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'image/svg+xml')
    assert.equal(headers.get('cache-control'), 'public, max-age=300')
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.match(
      text,
      /aria-label="Pictured &lt;b&gt;&amp;&quot;: 12345 servers, 1 votes this month, certified on Botberth"/,
    )
    assert.match(text, />12\.3K</)
  })

  test('shows no check mark for longer than it is true', async () => {
    const { botId, key } = await listBot(server, ann)
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })
    server.clock.advance(72 * hourMs - 90_000)
    const before = await get(botId)
    assert.equal(before.headers.get('cache-control'), 'public, max-age=90')
    assert.match(before.text, /certified on/)
    server.clock.advance(90_000)
    const after = await get(botId)
    assert.doesNotMatch(after.text, /certified on/)
    assert.equal(after.headers.get('cache-control'), 'public, max-age=300')
  })

  test('is grey for whatever is not listed', async () => {
    for (const botId of ['930000000000099999', 'x', "a'b"]) {
      const { status, headers, text } = await get(botId)
      assert.equal(status, 200, botId)
      assert.equal(headers.get('cache-control'), 'public, max-age=300')
      assert.match(text, /Not on the list/)
    }
  })

  test('is well-formed whatever the name', async () => {
    for (const name of ['\uffff\ud7ff]]>', '👩‍👩‍👧‍👦'.repeat(10), '가'.repeat(40), 'x'.repeat(128)]) {
      const { botId } = await listBot(server, ann, { name })
      const { text } = await get(botId)
      assert.match(text, /^<svg [^]*<\/svg>$/)
      assert.doesNotMatch(text, /[\uffff\ud800-\udbff](?![\udc00-\udfff])/)
    }
  })
})
