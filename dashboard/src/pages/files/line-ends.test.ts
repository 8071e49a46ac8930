import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lineEndOf } from './line-ends.ts'

test('lines end in one way, or nothing is said', () => {
  assert.deepEqual(['', 'one', 'a\nb\n'].map(lineEndOf), ['\n', '\n', '\n'])
  assert.deepEqual(['a\r\n', 'a\r\nb\r\n\r\n'].map(lineEndOf), ['\r\n', '\r\n'])
  for (const text of ['a\r\nb\n', 'a\nb\r', 'a\rb', '\n\r\n']) assert.equal(lineEndOf(text), undefined)
})
