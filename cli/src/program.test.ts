import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call } from '../test/call.ts'

test('a group alone lists what it has', async () => {
  for (const args of [
    ['bots'],
    ['env', '-b', 'x', '--reveal'],
    ['--json', 'keys'],
    ['repos'],
    ['backups'],
    ['webhooks'],
  ]) {
    const { code, stdout } = await call(args, { env: { BOTBERTH_URL: 'http://127.0.0.1:1' } })
    assert.deepEqual([code, stdout], [4, ''], args.join(' '))
  }
  assert.match((await call(['bots', '-h'])).stdout, /^Usage: botberth bots \[/)
})

test('help is about the last word that is named', async () => {
  assert.match((await call(['help'])).stdout, /^Usage: botberth \[/)
  assert.match((await call(['help', 'deploy'])).stdout, /^Usage: botberth deploy /)
  assert.match((await call(['help', 'bots', 'create'])).stdout, /^Usage: botberth bots create /)
})

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
  assert.match((await call(['bots', 'creat', 'x'])).stderr, /unknown command 'creat'\n\(Did you mean create\?\)/)
  const plain = await call(['deplyo'])
  assert.match(plain.stderr, /Did you mean deploy/)
})
