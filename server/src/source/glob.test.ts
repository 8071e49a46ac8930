import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Globs } from './glob.ts'

const matches = (path: string, glob: string) => new Globs([glob]).match(path)

test('globs match names at any depth, and paths from the top', () => {
  for (const [path, glob, expected] of [
    ['a.log', '*.log', true],
    ['deep/er/a.log', '*.log', true],
    ['a.logs', '*.log', false],
    ['data', 'data/', true],
    ['src/data', 'data', true],
    ['src/data', '/data', false],
    ['data', '/data', true],
    ['src/a/b/c.js', 'src/**/*.js', true],
    ['src/c.js', 'src/**/*.js', true],
    ['lib/c.js', 'src/**/*.js', false],
    ['src', 'src/**', true],
    ['src/a/b', 'src/**', true],
    ['ab', 'a?', true],
    ['a', 'a?', false],
    ['a/b', 'a?b', false],
    ['a/b', 'a*b', false],
    ['a/b/c', '**', true],
    ['x', '', false],
    ['x', '/', false],
    ['naïve🤖', 'na?ve?', true],
    ['🤖', '??', false],
  ] as const)
    assert.equal(matches(path, glob), expected, `${path} ${glob}`)
})

test('what is in a folder that a glob matches is covered by it, and nothing else', () => {
  const globs = new Globs(['data/cache', '*.tmp'])
  for (const path of ['data/cache', 'data/cache/a/b', 'x.tmp', 'a/x.tmp/b']) assert(globs.cover(path), path)
  for (const path of ['data', 'data/cached', 'a/data/cache', 'x.tmp2']) assert(!globs.cover(path), path)
  assert.deepEqual([globs.match('data/cache/a'), globs.match('data/cache')], [false, true])
})

/** As the words say, and slow. */
function isMatch(path: string, glob: string): boolean {
  const trimmed = glob.replace(/^\.\//, '').replace(/\/$/, '')
  const names = trimmed.split('/').filter((name) => name !== '')
  if (names.length === 0) return false
  return areNames(path.split('/'), trimmed.includes('/') ? names : ['**', ...names])
}

function areNames(names: string[], patterns: string[]): boolean {
  const [pattern, ...others] = patterns
  if (pattern === undefined) return names.length === 0
  if (pattern === '**') return [...names, ''].some((_, count) => areNames(names.slice(count), others))
  return names.length > 0 && isName([...(names[0] ?? '')], [...pattern]) && areNames(names.slice(1), others)
}

function isName(letters: string[], pattern: string[]): boolean {
  const [first, ...others] = pattern
  if (first === undefined) return letters.length === 0
  if (first === '*') return [...letters, ''].some((_, count) => isName(letters.slice(count), others))
  return letters.length > 0 && (first === '?' || first === letters[0]) && isName(letters.slice(1), others)
}

test('short patterns of all kinds match what they say', () => {
  const textOf = (alphabet: readonly string[], lengthMax: number) =>
    Array.from({ length: 1 + Math.floor(Math.random() * lengthMax) }, () => {
      return alphabet[Math.floor(Math.random() * alphabet.length)]
    }).join('')
  let matched = 0
  for (let round = 0; round < 10_000; round++) {
    // Some of them longer than the 32 places that are moved at once.
    const begin = 'x'.repeat(round % 3 === 0 ? 24 + (round % 10) : 0)
    const glob = begin + textOf(['a', 'a', 'b', '🤖', '?', '*', '*', '**', '/', '/**/'], 7)
    const path = begin + textOf(['a', 'a', 'b', '🤖', '/'], 7)
    const expected = isMatch(path, glob)
    assert.equal(matches(path, glob), expected, JSON.stringify({ path, glob }))
    const names = path.split('/')
    const isCovered = names.some((_, index) => isMatch(names.slice(0, index + 1).join('/'), glob))
    assert.equal(new Globs([glob]).cover(path), isCovered, JSON.stringify({ path, glob }))
    if (expected) matched++
  }
  assert(matched > 1_000, String(matched))
})

test('however hostile 100 patterns are, each takes nine steps at most for a letter of a path', () => {
  const hostile = [
    '*a'.repeat(120),
    `${'*a'.repeat(127)}b`,
    `*${'a'.repeat(127)}b`,
    `${'**/a/'.repeat(50)}b`,
    '?*'.repeat(128),
  ]
  const paths = ['a'.repeat(255), 'a/'.repeat(1000), `${'a'.repeat(255)}/`.repeat(16)]
  for (const glob of hostile)
    for (const path of paths) {
      const globs = new Globs(Array.from({ length: 100 }, (_, index) => `${glob}${index}`.slice(-256)))
      assert.equal(globs.cover(path), false)
      assert(globs.steps > 0)
      assert(globs.steps <= 100 * (path.length + 1) * 9, `${globs.steps} steps for ${glob.slice(0, 12)}…`)
    }
})
