import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomToken, Secrets, sha256 } from './secret.ts'

const secrets = new Secrets('a key of at least thirty-two characters')

test('what is sealed can be opened with the same key for the same purpose, and only so', () => {
  for (const text of ['', 'hello', '🤖 ünïcode', 'x'.repeat(100_000)]) {
    const sealed = secrets.seal(text, 'a')
    assert.equal(secrets.open(sealed, 'a'), text)
    assert.equal(secrets.open(sealed, 'b'), undefined)
    assert.equal(new Secrets('another key of at least 32 characters').open(sealed, 'a'), undefined)
  }
})

test('anything altered, cut or foreign does not open', () => {
  const sealed = secrets.seal('hello', 'a')
  for (let index = 0; index < sealed.length; index++) {
    const altered = Buffer.from(sealed)
    altered[index] = (altered[index] ?? 0) ^ 1
    assert.equal(secrets.open(altered, 'a'), undefined, `byte ${index}`)
  }
  for (const wrong of [Buffer.alloc(0), sealed.subarray(1), sealed.subarray(0, -1), Buffer.alloc(28)])
    assert.equal(secrets.open(wrong, 'a'), undefined)
})

test('the same text is never sealed to the same bytes', () => {
  assert.notDeepEqual(secrets.seal('hello', 'a'), secrets.seal('hello', 'a'))
})

test('tokens have 43 base62 characters and differ', () => {
  const tokens = Array.from({ length: 100 }, randomToken)
  for (const token of tokens) assert.match(token, /^[0-9A-Za-z]{43}$/)
  assert.equal(new Set(tokens).size, 100)
  assert.equal(sha256('abc').toString('hex'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
