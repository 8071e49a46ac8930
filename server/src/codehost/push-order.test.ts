import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastMove, type Move } from './push-order.ts'

/** `ab` is a move from a to b; `ab!` one that deploys nothing. */
const moves = (...words: string[]): Move[] =>
  words.map((word) => ({ before: word[0] ?? '', after: word[1] ?? '', deploys: !word.endsWith('!') }))

function orders<T>(items: readonly T[]): T[][] {
  return items.length < 2
    ? [[...items]]
    : items.flatMap((item, index) => orders(items.toSpliced(index, 1)).map((rest) => [item, ...rest]))
}

const cases: [string, string[], string | undefined][] = [
  ['one', ['ab'], 'b'],
  ['four in a row', ['0a', 'ab', 'bc', 'cd'], 'd'],
  ['there and back', ['xa', 'ab', 'ba'], 'a'],
  ['there and back twice', ['xa', 'ab', 'ba', 'ab'], 'b'],
  ['the last asks not to be deployed', ['ab', 'bc', 'cd!'], 'c'],
  ['the last two do', ['ab', 'bc!', 'cd!'], 'b'],
  ['one between does', ['ab', 'bc!', 'cd'], 'd'],
  ['deleted and made anew', ['a0!', '0b'], 'b'],
  ['none deploys', ['ab!', 'bc!'], undefined],
]

for (const [what, words, expected] of cases)
  test(`of pushes in one second the last counts, in whichever order they come: ${what}`, () => {
    for (const order of orders(words)) assert.equal(lastMove(moves(...order))?.after, expected, order.join(' '))
  })

test('of pushes that do not follow each other the one that came last counts', () => {
  assert.equal(lastMove(moves('ab', 'cd'))?.after, 'd')
  assert.equal(lastMove(moves('cd', 'ab'))?.after, 'b')
})
