import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RunError } from '../lib/run.ts'
import { DiskWatch } from './disk-watch.ts'

test('a bot whose files cannot be counted three times in a row is stopped; the others are looked at', async () => {
  const slow = new RunError({ argv: ['du'], reason: 'timeout', exitCode: null, signal: null, durationMs: 1, lines: [] })
  let isSlow = true
  const stopped: string[] = []
  const looked: string[] = []
  const options = {
    app: { log: { error: () => {} }, pool: {} },
    runtime: {
      list: () => Promise.resolve([{ botId: 'many' }, { botId: 'few' }]),
      disk: (botId: string) => {
        looked.push(botId)
        if (botId === 'many' && isSlow) return Promise.reject(slow)
        return Promise.resolve({ usedBytes: 1, fullness: 0.1 })
      },
    },
    supervisor: {
      stopOverfull: (botId: string, { isCounted }: { isCounted: boolean }) => {
        stopped.push(`${botId} ${isCounted}`)
        return stopped.length === 1 ? Promise.reject(new Error('not now')) : Promise.resolve(stopped.length === 3)
      },
    },
    resources: { noteDisk: () => {} },
    output: {},
  }
  const watch = new DiskWatch(options as unknown as ConstructorParameters<typeof DiskWatch>[0])
  await watch.look()
  await watch.look()
  isSlow = false
  await watch.look()
  isSlow = true
  for (let look = 0; look < 6; look++) await watch.look()
  assert.deepEqual(stopped, Array(3).fill('many false'), 'again at the next look if it could not be')
  assert.equal(looked.filter((botId) => botId === 'few').length, 9)
})
