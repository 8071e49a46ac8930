import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Numbers } from './numbers.ts'

test('a bot keeps its number, and one that is free goes to the next', () => {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-numbers-'))
  const numbers = new Numbers(folder)
  assert.deepEqual(
    ['a', 'b', 'c', 'a'].map((bot) => numbers.take(bot)),
    [0, 1, 2, 0],
  )
  numbers.free('b')
  numbers.free('nobody')
  const later = new Numbers(folder)
  assert.deepEqual([later.find('a'), later.find('b'), later.find('c')], [0, undefined, 2])
  assert.deepEqual(
    ['d', 'e'].map((bot) => later.take(bot)),
    [1, 3],
  )
  rmSync(folder, { recursive: true })
})
