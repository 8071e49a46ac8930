import assert from 'node:assert/strict'
import { test } from 'node:test'
import { en } from '../../texts/en.ts'
import { describeDetails } from './details.ts'

test('events are told in words, without ids', () => {
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{ keyId: 'key_1', name: 'CI', last4: 'abcd' }, 'CI, …abcd'],
    [{ via: 'chat' }, 'through the chat platform'],
    [{ via: 'carrier pigeon' }, 'carrier pigeon'],
    [{ botId: '1', name: 'Ship', to: 'ann' }, 'Ship, to ann'],
    [{ sessionId: 'ses_1' }, ''],
    [{ clientName: 'laptop' }, 'laptop'],
  ]
  for (const [details, text] of cases) assert.equal(describeDetails(details, en), text)
})
