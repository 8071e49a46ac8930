import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAgo, formatClock, formatLeft, formatMoment, formatNumber, formatShort } from './format.ts'

const now = new Date('2026-03-04T05:06:07Z')
const before = (ms: number) => new Date(now.getTime() - ms)
const hourMs = 3_600_000

test('numbers are written as each language writes them', () => {
  assert.equal(formatNumber('en', 1234567), '1,234,567')
  assert.equal(formatShort('en', 12_345), '12.3K')
  assert.equal(formatShort('ko', 12_345), '1.2만')
})

test('times are by UTC, and say so', () => {
  assert.equal(formatMoment('en', now), 'Mar 4, 2026, 05:06 UTC')
  assert.match(formatMoment('ko', now), /2026\. 3\. 4\..*UTC$/)
  assert.equal(formatClock('en', now), '05:06:07 UTC')
})

test('ages are rounded down, and nothing is in the future', () => {
  assert.equal(formatAgo('en', before(-hourMs), now), 'just now')
  assert.equal(formatAgo('en', before(59 * 60_000), now), '59 minutes ago')
  assert.equal(formatAgo('en', before(2.9 * hourMs), now), '2 hours ago')
  assert.equal(formatAgo('ko', before(24 * hourMs), now), '어제')
  assert.equal(formatAgo('en', before(100 * 24 * hourMs), now), 'Nov 24, 2025')
})

test('what is left never is less than nothing', () => {
  assert.equal(formatLeft('en', new Date('2026-03-05T00:00:00Z'), now), '18 h 53 min')
  assert.equal(formatLeft('ko', new Date('2026-03-07T05:06:07Z'), now), '3일 0시간')
  assert.equal(formatLeft('en', before(hourMs), now), 'less than a minute')
  assert.equal(formatLeft('en', before(-61_000), now), '1 min')
})
