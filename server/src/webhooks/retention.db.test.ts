import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { signIn } from '../../test/people.ts'
import { crash, subscribe } from '../../test/webhooks.ts'
import { pruneEvents } from './retention.ts'

test('events and deliveries are kept for 14 days', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const subscription = await subscribe(server, ann, { url: 'https://example.com/' })
  const counts = async () => {
    await pruneEvents(server.app)
    const [row] = await server.pool.query<{ events: number }>('select count(*)::integer as events from events')
    return [row?.events, (await subscription.deliveries()).length]
  }
  const day = 24 * 60 * 60_000
  // Ids of one process never go back in time: later than any that another test of this process has made.
  server.clock.advance(Date.parse('2100-01-01T00:00:00Z') - server.clock.now().getTime())
  await crash(server, ann)
  server.clock.advance(7 * day)
  await crash(server, ann)
  assert.deepEqual(await counts(), [2, 2])
  server.clock.advance(7 * day - 1_000)
  assert.deepEqual(await counts(), [2, 2])
  server.clock.advance(120_000)
  assert.deepEqual(await counts(), [1, 1])
  server.clock.advance(7 * day)
  assert.deepEqual(await counts(), [0, 0])
})
