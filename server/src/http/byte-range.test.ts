import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readByteRange } from './byte-range.ts'

test('a range of bytes is read as the standard says', () => {
  const cases: [string | undefined, { start: number; end: number } | undefined][] = [
    [undefined, undefined],
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=2-5', { start: 2, end: 5 }],
    ['bytes=2-', { start: 2, end: 9 }],
    ['bytes=2-100', { start: 2, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-100', { start: 0, end: 9 }],
    ['bytes=5-2', undefined],
    ['bytes=-', undefined],
    ['bytes=0-1,3-4', undefined],
    ['items=0-1', undefined],
    [`bytes=${'9'.repeat(30)}-`, undefined],
  ]
  for (const [header, range] of cases) assert.deepEqual(readByteRange(header, 10), range, header)
})

test('a range with nothing in it is refused, with the size', () => {
  for (const header of ['bytes=10-', 'bytes=10-20', 'bytes=-0'])
    assert.throws(() => readByteRange(header, 10), { code: 'range_not_satisfiable' }, header)
  assert.throws(() => readByteRange('bytes=0-', 0), { headers: { 'content-range': 'bytes */0' } })
})
