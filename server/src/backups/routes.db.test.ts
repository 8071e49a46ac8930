// What is asked for and answered; nothing is made here, so that every backup stays under way.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { makeBot } from '../../test/hosting.ts'
import { signIn } from '../../test/people.ts'

const server = await startTestServer()
const ann = await signIn(server, 'ann')

const setStatus = (id: unknown, status: string) =>
  server.pool.query('update backups set status = $2, size_bytes = 5, checksum = $3 where id = $1', [
    id,
    status,
    'f'.repeat(64),
  ])

test('a backup is asked for, listed and read', async () => {
  const bot = await makeBot(server, ann)
  assert.deepEqual(data(await call(server, `GET /bots/${bot.id}/backups`, { as: ann })), [])
  const made = await call(server, `POST /bots/${bot.id}/backups`, { as: ann })
  assert.equal(made.status, 202)
  const { id } = made.body
  assert.match(String(id), /^bak_[0-9a-hjkmnp-tv-z]{26}$/)
  assert.equal(made.headers.get('location'), `/api/v1/bots/${bot.id}/backups/${String(id)}`)
  const expected = {
    id,
    botId: bot.id,
    status: 'running',
    sizeBytes: null,
    checksum: null,
    locked: false,
    scheduled: false,
    error: null,
    lastRestore: null,
    createdAt: server.clock.now().toISOString(),
    completedAt: null,
  }
  assert.deepEqual(made.body, expected)
  assert.deepEqual((await bot.ask(`GET #/backups/${String(id)}`)).body, expected)
  assert.deepEqual(data(await call(server, `GET /bots/${bot.id}/backups`, { as: ann })), [expected])
  assert.equal((await bot.ask('GET #/backups/bak_nothing')).status, 404)
  const other = await makeBot(server, ann)
  assert.equal((await other.ask(`GET #/backups/${String(id)}`)).status, 404, 'of another bot')
  assert.deepEqual(await bot.events(), [], 'an event comes when it is complete, and not before')
})

test('a repeated request makes one backup, another one under the same key none', async () => {
  const [one, two] = [await makeBot(server, ann), await makeBot(server, ann)]
  const ask = (id: string, key: string) =>
    call(server, `POST /bots/${id}/backups`, { as: ann, headers: { 'idempotency-key': key } })
  const [first, again] = [await ask(one.id, 'k'), await ask(one.id, 'k')]
  assert.deepEqual([again.status, again.body['id']], [202, first.body['id']])
  assert.equal((await ask(two.id, 'k')).body['code'], 'idempotency_key_reused')
  assert.equal((await ask(two.id, 'a b')).body['code'], 'validation_failed')
})

test('a bot has ten backups at most, failed and deleted ones not counted', async () => {
  const bot = await makeBot(server, ann)
  const ids: unknown[] = []
  for (let index = 0; index < 10; index++) ids.push((await bot.ask('POST #/backups')).body['id'])
  const refused = await bot.ask('POST #/backups')
  assert.deepEqual([refused.status, refused.body['code']], [409, 'limit_reached'])
  await setStatus(ids[0], 'failed')
  assert.equal((await bot.ask('POST #/backups')).status, 202)
  assert.equal((await bot.ask('POST #/backups')).status, 409)
  assert.equal((await bot.ask(`DELETE #/backups/${String(ids[1])}`)).status, 200)
  assert.equal((await bot.ask('POST #/backups')).status, 202)
})

test('two who ask for the last place at once get one', async () => {
  const bot = await makeBot(server, ann)
  for (let index = 0; index < 9; index++) await bot.ask('POST #/backups')
  const answers = await Promise.all(Array.from({ length: 5 }, () => bot.ask('POST #/backups')))
  assert.equal(answers.filter(({ status }) => status === 202).length, 1)
})

test('a locked backup stays until it is unlocked', async () => {
  const bot = await makeBot(server, ann)
  const { id } = (await bot.ask('POST #/backups')).body
  assert.equal((await bot.ask(`POST #/backups/${String(id)}/lock`)).body['locked'], true)
  const refused = await bot.ask(`DELETE #/backups/${String(id)}`)
  assert.deepEqual([refused.status, refused.body['code']], [409, 'invalid_state'])
  assert.equal((await bot.ask(`DELETE #/backups/${String(id)}/lock`)).body['locked'], false)
  assert.deepEqual((await bot.ask(`DELETE #/backups/${String(id)}`)).body, { id, deleted: true })
  assert.equal((await bot.ask(`GET #/backups/${String(id)}`)).status, 404)
  assert.equal((await bot.ask(`DELETE #/backups/${String(id)}`)).status, 404)
})

test('what is not complete cannot be restored or downloaded', async () => {
  const bot = await makeBot(server, ann)
  const { id } = (await bot.ask('POST #/backups')).body
  for (const request of ['POST #/backups/ID/restore', 'POST #/backups/ID/link', 'GET #/backups/ID/download']) {
    const { status, body } = await bot.ask(request.replace('ID', String(id)))
    assert.deepEqual([status, body['code']], [409, 'invalid_state'], request)
  }
})

test('a bot is restored by one backup at a time, which cannot be deleted meanwhile', async () => {
  const bot = await makeBot(server, ann)
  const { id } = (await bot.ask('POST #/backups')).body
  await setStatus(id, 'completed')
  const { status, body } = await bot.ask(`POST #/backups/${String(id)}/restore`)
  assert.equal(status, 202)
  assert.equal((body['lastRestore'] as { status: string }).status, 'running')
  const again = await bot.ask(`POST #/backups/${String(id)}/restore`)
  assert.deepEqual([again.status, again.body['code']], [409, 'invalid_state'])
  assert.equal((await bot.ask(`DELETE #/backups/${String(id)}`)).body['code'], 'invalid_state')
})

test('a link opens one archive to whoever has it, for 15 minutes', async () => {
  const bot = await makeBot(server, ann)
  const { id } = (await bot.ask('POST #/backups')).body
  await setStatus(id, 'completed')
  const { body, status } = await bot.ask(`POST #/backups/${String(id)}/link`)
  assert.equal(status, 200)
  assert.equal(Date.parse(String(body['expiresAt'])), server.clock.now().getTime() + 15 * 60_000)
  const url = new URL(String(body['url']))
  const ask = async (change: (link: URL) => void = () => undefined) => {
    const link = new URL(url)
    change(link)
    const answer = await fetch(link)
    return ((await answer.json()) as { code: string }).code
  }
  assert.equal(await ask(), 'invalid_state', 'it is let in, and there is no archive')
  const other = (await bot.ask('POST #/backups')).body['id']
  const wrong: ((link: URL) => void)[] = [
    (link) => link.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1)),
    (link) => link.searchParams.delete('signature'),
    (link) => link.searchParams.set('signature', 'x'),
    (link) => {
      link.pathname = link.pathname.replace(String(id), String(other))
    },
    (link) => {
      link.search = ''
    },
  ]
  for (const change of wrong) assert.equal(await ask(change), 'unauthenticated', String(change))
  assert.equal(await ask((link) => link.searchParams.append('expires', '1')), 'validation_failed')
  server.clock.advance(15 * 60_000 - 1)
  assert.equal(await ask(), 'invalid_state')
  server.clock.advance(1)
  assert.equal(await ask(), 'unauthenticated')
})

test('a link to a backup that was deleted leads nowhere', async () => {
  const bot = await makeBot(server, ann)
  const { id } = (await bot.ask('POST #/backups')).body
  await setStatus(id, 'completed')
  const { url } = (await bot.ask(`POST #/backups/${String(id)}/link`)).body
  await bot.ask(`DELETE #/backups/${String(id)}`)
  const answer = await fetch(String(url))
  assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [404, 'not_found'])
})
