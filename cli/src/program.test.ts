import assert from 'node:assert/strict'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call } from '../test/call.ts'
import { nextSteps } from './next.ts'
import { makeProgram } from './program.ts'

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

test('for every command it is known what comes next', () => {
  const io = { env: {}, cwd: '', stdin: process.stdin, stdout: process.stdout, stderr: process.stderr }
  const leaves = makeProgram(io, () => async () => {}).commands.flatMap((one) =>
    one.commands.length > 0 ? one.commands.map((inner) => `${one.name()} ${inner.name()}`) : [one.name()],
  )
  assert.deepEqual(leaves.toSorted(), Object.keys(nextSteps).toSorted())
})

test('what comes next is told at a terminal, after what went well', async () => {
  const { url } = await startServer((_request, response) => json(response, 200, { data: [] }))
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x', CI: 'true' }
  assert.match((await call(['whoami'], { env, isTerminal: true })).stderr, /^Next: .*\n$/)
  assert.equal((await call(['whoami'], { env })).stderr, '')
  // What says itself what to do needs no more.
  assert.equal((await call(['bots'], { env, isTerminal: true })).stderr, '')
  assert.doesNotMatch((await call(['bots', 'show', 'x'], { env, isTerminal: true })).stderr, /Next/)
})
