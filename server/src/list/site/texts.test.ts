import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { chooseLanguage, texts } from './texts.ts'

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

const [english, korean] = [walk(texts.en), walk(texts.ko)]

suite('the two languages of the site', () => {
  test('say the same things', () => {
    assert.deepEqual([...korean.keys()].toSorted(), [...english.keys()].toSorted())
  })

  test('leave nothing empty, and English has no Hangul', () => {
    for (const [path, text] of [...english, ...korean]) assert.notEqual(text.trim(), '', path)
    for (const [path, text] of english) if (path !== 'language') assert(!/\p{Script=Hangul}/u.test(text), path)
  })

  test('Korean is Korean, but for what has no other word', () => {
    const same = ['siteName', 'search.withTag()', 'webhook.urlHint']
    for (const [path, text] of korean) if (!same.includes(path)) assert.match(text, /\p{Script=Hangul}/u, path)
  })

  test('say all that they are given', () => {
    for (const [path, text] of english)
      if (path.endsWith('()') && path !== 'duration()') assert.match(text, /[23]/, path)
    assert.equal(texts.ko.search.pageOf('2', '9'), '9쪽 중 2쪽')
  })
})

suite('chooseLanguage', () => {
  const choose = (asked?: unknown, remembered?: string, accepted?: string) =>
    chooseLanguage({ asked, remembered, accepted })

  test('the address wins over the cookie, and that over the browser', () => {
    assert.equal(choose('ko', 'en', 'en'), 'ko')
    assert.equal(choose(undefined, 'ko', 'en'), 'ko')
    assert.equal(choose('xx', 'yy', 'ko-KR,ko;q=0.9,en;q=0.8'), 'ko')
  })

  test('takes what the browser likes best, and English for everybody else', () => {
    assert.equal(choose(undefined, undefined, 'en;q=0.4, ko;q=0.7'), 'ko')
    assert.equal(choose(undefined, undefined, 'fr, ko;q=0'), 'en')
    assert.equal(choose(['ko'], undefined, 'de-DE,de'), 'en')
    assert.equal(choose(), 'en')
    assert.equal(choose('constructor', '__proto__', 'x'.repeat(100_000)), 'en')
  })
})
