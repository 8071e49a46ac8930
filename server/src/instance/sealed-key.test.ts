import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openKey, sealKey } from './sealed-key.ts'

test('a sealed key opens with its passphrase, however that is typed, and with no other', () => {
  const sealed = sealKey('the key of an instance', 'Pässphrase of some words')
  assert.equal(openKey(sealed, 'Pa\u0308ssphrase of some words'), 'the key of an instance')
  assert.equal(openKey(sealed, 'Passphrase of some words'), undefined)
  assert.equal(
    openKey(
      { ...sealed, sealed: sealed.sealed.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A')) },
      'Pässphrase of some words',
    ),
    undefined,
  )
  assert.doesNotMatch(JSON.stringify(sealed), /the key/)
})

test('a file that asks for more memory than we would ever take is not believed', () => {
  assert.equal(openKey({ ...sealKey('x', 'y'), cost: 2 ** 30 }, 'y'), undefined)
})
