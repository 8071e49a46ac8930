import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LineSplitter, textMax } from './lines.ts'

function split(input: Buffer | string, sizes: readonly number[] = []): { text: string; endOffset: number }[] {
  const bytes = Buffer.from(input)
  const splitter = new LineSplitter()
  const lines = []
  let at = 0
  for (const size of sizes) {
    lines.push(...splitter.push(bytes.subarray(at, at + size)))
    at += size
  }
  return [...lines, ...splitter.push(bytes.subarray(at)), ...splitter.flush()]
}

const texts = (input: Buffer | string) => split(input).map(({ text }) => text)

test('lines end with a line feed, with or without a carriage return', () => {
  assert.deepEqual(split('one\ntwo\r\n\nthree'), [
    { text: 'one', endOffset: 4 },
    { text: 'two', endOffset: 9 },
    { text: '', endOffset: 10 },
    { text: 'three', endOffset: 15 },
  ])
  assert.deepEqual(split(''), [])
})

test('of a progress bar that is redrawn the last drawing is kept', () => {
  assert.deepEqual(texts('10 %\r50 %\r100 %\n'), ['100 %'])
  assert.deepEqual(texts('10 %\r50 %\r100 %\r\n'), ['100 %'])
  assert.deepEqual(texts('10 %\r50 %\r'), ['50 %'])
})

test('a progress bar without a line feed shows a drawing now and then, and holds no memory', () => {
  const bars = Array.from({ length: 10_000 }, (_, index) => `step ${index}`)
  const lines = texts(`${bars.join('\r')}\n`)
  assert.equal(lines.at(-1), 'step 9999')
  assert(lines.length > 3 && lines.length < 20)
  for (const line of lines) assert(bars.includes(line), line)
})

test('a line that is too long is cut between characters, and none is lost', () => {
  for (const letter of ['x', 'é', '€', '😀']) {
    const line = letter.repeat(3 * textMax)
    const pieces = texts(`${line}\nnext\n`)
    assert.equal(pieces.pop(), 'next')
    assert.equal(pieces.join(''), line)
    for (const piece of pieces) assert(piece.length <= textMax && piece.isWellFormed())
  }
})

test('a line of exactly the longest length is one line, whatever its ending', () => {
  const line = 'x'.repeat(textMax)
  for (const end of ['\n', '\r\n', '', '\r']) assert.deepEqual(texts(line + end), [line])
  assert.deepEqual(texts(`${line}y\n`), [line, 'y'])
  assert.deepEqual(texts(`${line}y`), [line, 'y'])
})

test('bytes that are no UTF-8 become U+FFFD; control characters stay', () => {
  assert.deepEqual(texts(Buffer.from([0x61, 0xff, 0x62, 0x0a])), ['a\ufffdb'])
  assert.deepEqual(texts('\0\u001b[31m\t\u0007\ufeff\u2028\n'), ['\0\u001b[31m\t\u0007\ufeff\u2028'])
  for (const piece of texts(Buffer.alloc(5 * textMax, 0xbf))) assert(piece.length <= textMax)
})

const unruly = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('\n', '\r', '\r\n', '€', 'ab', '\0') },
      { weight: 2, arbitrary: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)) },
      fc.nat(2 * textMax).map((count) => 'x'.repeat(count)),
      fc.nat(textMax).map((count) => '€'.repeat(count)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part))))

test('the lines do not depend on how the bytes came, nor on where the reader started again', () => {
  fc.assert(
    fc.property(unruly, fc.array(fc.nat(20_000), { maxLength: 10 }), fc.nat(), (input, sizes, pick) => {
      const lines = split(input)
      assert.deepEqual(split(input, sizes), lines)
      const line = lines[pick % lines.length]
      if (!line) return
      const again = new LineSplitter(line.endOffset)
      const rest = [...again.push(input.subarray(line.endOffset)), ...again.flush()]
      assert.deepEqual(rest, lines.slice((pick % lines.length) + 1))
      assert.equal(lines.at(-1)?.endOffset, input.length)
      for (const { text } of lines) assert(text.length <= textMax && !text.includes('\n'))
    }),
    { numRuns: 300 },
  )
})

test('what the caller does with its chunk afterwards changes nothing', () => {
  const splitter = new LineSplitter()
  const chunk = Buffer.from('abc')
  splitter.push(chunk)
  chunk.fill('x')
  assert.deepEqual(splitter.push(Buffer.from('\n')), [{ text: 'abc', endOffset: 4 }])
})
