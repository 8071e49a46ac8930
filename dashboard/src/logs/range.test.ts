import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromField, lastMinutes, readRange, toField } from './range.ts'

test('a range stands in the address and in fields, and comes back the same', () => {
  const { since = '' } = lastMinutes(15, Date.parse('2026-07-01T12:00:00Z'))
  assert.equal(since, '2026-07-01T11:45:00.000Z')
  assert.equal(fromField(toField(since)), since)
  assert.deepEqual(readRange({ since, until: 'nonsense' }), { since, until: undefined })
  assert.deepEqual([toField(undefined), fromField('')], ['', undefined])
})
