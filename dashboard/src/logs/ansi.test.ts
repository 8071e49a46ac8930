import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAnsi, stripAnsi } from './ansi.ts'
import { findLines } from './search.ts'

const esc = '\u001b'

test('colours and weights become pieces', () => {
  assert.deepEqual(parseAnsi(`plain ${esc}[1;31mred${esc}[0m end`), [
    { text: 'plain ' },
    { text: 'red', className: 'a-bold', color: '#ff8f87' },
    { text: ' end' },
  ])
  assert.deepEqual(parseAnsi(`${esc}[38;5;196mx${esc}[39m${esc}[48;2;1;2;3my`), [
    { text: 'x', color: 'rgb(255, 0, 0)' },
    { text: 'y', background: 'rgb(1, 2, 3)' },
  ])
})

test('a carriage return begins the line anew', () => {
  assert.equal(stripAnsi('10 %\r50 %\r100 %'), '100 %')
  assert.equal(stripAnsi('done\r'), 'done')
  assert.equal(stripAnsi('\r'), '')
})

test('everything else that a terminal can be told is left out, whole or cut short', () => {
  assert.equal(stripAnsi(`${esc}]8;;http://evil.example\u0007link${esc}]8;;\u0007`), 'link')
  assert.equal(stripAnsi(`${esc}[2K${esc}[1Aup\u0007\u0000`), 'up')
  for (const cut of [`a${esc}`, `a${esc}[`, `a${esc}[38;5`, `a${esc}]0;title`]) assert.match(stripAnsi(cut), /^a/)
  assert.equal(stripAnsi('a\tb'), 'a\tb')
})

test('search sees what is shown, not how it is coloured', () => {
  const line = (seq: number, text: string) => ({ seq, at: '', stream: 'stdout' as const, phase: 'run', text })
  const entries = [line(1, `Hel${esc}[1mlo`), { seq: 2, skipped: 3 }, line(3, 'HELLO'), line(4, 'bye')]
  assert.deepEqual(findLines(entries, 'hello'), [0, 2])
  assert.deepEqual(findLines(entries, ''), [])
})
