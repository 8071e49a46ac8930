import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeText, join, problemOf, trail } from './path.ts'

test('paths are put together and taken apart', () => {
  assert.deepEqual([join('', 'a'), join('a/b', 'c')], ['a', 'a/b/c'])
  assert.deepEqual(trail('a/b'), [
    { name: 'a', path: 'a' },
    { name: 'b', path: 'a/b' },
  ])
  assert.deepEqual(trail(''), [])
})

test('a name that leads elsewhere is none', () => {
  assert.deepEqual(['bot.js', 'src/bot.js', '한글.txt'].map(problemOf), [undefined, undefined, undefined])
  assert.deepEqual(['', '  '].map(problemOf), ['missing', 'missing'])
  for (const name of ['../x', '/x', 'a//b', 'a/', '.', 'a\\b']) assert.equal(problemOf(name), 'wrong', name)
})

test('text is what can be saved as it was read', () => {
  const bytes = new TextEncoder().encode('\uFEFFgrüß\n')
  assert.deepEqual(new TextEncoder().encode(decodeText(bytes)), bytes)
  assert.equal(decodeText(new Uint8Array([0xff, 0xfe])), undefined)
  assert.equal(decodeText(new Uint8Array([65, 0, 66])), undefined)
})
