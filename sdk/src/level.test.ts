import assert from 'node:assert/strict'
import { test } from 'node:test'
import { levelOf } from './level.ts'

test('a line is as bad as it says, else as where it was written to', () => {
  assert.equal(levelOf({ stream: 'stdout', text: 'hello' }), 'info')
  assert.equal(levelOf({ stream: 'stdout', text: '[ERROR] no token' }), 'error')
  assert.equal(levelOf({ stream: 'stderr', text: 'Warning: deprecated' }), 'warn')
  assert.equal(levelOf({ stream: 'stderr', text: 'INFO connected' }), 'info')
  assert.equal(levelOf({ stream: 'stderr', text: 'boom' }), 'error')
  assert.equal(levelOf({ stream: 'stdout', text: 'TypeError: x is not a function' }), 'info')
  assert.equal(levelOf({ stream: 'system', text: 'error' }), 'system')
})
