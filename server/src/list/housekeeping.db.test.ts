import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { callList, listBot, newBotId } from '../../test/list.ts'
import { makeOwner, signIn } from '../../test/people.ts'
import { noteSecret } from '../../test/secrets.ts'
import { tx } from '../db/tx.ts'
import { StartError } from '../lib/data-dir.ts'
import { randomToken } from '../lib/secret.ts'
import { createListKey, ensureListing } from './bootstrap.ts'
import { pruneList } from './housekeeping.ts'

const dayMs = 86_400_000

test('what is too old goes, a bot’s counts stay', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const { botId, key } = await listBot(server, ann)
  await callList(server, 'POST /registrations', { as: ann, body: { botId: newBotId() } })
  await callList(server, `POST /bots/${botId}/vote`, { as: ann })
  await callList(server, `POST /bots/${botId}/reports`, { body: { reason: 'x' } })
  await callList(server, 'POST /bots/stats', { key, body: { server_count: 3 } })
  const counts = async () => {
    const [row] = await server.pool.query(
      `select (select count(*)::integer from votes) as votes, (select count(*)::integer from listing_days) as days,
         (select count(*)::integer from reports) as reports, (select count(*)::integer from registrations) as registrations,
         (select is_badged from standings) as badged`,
    )
    return row
  }
  const prune = async (days: number) => {
    server.clock.advance(days * dayMs)
    await pruneList(server.app)
    return counts()
  }
  assert.deepEqual(await prune(0), { votes: 1, days: 1, reports: 1, registrations: 1, badged: true })
  assert.deepEqual(await prune(3), { votes: 1, days: 1, reports: 1, registrations: 1, badged: false })
  assert.deepEqual(await prune(6), { votes: 1, days: 1, reports: 1, registrations: 0, badged: false })
  assert.deepEqual(await prune(80), { votes: 1, days: 1, reports: 1, registrations: 0, badged: false })
  assert.deepEqual(await prune(2), { votes: 0, days: 1, reports: 1, registrations: 0, badged: false })
  assert.deepEqual(await prune(90), { votes: 0, days: 1, reports: 0, registrations: 0, badged: false })
  assert.deepEqual(await prune(220), { votes: 0, days: 0, reports: 0, registrations: 0, badged: false })
  assert.equal((await callList(server, `GET /bots/${botId}`)).body['votesTotal'], 1)
})

test('the operator lists bots for the owner, with a key of their own or a new one', async () => {
  const server = await startTestServer()
  await makeOwner(server)
  const now = server.clock.now()
  const [botId, key] = [newBotId(), `svc_list_${randomToken()}`]
  noteSecret(key)
  const ensure = (given: { botId: string; key: string }) => tx(server.pool.db, (db) => ensureListing(db, given, now))
  const ask = async (with_: string) =>
    (await callList(server, 'POST /bots/stats', { key: with_, body: { server_count: 1 } })).status
  await ensure({ botId, key })
  await ensure({ botId, key })
  assert.equal(await ask(key), 200)
  await assert.rejects(ensure({ botId: newBotId(), key }), StartError)
  const made = await tx(server.pool.db, (db) => createListKey(db, { botId, prefix: 'svc' }, now))
  noteSecret(made)
  assert.equal(await ask(made), 200)
  const ann = await signIn(server, 'ann')
  const hers = await listBot(server, ann)
  await assert.rejects(ensure({ botId: hers.botId, key: `svc_list_${randomToken()}` }), StartError)
})
