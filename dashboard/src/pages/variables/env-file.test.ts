import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffEnv, parseEnv, writeEnv } from './env-file.ts'

const read = (text: string) => Object.fromEntries(parseEnv(text).values)

test('names, quotes, comments and lines are read as other programs read them', () => {
  const text = `# a comment
TOKEN=abc.def # and why
export PREFIX = !
EMPTY=
SINGLE='a # b \\n'
DOUBLE="a\\n\\"b\\""
KEY="-----BEGIN
second
-----END"
URL=https://x.example/?a=1&b=2#c
`
  assert.deepEqual(read(text), {
    TOKEN: 'abc.def',
    PREFIX: '!',
    EMPTY: '',
    SINGLE: 'a # b \\n',
    DOUBLE: 'a\n"b"',
    KEY: '-----BEGIN\nsecond\n-----END',
    URL: 'https://x.example/?a=1&b=2#c',
  })
  assert.deepEqual(read('A=1\r\nB=2\r\n'), { A: '1', B: '2' })
})

test('what is no variable is named by its line, and what comes twice by its name', () => {
  const { unreadable, repeated, values } = parseEnv('A=1\nno way\n2X=3\nA=2')
  assert.deepEqual([unreadable, repeated, values.get('A')], [[2, 3], ['A'], '2'])
  assert.deepEqual(read('A="never closed\nB=1'), { A: '"never closed', B: '1' })
})

test('what is written is read back the same, whatever it is', () => {
  const values = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'))
  fc.assert(fc.property(values, (value) => assert.equal(read(writeEnv([{ key: 'A', value }]))['A'], value)))
})

test('the difference says what saving would do', () => {
  const before = [
    { key: 'SAME', value: '1', secret: false },
    { key: 'OLD', value: '1', secret: false },
    { key: 'SECRET', value: null, secret: true },
    { key: 'GONE', value: 'x', secret: false },
  ]
  const file = parseEnv('SAME=1\nOLD=2\nSECRET=3\nNEW=4')
  const changes = [
    { key: 'OLD', kind: 'updated' },
    { key: 'SECRET', kind: 'updated' },
    { key: 'NEW', kind: 'added' },
  ]
  assert.deepEqual(diffEnv(before, file, { isReplacing: false }), changes)
  assert.deepEqual(diffEnv(before, file, { isReplacing: true }), [...changes, { key: 'GONE', kind: 'removed' }])
})
