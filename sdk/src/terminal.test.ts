import assert from 'node:assert/strict'
import { test } from 'node:test'
import { safeForTerminal } from './terminal.ts'

const [esc, bell, string] = ['\u001b', '\u0007', '\u009c']

test('colours stay', () => {
  for (const text of [
    'plain',
    `${esc}[31mred${esc}[0m`,
    `${esc}[38;5;208mx${esc}[m`,
    `${esc}[4:3mwave`,
    'a\tb\nc',
    '한국어 🤖',
  ])
    assert.equal(safeForTerminal(text), text)
  assert.equal(safeForTerminal('\u009b31mred'), `${esc}[31mred`)
})

test('what would act on the terminal is gone, and nothing else', () => {
  const acts = [
    `${esc}]52;c;aGVsbG8=${bell}`,
    `${esc}]52;c;aGVsbG8=${esc}\\`,
    `\u009d52;c;aGVsbG8=${string}`,
    `${esc}]0;title${bell}`,
    `${esc}]8;;https://evil.example${bell}`,
    `${esc}Pq#0;2;0;0;0${esc}\\`,
    `${esc}_app${esc}\\`,
    `${esc}^private${esc}\\`,
    `${esc}Xstart${esc}\\`,
    `${esc}[2J`,
    `${esc}[10;20H`,
    `${esc}[?1049h`,
    `${esc}[>4;1m`, // ends like a colour, and is none
    `${esc}[6n`,
    `${esc}[!p`,
    `${esc}c`,
    `${esc}7`,
    `${esc}(0`,
    '\u0000\u0008\u007f\u0085',
    esc,
  ]
  for (const act of acts) {
    assert.equal(safeForTerminal(`a${act}`), 'a', JSON.stringify(act))
    if (act !== esc) assert.equal(safeForTerminal(`a${act}|b`), 'a|b', JSON.stringify(act))
  }
  assert.equal(safeForTerminal(`a${esc}]52;c;never ended\nb`), 'a\nb')
})

test('what is put together from the rest of a removed one acts no more', () => {
  const nested = safeForTerminal(`${esc}${esc}]0;x${bell}]52;c;aGVsbG8=${bell}`)
  assert.doesNotMatch(nested, /[\u001b\u0007\u0080-\u009f]/)
  assert.doesNotMatch(safeForTerminal(`\u0000${esc}\u0000]52;c;x${bell}`), /[\u001b\u0007]/)
})

test('of a line that was written over the last is seen', () => {
  assert.equal(safeForTerminal('10 %\r50 %\r100 %\nnext\r\n'), '100 %\nnext\n')
})

test('marks that turn the direction of reading are shown', () => {
  assert.equal(safeForTerminal('user\u202etxt.exe\u2066'), 'user<U+202E>txt.exe<U+2066>')
})
