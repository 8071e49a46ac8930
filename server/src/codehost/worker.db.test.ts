// The queue of events among several servers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestServer, TestClock } from '../../test/api.ts'
import { sendEvent, untilHandled } from '../../test/linked.ts'
import { tx } from '../db/tx.ts'

/** Counts how often it is asked, which each look into a queue does. */
class CountingClock extends TestClock {
  asked = 0

  override now(): Date {
    this.asked++
    return new Date()
  }
}

test('an event in the hands of another server is looked at now and then, and taken over when that one fails', async () => {
  const clock = new CountingClock()
  const idle = await startTestServer({ clock })
  const { pool } = idle
  await sendEvent(idle, { event: 'installation', body: { action: 'suspend', installation: { id: 5 } } })
  const holding = tx(pool.db, async (db) => {
    await db.selectFrom('codehost_events').select('id').forUpdate().execute()
    await startTestServer({ pool, clock, dataDir: idle.app.config.dataDir, isWorking: true, sandbox: 'shim' })
    clock.asked = 0
    await sleep(1_000) // a server that spins asks some hundred times meanwhile
    assert(clock.asked < 30, `asked ${clock.asked} times`)
    throw new Error('killed')
  })
  await assert.rejects(holding, /killed/)
  await untilHandled(idle)
})
