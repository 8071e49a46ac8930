import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchFor, wordsOf } from './words.ts'

const words = (name: string) => wordsOf({ name, shortDescription: '', description: '', tags: [] })

test('words are found whatever their case, their accents and their width', () => {
  assert.deepEqual(words('Café ＭＵＳＩＣ'), ['cafe', 'music'])
  assert.equal(searchFor({ q: 'cafÉ Mus' }), "'cafe':* & 'mus':*")
})

test('a name that is written in one word is found by its parts too', () => {
  assert.deepEqual(words('MusicBot2Go'), ['musicbot2go', 'music', 'bot2', 'go'])
})

test('Korean is found by any part, with its particles and without spaces', () => {
  assert.deepEqual(words('음악봇은'), ['음악', '악봇', '봇은', '은'])
  assert.equal(searchFor({ q: '음악봇' }), "'음악' & '악봇'")
  assert.equal(searchFor({ q: '봇' }), "'봇':*")
  assert.deepEqual(words('디스코드bot입니다'), ['디스', '스코', '코드', '드', 'bot', '입니', '니다', '다'])
})

test('a tag is a word of its own', () => {
  const found = wordsOf({ name: 'x', shortDescription: '', description: '', tags: ['Music', '음악'] })
  assert.deepEqual(found, ['#music', '#음악', 'x', 'music', '음악', '악'])
  assert.equal(searchFor({ tag: 'MUSIC', q: 'x' }), "'#music' & 'x'")
})

test('what is no word finds nothing; nothing asks for everything', () => {
  for (const q of ['!!!', '🤖', '\u0301', "'--"]) assert.equal(searchFor({ q }), null, q)
  for (const q of [undefined, '', '  ']) assert.equal(searchFor({ q }), undefined, q)
})

test('nothing that somebody types is syntax', () => {
  assert.equal(searchFor({ q: "a' | 'b & !c <-> d:* \\ ()" }), "'a' & 'b' & 'c' & 'd'")
  assert.equal(searchFor({ tag: "x' | 'y\\" }), "'#x'' | ''y\\\\'")
})

test('a query and a word have an end', () => {
  assert.equal(searchFor({ q: 'word '.repeat(100) })?.split(' & ').length, 1)
  assert.equal(searchFor({ q: Array.from({ length: 99 }, (_, i) => `w${i}`).join(' ') })?.split(' & ').length, 8)
  assert.equal(words('x'.repeat(500))[0]?.length, 40)
})
