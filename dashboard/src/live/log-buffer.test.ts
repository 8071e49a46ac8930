import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogBuffer, type LogLine } from './log-buffer.ts'

const lines = (first: number, last: number): LogLine[] =>
  Array.from({ length: last - first + 1 }, (_, index) => ({
    seq: first + index,
    at: '2026-01-02T03:04:05.678Z',
    stream: 'stdout',
    phase: 'run',
    text: `line ${first + index}`,
  }))

const seqs = (buffer: LogBuffer) => buffer.entries.map(({ seq }) => seq)

test('lines that come twice are taken once, and none is skipped', () => {
  const buffer = new LogBuffer()
  assert.equal(buffer.accept(lines(1, 3)), true)
  assert.equal(buffer.accept(lines(2, 5)), true)
  assert.equal(buffer.accept(lines(7, 8)), false, 'line 6 is missing')
  buffer.addRead(lines(6, 8))
  assert.equal(buffer.accept(lines(7, 9)), true)
  assert.deepEqual(seqs(buffer), [1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('a log that was empty does not begin in the middle', () => {
  const buffer = new LogBuffer()
  buffer.addRead([])
  assert.equal(buffer.accept(lines(4, 5)), false)
  buffer.addRead(lines(1, 5))
  assert.deepEqual(seqs(buffer), [1, 2, 3, 4, 5])
})

test('what is no longer kept is one entry that says how much', () => {
  const buffer = new LogBuffer()
  buffer.addRead(lines(1, 2))
  buffer.addRead(lines(10, 11))
  assert.deepEqual(buffer.entries[2], { seq: 9, skipped: 7 })
  assert.equal(buffer.accept(lines(12, 12)), true)
})

test('older lines are put in front, once', () => {
  const buffer = new LogBuffer()
  buffer.addRead(lines(50, 60))
  buffer.prepend(lines(40, 52))
  assert.deepEqual([buffer.firstSeq, buffer.lastSeq, buffer.entries.length], [40, 60, 21])
  assert.equal(buffer.accept(lines(61, 61)), true)
})

test('of a flood the newest 50,000 lines stay', () => {
  const buffer = new LogBuffer()
  for (let first = 1; first < 60_000; first += 1_000) buffer.accept(lines(first, first + 999))
  assert.deepEqual([buffer.entries.length, buffer.firstSeq, buffer.lastSeq], [50_000, 10_001, 60_000])
})
