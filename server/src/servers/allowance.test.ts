import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Allowances } from './allowance.ts'

const chunk = (lines: number) => ({ lines, bytes: 100_000 })

test('a bot may write much at once and less for long, and what it did not use comes back', () => {
  let nowMs = 0
  const bot = new Allowances(() => nowMs).open()
  assert(bot.take(chunk(40_000)))
  assert.equal(bot.take(chunk(1_000)), false)
  nowMs += 500
  assert(bot.take(chunk(1_000)))
  assert.equal(bot.take(chunk(51)), false)
  nowMs += 3_600_000
  assert(bot.take(chunk(40_000)))
  assert.equal(bot.take({ lines: 1, bytes: 17_000_000 }), false, 'of bytes too')
})

test('all bots together may write so much, however many they are, and a quiet one is read in any case', () => {
  let nowMs = 0
  const all = new Allowances(() => nowMs)
  const bots = Array.from({ length: 500 }, () => all.open())
  const quiet = all.open()
  const taken = { lines: 0, bytes: 0 }
  for (; nowMs < 10_000; nowMs += 250) {
    for (const bot of bots)
      if (bot.take(chunk(1_000))) {
        taken.lines += 1_000
        taken.bytes += 100_000
      }
    assert(quiet.take({ lines: 20, bytes: 2_000 }))
  }
  assert(taken.lines > 200_000 && taken.lines <= 200_000 + 10 * 20_000, `${taken.lines} lines`)
})

test('of what is too much the end is kept, and less of it when others write too much', () => {
  const all = new Allowances(() => 0)
  const bot = all.open()
  while (bot.take(chunk(1_000)));
  assert.deepEqual(bot.takeEnd(), { lines: 1_000, bytes: 64 * 1024 })
  for (let others = 0; others < 10; others++) while (all.open().take(chunk(1_000)));
  assert.deepEqual(bot.takeEnd(), { lines: 50, bytes: 16 * 1024 })
  for (let count = 0; count < 1_000; count++) assert(bot.take({ lines: 50, bytes: 16 * 1024 }))
  assert.equal(bot.take(chunk(51)), false)
})
