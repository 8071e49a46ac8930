import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call } from '../test/call.ts'

test('wrong words are JSON where the result would be', async () => {
  for (const args of [
    ['deplyo'],
    ['bots', '--nonsense'],
    ['logs', '-n', 'many'],
    ['webhooks', 'show'],
    ['deployment'],
  ]) {
    const { code, stdout, stderr } = await call([...args, '--json'])
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
    assert.deepEqual([code, stdout, error.code], [2, '', 'usage'], args.join(' '))
    assert.notEqual(error.message, '')
  }
  const plain = await call(['deplyo'])
  assert.match(plain.stderr, /Did you mean deploy/)
})
