import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { errors } from '@botberth/contract/errors.ts'
import { en } from './en.ts'
import { ko } from './ko.ts'

/** Every text by its path, with functions called so that what they say can be read. */
function walk(value: unknown, path = ''): Map<string, string> {
  if (typeof value === 'string') return new Map([[path, value]])
  if (typeof value === 'function') {
    const args = Array.from({ length: value.length }, (_, index) => String(index + 2))
    return new Map([[`${path}()`, String((value as (...args: unknown[]) => unknown)(...args))]])
  }
  const found = new Map<string, string>()
  for (const [key, inner] of Object.entries(value as object))
    for (const [name, text] of walk(inner, path === '' ? key : `${path}.${key}`)) found.set(name, text)
  return found
}

const [english, korean] = [walk(en), walk(ko)]

suite('the two languages of the dashboard', () => {
  test('say the same things', () => {
    assert.deepEqual([...korean.keys()].toSorted(), [...english.keys()].toSorted())
  })

  test('leave nothing empty, and each is in its own script', () => {
    const foreign = ['nav.changeLanguage', 'product', 'newBot.demoName']
    for (const [path, text] of [...english, ...korean]) assert.notEqual(text.trim(), '', path)
    for (const [path, text] of english) if (!foreign.includes(path)) assert(!/\p{Script=Hangul}/u.test(text), path)
    for (const [path, text] of korean) if (!foreign.includes(path)) assert.match(text, /\p{Script=Hangul}/u, path)
  })

  test('have a sentence for every refusal that the contract declares, and for no other', () => {
    const declared = [...Object.keys(errors), 'unknown'].toSorted()
    for (const texts of [en, ko]) assert.deepEqual(Object.keys(texts.errors.codes).toSorted(), declared)
  })

  test('say all that they are given', () => {
    for (const texts of [english, korean])
      for (const [path, text] of texts) if (path.endsWith('()')) assert.match(text, /2/, path)
  })
})
