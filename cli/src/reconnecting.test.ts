import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeIo, Sink } from '../test/call.ts'
import { Context } from './context.ts'
import { reconnecting } from './reconnecting.ts'
import { english } from './texts.ts'

test('a lost connection is told of once, and that it is back as well', () => {
  const stderr = new Sink()
  const signal = new AbortController().signal
  const context = new Context(makeIo({}, { stdout: new Sink(), stderr }), {}, { signal, text: english.say })
  const tell = reconnecting(context)
  for (const isConnected of [true, false, false, false, true, true, false]) tell(isConnected)
  assert.deepEqual(stderr.text.match(/lost|again\./g), ['lost', 'again.', 'lost'])
})
