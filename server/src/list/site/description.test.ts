import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { latin, letters } from '../../../test/letters.ts'
import { renderDescription } from './description.ts'

const partsOf = (text: string) => renderDescription(text).parts.map((part) => part.text)

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n')

suite('a long description', () => {
  test('is one part as long as it fits', () => {
    assert.equal(partsOf('').length, 1)
    const whole = '<h3>Hi</h3>\n<p>All <em>of</em> it</p>\n'
    assert.deepEqual(partsOf('# Hi\n\nAll *of* it'), [whole])
    assert.equal(renderDescription('# Hi\n\nAll *of* it').beginning.text, whole)
    assert.equal(partsOf('Words that repeat themselves are small. '.repeat(500)).length, 1)
  })

  test('is parted between its blocks, and nothing is lost or changed', () => {
    const paragraphs = Array.from({ length: 40 }, (_, i) => `${i}${letters(400)}`)
    const parts = partsOf(paragraphs.join('\n\n'))
    assert(parts.length > 2)
    assert.equal(parts.join(''), paragraphs.map((text) => `<p>${text}</p>\n`).join(''))
  })

  test('fits, whatever it is made of', () => {
    for (const text of [
      letters(20_000),
      letters(10_000, { from: 0x20000, kinds: 40_000 }),
      letters(20_000, { from: 33, kinds: 90 }),
      lines(6_600, () => letters(1) + '\n'),
      `|${letters(19_000)}|\n|---|\n| a |\n| b |`,
      `\`\`\`${letters(19_000)}\n\n\`\`\``,
      lines(400, (i) => `- ${i} ${letters(40)}`),
    ]) {
      const parts = partsOf(text)
      assert(parts.length > 1)
      for (const part of parts) assert(gzipSync(part).length <= 7000)
      assert(gzipSync(renderDescription(text).beginning.text).length <= 2600)
    }
  })

  test('code stays code and a table a table in every part', () => {
    const code = partsOf(`~~~js\n${lines(300, (i) => `${i}${letters(60, latin)}`)}\n~~~`)
    assert(code.length > 1)
    for (const part of code) assert.match(part, /^<pre><code class="language-js">\d[^<]*<\/code><\/pre>\n$/)
    const table = partsOf(`| one | two |\n|---|---|\n${lines(300, (i) => `| ${i} | ${letters(30, latin)} |`)}`)
    assert.match(table[0] ?? '', /<th>one<\/th>/)
    for (const part of table)
      assert.match(part, /^<div class="scroll" tabindex="0"><table>\n<thead>\n<tr>\n<th>one<\/th>/)
  })
})
