import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startTestServer } from '../../../test/api.ts'
import { call } from '../../../test/call.ts'
import { callList, editProfile, listBot, newBotId } from '../../../test/list.ts'
import { type Person, signIn } from '../../../test/people.ts'
import { noteSecret } from '../../../test/secrets.ts'
import { getPage, type PageAnswer, postForm, wordsOf } from '../../../test/site.ts'
import { until } from '../../../test/until.ts'

const hourMs = 3_600_000

const server = await startTestServer()
const [ann, bob] = [await signIn(server, 'ann'), await signIn(server, 'bob')]
await server.pool.query("update sessions set expires_at = '2100-01-01'")
const ko = { 'accept-language': 'ko' }

const begin = async (botId: string, as = ann) => {
  const begun = await postForm(server, '/list/register', { botId }, { as })
  assert.equal(begun.status, 303, wordsOf(begun))
  return begun.headers.get('location') ?? ''
}

const codeOn = ({ text }: PageAnswer) => /<code class="block" id="code">([^<]+)</.exec(text)?.[1] ?? ''
const keyOn = ({ text }: PageAnswer) => {
  const key = /<code class="block" id="key">([^<]+)</.exec(text)?.[1] ?? ''
  noteSecret(key)
  return key
}

suite('registration on the site', () => {
  test('needs somebody who is signed in, and leads back', async () => {
    for (const path of [
      '/list/register',
      '/list/my',
      '/list/register/reg_x',
      '/list/my/1',
      '/list/my/1/edit',
      '/list/my/1/webhook',
    ]) {
      const page = await getPage(server, path)
      assert.equal(page.status, 200)
      assert.match(page.text, new RegExp(`login\\?returnTo=${encodeURIComponent(path)}`), path)
    }
    assert.equal((await postForm(server, '/list/register', { botId: newBotId() })).status, 401)
  })

  test('keeps what was typed and says beside the field what is wrong', async () => {
    const page = await postForm(server, '/list/register', { botId: '12"3', applicationId: 'x' }, { as: ann })
    assert.equal(page.status, 400)
    assert.match(page.text, /id="botId"[^>]*aria-invalid="true"[^>]*value="12&quot;3"/)
    assert.match(wordsOf(page), /A bot id has 17 to 20 digits.*An application id has 17 to 20 digits/)
    assert.match(
      wordsOf(await postForm(server, '/list/register', {}, { as: ann, headers: ko })),
      /봇 ID는 17~20자리 숫자입니다/,
    )
  })

  test('goes through three steps: code, what was read while it is not there, key', async () => {
    const botId = newBotId()
    const path = await begin(` ${botId} ` as string)
    const unknown = await getPage(server, path, { as: ann })
    assert.match(wordsOf(unknown), /Put this code anywhere.*Valid for 24 h|1 d 0 h/)
    assert.match(wordsOf(unknown), /knows no application with this id/)
    const code = codeOn(unknown)
    assert.match(code, /^botberth-/)
    assert.match(wordsOf(await postForm(server, path, {}, { as: ann })), /knows no application with this id/)
    await editProfile(server, botId, { name: 'Fresh', description: 'I am <b>new</b>' })
    assert.match(
      wordsOf(await getPage(server, path, { as: ann })),
      /What the platform says now.*Fresh About Me: I am <b>new<\/b>/,
    )
    const early = await postForm(server, path, {}, { as: ann })
    assert.equal(early.status, 409)
    assert.match(
      wordsOf(early),
      /The code is not there yet\. This is what About Me said at 03:04:05 UTC: I am <b>new<\/b>/,
    )
    assert.equal(codeOn(early), code)
    assert.match(
      early.text,
      /<button class="button" data-wait="10">Verify/,
      'the button rests; who tries all the same may',
    )
    assert.match(wordsOf(await postForm(server, path, {}, { as: ann, headers: ko })), /코드가 아직 없습니다/)
    await editProfile(server, botId, { description: `x ${code}` })
    const done = await postForm(server, path, {}, { as: ann })
    assert.equal(done.status, 200)
    assert.equal(done.headers.get('cache-control'), 'no-store')
    assert.equal(done.headers.get('content-encoding'), null)
    const key = keyOn(done)
    assert.match(key, /^svc_list_/)
    assert.match(wordsOf(done), /Fresh is on the list.*shown this once/)
    assert.equal((await callList(server, 'POST /bots/stats', { key, body: { server_count: 3 } })).status, 200)
    for (const page of ['/list/my', `/list/my/${botId}`, `/list/bots/${botId}`])
      assert(!(await getPage(server, page, { as: ann })).text.includes(key), page)
    const repeated = await postForm(server, path, {}, { as: ann })
    assert.equal(repeated.status, 404, 'a reload shows nothing again')
  })

  test('a listed bot is told as such, and whose it is', async () => {
    const { botId } = await listBot(server, ann)
    assert.match(
      wordsOf(await postForm(server, '/list/register', { botId }, { as: ann })),
      /on the list already\. Manage/,
    )
    const other = await postForm(server, '/list/register', { botId }, { as: bob })
    assert.equal(other.status, 409)
    assert.match(wordsOf(other), /listed by somebody else.*Look at its page/)
  })

  test('an expired code says so and gives a new one', async () => {
    const botId = newBotId()
    const path = await begin(botId)
    server.clock.advance(24 * hourMs)
    const page = await getPage(server, path, { as: ann })
    assert.match(wordsOf(page), /The code has expired.*Get a new code/)
    assert.match(wordsOf(await postForm(server, path, {}, { as: ann })), /The code has expired.*Get a new code/)
    assert.notEqual(await begin(botId), path)
  })

  test('of the sandbox it says where to edit the profile', async () => {
    assert.match((await getPage(server, await begin(newBotId()), { as: ann })).text, /href="\/sandbox\/chat"/)
  })

  test('verifies as often as the API does, and no more', async () => {
    const path = await begin(newBotId(), bob)
    for (let i = 0; i < 30; i++) await postForm(server, path, {}, { as: bob })
    const refused = await postForm(server, path, {}, { as: bob })
    assert.equal(refused.status, 429)
    assert.match(wordsOf(refused), /You verify too often/)
    assert.match(wordsOf(await getPage(server, path, { as: bob })), /did not answer just now/)
  })
})

suite('My Bots', () => {
  test('is empty with a way on', async () => {
    const zoe = await signIn(server, 'zoe')
    assert.match(
      wordsOf(await getPage(server, '/list/my', { as: zoe })),
      /You have no bot on the list yet.*Add a bot Host a bot/,
    )
  })

  test('shows pending registrations, the key’s end, statistics and the lapse', async () => {
    const eve = await signIn(server, 'eve')
    await server.pool.query("update sessions set expires_at = '2100-01-01'")
    const path = await begin(newBotId(), eve)
    const { botId, key } = await listBot(server, eve, { name: 'Mine' })
    const read = async () => wordsOf(await getPage(server, '/list/my', { as: eve }))
    assert.match(await read(), /Waiting for verification.*botberth-/)
    assert((await getPage(server, '/list/my', { as: eve })).text.includes(path))
    assert.match(await read(), new RegExp(`Waiting for the first statistics Key …${key.slice(-4)} never used`))
    assert.match(await read(), /Certification: not certified/)
    await callList(server, 'POST /bots/stats', { key, body: { server_count: 9 } })
    await callList(server, `POST /bots/${botId}/vote`, { as: bob })
    await until('the use of the key to be written down', async () => (await read()).includes('last used'))
    assert.match(
      await read(),
      /Votes today 1 This month: 1 Servers 9 Last statistics just now Key …\w{4} last used just now/,
    )
    assert.match(await read(), /lapses in 3 d 0 h unless statistics arrive/)
    const kinds = { 47: 'good', 49: 'warn', 67: 'bad' }
    let hours = 0
    for (const [at, kind] of Object.entries(kinds)) {
      server.clock.advance((Number(at) - hours) * hourMs)
      hours = Number(at)
      assert.match(
        (await getPage(server, '/list/my', { as: eve })).text,
        new RegExp(`<div class="note ${kind}"><p><strong>Cert`),
      )
    }
    server.clock.advance(5 * hourMs)
    assert.match(await read(), /Certification: lapsed just now.*No statistics came for three days/)
    await server.pool.query('update standings set hidden_at = now() where bot_id = $1', [botId])
    assert.match(await read(), /The operator has taken this bot from the list/)
  })

  test('issues a new key, shown once; the old one stops', async () => {
    const { botId, key } = await listBot(server, ann, { name: 'Keyed' })
    const page = await postForm(server, `/list/my/${botId}/key`, {}, { as: ann })
    assert.deepEqual([page.status, page.headers.get('cache-control')], [200, 'no-store'])
    const fresh = keyOn(page)
    assert.match(wordsOf(page), /A new key for Keyed.*The old key has stopped working/)
    assert.equal((await callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })).status, 401)
    assert.equal((await callList(server, 'POST /bots/stats', { key: fresh, body: { server_count: 1 } })).status, 200)
  })

  test('deletes only what is named, and says so', async () => {
    const { botId } = await listBot(server, ann, { name: 'Doomed' })
    const wrong = await postForm(server, `/list/my/${botId}/delete`, { name: 'doomed' }, { as: ann })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /id="name"[^>]*aria-invalid="true"[^>]*value="doomed"/)
    assert.equal((await getPage(server, `/list/bots/${botId}`)).status, 200)
    const gone = await postForm(server, `/list/my/${botId}/delete`, { name: ' Doomed ' }, { as: ann })
    assert.equal(gone.status, 303)
    assert.match(
      wordsOf(await getPage(server, gone.headers.get('location') ?? '', { as: ann })),
      /Doomed is no longer on the list/,
    )
    assert.equal((await getPage(server, `/list/bots/${botId}`)).status, 404)
  })

  test('transfers to somebody who was here before', async () => {
    const { botId } = await listBot(server, ann)
    const give = (chatUserId: string) => postForm(server, `/list/my/${botId}/transfer`, { chatUserId }, { as: ann })
    assert.match(wordsOf(await give('x')), /A user id has 17 to 20 digits/)
    const nobody = await give('123456789012345678')
    assert.equal(nobody.status, 409)
    assert.match(wordsOf(nobody), /Nobody with this id has signed in here/)
    assert.match(nobody.text, /value="123456789012345678"/)
    const { body } = await call(server, 'GET /me', { as: bob })
    const given = await give(String(body['chatUserId']))
    assert.match(
      wordsOf(await getPage(server, given.headers.get('location') ?? '', { as: ann })),
      /The bot belongs to bob now/,
    )
    assert.equal((await getPage(server, `/list/my/${botId}`, { as: ann })).status, 404)
    assert.match(wordsOf(await getPage(server, `/list/my/${botId}`, { as: bob })), /This bot has no key/)
  })
})

suite('editing', () => {
  const fields = {
    shortDescription: 'One line',
    description: '**Two**\r\nlines',
    tags: '#Music, fun 게임',
    inviteUrl: 'https://i.example/x',
    supportUrl: '',
    websiteUrl: '',
  }

  test('saves, and shows what it was', async () => {
    const { botId } = await listBot(server, ann)
    const path = `/list/my/${botId}/edit`
    const saved = await postForm(server, path, { ...fields, intent: 'save' }, { as: ann })
    assert.deepEqual([saved.status, saved.headers.get('location')], [303, `/list/my/${botId}?saved`])
    assert.match(wordsOf(await getPage(server, `/list/my/${botId}?saved`, { as: ann })), /Saved\./)
    const { body } = await callList(server, `GET /bots/${botId}`)
    assert.deepEqual(
      [body['shortDescription'], body['description'], body['tags'], body['inviteUrl'], body['supportUrl']],
      ['One line', '**Two**\nlines', ['music', 'fun', '게임'], 'https://i.example/x', null],
    )
    const form = await getPage(server, path, { as: ann })
    assert.match(form.text, /value="music, fun, 게임"/)
    assert.match(form.text, /<textarea[^>]*>\n\*\*Two\*\*\nlines<\/textarea>/)
  })

  test('shows a preview without saving it', async () => {
    const { botId } = await listBot(server, ann)
    const page = await postForm(
      server,
      `/list/my/${botId}/edit`,
      { ...fields, description: '# Big\n<script>x</script>', intent: 'preview' },
      { as: ann },
    )
    assert.equal(page.status, 200)
    assert.match(wordsOf(page), /Preview, not saved yet.*One line.*Big/)
    assert.doesNotMatch(page.text, /<script>/)
    assert.match(page.text, /data-guard="changed"/)
    assert.equal((await callList(server, `GET /bots/${botId}`)).body['description'], '')
  })

  test('says beside each field what is wrong, keeps all that was typed, saves nothing', async () => {
    const { botId } = await listBot(server, ann)
    const wrong = {
      shortDescription: 'x'.repeat(161),
      description: 'y'.repeat(20_001),
      tags: 'one,two,three,four,five,six,seven,eight,nine',
      inviteUrl: 'javascript:alert(1)',
      supportUrl: 'ftp://x.example',
      websiteUrl: 'https://user:pass@x.example',
    }
    const page = await postForm(server, `/list/my/${botId}/edit`, wrong, { as: ann })
    assert.equal(page.status, 400)
    for (const name of ['shortDescription', 'description', 'tags', 'inviteUrl', 'supportUrl'])
      assert.match(page.text, new RegExp(`id="${name}-problem"`), name)
    for (const value of Object.values(wrong)) assert(page.text.includes(value), value.slice(0, 40))
    const link = await postForm(
      server,
      `/list/my/${botId}/edit`,
      { ...fields, websiteUrl: wrong.websiteUrl },
      { as: ann },
    )
    assert.match(link.text, /id="websiteUrl-problem"/)
    assert.equal((await callList(server, `GET /bots/${botId}`)).body['shortDescription'], '')
  })
})

suite('the vote webhook', () => {
  test('is set up, tested, shown and removed', async () => {
    const { botId } = await listBot(server, ann)
    const path = `/list/my/${botId}/webhook`
    const post = (more: string, form: Record<string, string> = {}) => postForm(server, path + more, form, { as: ann })
    const saved = await post('', { url: 'https://receiver.example/votes', secret: '' })
    assert.equal(saved.status, 200)
    const secret = /<code class="block" id="new-secret">([^<]+)</.exec(saved.text)?.[1] ?? ''
    noteSecret(secret)
    assert.match(secret, /^whsec_/)
    const changed = await post('', { url: 'https://receiver.example/other', secret: 'a secret of our own' })
    assert.deepEqual([changed.status, changed.headers.get('location')], [303, `${path}?note=saved`])
    const shown = await getPage(server, `${path}?note=saved`, { as: ann })
    assert.match(shown.text, /value="https:\/\/receiver\.example\/other"/)
    assert(!shown.text.includes('a secret of our own'))
    assert.match(wordsOf(shown), /Status: active.*Nothing has been sent yet/)
    for (let i = 0; i < 10; i++) assert.equal((await post('/test')).headers.get('location'), `${path}?note=tested`)
    assert.equal((await post('/test')).headers.get('location'), `${path}?note=waiting`)
    assert.match(wordsOf(await getPage(server, path, { as: ann })), /ping .* waiting 0 –/)
    assert.equal((await post('/delete')).headers.get('location'), `${path}?note=removed`)
    assert.match(wordsOf(await getPage(server, path, { as: ann })), /Left empty, one is made/)
    assert.equal((await post('/test')).status, 404)
  })

  test('says what is wrong with an address or a secret', async () => {
    const { botId } = await listBot(server, ann)
    for (const url of ['', 'x', 'ftp://x.example', 'http://user:pass@x.example', 'http://10.0.0.1/']) {
      const page = await postForm(server, `/list/my/${botId}/webhook`, { url }, { as: ann })
      assert.equal(page.status, 400, url)
      assert.match(page.text, /id="url-problem"/, url)
    }
    const page = await postForm(
      server,
      `/list/my/${botId}/webhook`,
      { url: 'https://x.example', secret: '가'.repeat(100) },
      { as: ann },
    )
    assert.match(page.text, /id="secret-problem"/)
    assert.match(page.text, /value="https:\/\/x\.example"/)
  })
})

suite('somebody else’s bot', () => {
  const ask = async (botId: string, as: Person) => [
    ...(await Promise.all(
      ['', '/edit', '/webhook'].map((path) => getPage(server, `/list/my/${botId}${path}`, { as })),
    )),
    ...(await Promise.all(
      ['/key', '/edit', '/delete', '/transfer', '/webhook', '/webhook/test', '/webhook/delete'].map((path) =>
        postForm(
          server,
          `/list/my/${botId}${path}`,
          { url: 'https://x.example', name: 'Theirs', chatUserId: '123456789012345678' },
          { as },
        ),
      ),
    )),
  ]

  test('is like one that does not exist, on every page', async () => {
    const { botId } = await listBot(server, ann, { name: 'Theirs' })
    for (const id of [botId, '930000000000099999'])
      for (const { status, text } of await ask(id, bob)) {
        assert.equal(status, 404)
        assert.doesNotMatch(text, /Theirs/)
      }
    const path = await begin(newBotId(), ann)
    assert.equal((await getPage(server, path, { as: bob })).status, 404)
    assert.equal((await postForm(server, path, {}, { as: bob })).status, 404)
  })

  test('a form of another site changes nothing', async () => {
    const { botId, key } = await listBot(server, ann, { name: 'Safe' })
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    for (const path of ['/key', '/edit', '/delete', '/transfer', '/webhook', '/webhook/test', '/webhook/delete'])
      assert.equal(
        (await postForm(server, `/list/my/${botId}${path}`, { name: 'Safe' }, { as: ann, headers })).status,
        403,
        path,
      )
    assert.equal((await callList(server, 'POST /bots/stats', { key, body: { server_count: 1 } })).status, 200)
  })
})
