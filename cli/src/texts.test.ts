import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogues, type TextName } from './texts.ts'

test('a text has the same values in both languages', () => {
  const valuesOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).toSorted()
  for (const [name, text] of Object.entries(catalogues.en))
    assert.deepEqual(valuesOf(catalogues.ko[name as TextName]), valuesOf(text), name)
})
