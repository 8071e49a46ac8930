import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from './ids.ts'

test('ids have a prefix and 26 base32 characters, and sort by the order in which they were made', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const ids = Array.from({ length: 10_000 }, () => newId('key', now))
  for (const id of ids.slice(0, 10)) assert.match(id, /^key_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
  assert.equal(new Set(ids).size, ids.length)
  assert.deepEqual(ids.toSorted(), ids)
  assert(newId('key', new Date('2027-01-01')) > (ids.at(-1) ?? ''))
})
