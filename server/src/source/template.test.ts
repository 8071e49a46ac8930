import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTemplates } from './template.ts'

test('the first template of each language runs without a token', () => {
  const templates = readTemplates()
  assert(templates.length >= 4)
  for (const language of ['javascript', 'python']) {
    const first = templates.find((template) => template.language === language)
    assert.equal(first?.id, `heartbeat-${language}`)
    assert.equal(
      first?.variables.some(({ required }) => required),
      false,
    )
  }
})

test('the first of all is the one in JavaScript', () => {
  assert.equal(readTemplates()[0]?.id, 'heartbeat-javascript')
})

test('tokens are secret', () => {
  const tokens = readTemplates().flatMap(({ variables }) => variables.filter(({ key }) => key.includes('TOKEN')))
  assert(tokens.length >= 2)
  assert(tokens.every(({ secret, required }) => secret && required))
})
