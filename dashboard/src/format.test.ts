import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes, formatDuration, formatPercent, formatSeconds, relativeUnit } from './format.ts'

test('bytes, shares and seconds are as short as they can be', () => {
  assert.deepEqual([0, 1023, 1536, 150 * 1024 ** 2, 3 * 1024 ** 4].map(formatBytes), [
    '0 B',
    '1023 B',
    '1.5 KB',
    '150 MB',
    '3 TB',
  ])
  assert.deepEqual([0, 0.04, 3.25, 49.6].map(formatPercent), ['0 %', '0 %', '3.3 %', '50 %'])
  assert.deepEqual([40, 9_949, 61_000].map(formatSeconds), ['0.0 s', '9.9 s', '61 s'])
})

test('a duration has at most two units, and no empty one', () => {
  const units = ['d', 'h', 'm', 's'] as const
  const cases: [number, string][] = [
    [-5, '0 s'],
    [59_400, '59 s'],
    [60_000, '1 m'],
    [3_661_000, '1 h 1 m'],
    [2 * 86_400_000 + 59_000, '2 d'],
    [7 * 86_400_000 - 1_000, '6 d 23 h'],
  ]
  for (const [ms, text] of cases) assert.equal(formatDuration(ms, units), text)
})

test('times are told in the largest unit that fits', () => {
  assert.deepEqual(relativeUnit(-59_000), { value: -59, unit: 'second' })
  assert.deepEqual(relativeUnit(-90 * 60_000), { value: -1, unit: 'hour' })
  assert.deepEqual(relativeUnit(3 * 86_400_000), { value: 3, unit: 'day' })
})
