import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../test/until.ts'
import type { App } from '../context.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { DeploymentLogs } from './logs.ts'
import { Tidying } from './tidying.ts'

/** What was begun and ended, in order, of bots whose disks are as full as this. */
function makeTidying({ fullness, pauseMs = 60_000 }: { fullness?: number | undefined; pauseMs?: number } = {}) {
  const seen: string[] = []
  const runtime: Pick<Runtime, 'removeReleases' | 'fullness'> = {
    removeReleases: async (botId) => {
      seen.push(`${botId} begins`)
      await settle()
      seen.push(`${botId} ends`)
    },
    fullness: () => Promise.resolve(fullness),
  }
  const logs: Pick<DeploymentLogs, 'prune'> = { prune: () => Promise.resolve() }
  const tools = { app: {} as App, runtime: runtime as Runtime, logs: logs as DeploymentLogs }
  return { seen, tidying: new Tidying(tools, pauseMs) }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

test('it begins after a while', async () => {
  const { seen, tidying } = makeTidying({ pauseMs: 20 })
  tidying.later('a')
  await settle()
  assert.deepEqual(seen, [])
  await until('its end', () => Promise.resolve(seen.length === 2))
  await tidying.now('a')
  assert.deepEqual(seen, ['a begins', 'a ends'])
})

test('it begins at once if somebody is in a hurry', async () => {
  const { seen, tidying } = makeTidying()
  tidying.later('a')
  tidying.later('b')
  await tidying.now('b')
  assert.deepEqual(seen, ['b begins', 'b ends'])
  await tidying.close()
})

test('of one bot it is done once at a time', async () => {
  const { seen, tidying } = makeTidying()
  tidying.later('a')
  tidying.later('a')
  await tidying.now('a')
  assert.deepEqual(seen, ['a begins', 'a ends', 'a begins', 'a ends'])
})

test('a server that ends, and a bot that goes, wait for what has begun only', async () => {
  const { seen, tidying } = makeTidying()
  tidying.later('a')
  tidying.later('b')
  await tidying.drop('a')
  void tidying.now('b')
  await tidying.close()
  assert.deepEqual(seen, ['b begins', 'b ends'])
})

test('a deployment waits where the disk is rather full, also for what a killed server left', async () => {
  for (const [fullness, isPending, waits] of [
    [0.4, true, false],
    [0.6, true, true],
    [0.6, false, true],
    [undefined, true, true],
    [undefined, false, false],
  ] as const) {
    const { seen, tidying } = makeTidying({ fullness })
    if (isPending) tidying.later('a')
    await tidying.makeRoom('a')
    assert.deepEqual(seen, waits ? ['a begins', 'a ends'] : [], `${fullness} ${isPending}`)
    await tidying.close()
  }
})
