import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../test/db.ts'
import type { Refusal } from '../runtime/runtime.ts'
import { Refusals } from './refusals.ts'

test('a refusal is said once in a run, and again after some minutes if it goes on', async () => {
  const said: string[] = []
  let now = 0
  let refused: Refusal[] = []
  const refusals = new Refusals({
    runtime: { takeRefusals: () => Promise.resolve(refused) },
    output: { say: (botId, text) => said.push(`${botId}: ${text}`) },
    clock: { now: () => new Date(now) },
    log: silentLog,
  })
  const refusal = (instanceId: string, wall: Refusal['wall']): Refusal => ({
    instanceId,
    botId: 'bot',
    wall,
    text: wall,
  })
  const look = async (atMinutes: number, ...found: Refusal[]) => {
    now = atMinutes * 60_000
    refused = found
    await refusals.tell()
    return said.splice(0)
  }
  assert.deepEqual(await look(0, refusal('one', 'limits'), refusal('one', 'network')), ['bot: limits', 'bot: network'])
  assert.deepEqual(await look(1, refusal('one', 'limits'), refusal('one', 'network')), [])
  assert.deepEqual(await look(2, refusal('two', 'limits')), ['bot: limits'], 'of another run')
  assert.deepEqual(await look(4.9, refusal('one', 'limits')), [])
  assert.deepEqual(await look(5), [], 'nothing more happened')
  assert.deepEqual(await look(6, refusal('one', 'limits')), ['bot: limits'])
})
