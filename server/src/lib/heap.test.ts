import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Heap } from './heap.ts'

test('what is earliest comes out first, whatever went in when', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 20 }))), (steps) => {
      const heap = new Heap<number>()
      const kept: number[] = []
      for (const at of steps) {
        if (at !== null) {
          heap.push(at, at)
          kept.push(at)
          kept.sort((a, b) => a - b)
        } else assert.equal(heap.pop(), kept.shift())
        assert.equal(heap.firstAt, kept[0])
        assert.equal(heap.size, kept.length)
      }
    }),
  )
})
