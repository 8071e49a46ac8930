import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Retries } from './retries.ts'

test('what fails for good is tried once a minute in the end, and told no more often', () => {
  let now = 0
  const retries = new Retries({ now: () => new Date(now) })
  const waits: number[] = []
  const told: number[] = []
  for (let tries = 0; tries < 12; tries++) {
    const { waitMs, isNews } = retries.fail('a')
    waits.push(waitMs)
    if (isNews) told.push(now)
    now += waitMs
  }
  assert.deepEqual(waits.slice(0, 8), [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000])
  assert(waits.slice(8).every((waitMs) => waitMs === 60_000))
  assert(
    told.every((at, index) => index === 0 || at - (told[index - 1] ?? 0) >= 60_000),
    String(told),
  )
  assert.equal(told[0], 0)
  assert.deepEqual(retries.fail('b'), { waitMs: 500, isNews: true }, 'another one has its own')
  retries.forget('a')
  assert.deepEqual(retries.fail('a'), { waitMs: 500, isNews: true })
})
