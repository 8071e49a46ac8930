import assert from 'node:assert/strict'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseEnv } from 'node:util'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'

type Variable = { readonly key: string; readonly value: string | null; readonly secret?: boolean }

async function start(variables: readonly Variable[]) {
  const { seen, url } = await startServer((request, response) => {
    if (request.method !== 'GET') json(response, 200, { restartRequired: false })
    else if (request.url?.endsWith('/startup')) json(response, 200, { startCommand: null, variables })
    else json(response, 200, { data: [{ id: 'bot_1', name: 'a', identifier: 'srv' }] })
  })
  return { seen, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } }
}

test('a file that is pulled is for its owner alone, also over one that was not, wherever it lies', async () => {
  const { env } = await start([{ key: 'TOKEN', value: 'a b' }])
  const path = join(makeFolder(), 'my.env')
  writeFileSync(path, 'OLD=1\n')
  chmodSync(path, 0o644)
  const { code, stderr } = await call(['env', 'pull', path, '--force', '--bot', 'a'], { env })
  assert.equal(code, 0, stderr)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(readFileSync(path, 'utf8'), "TOKEN='a b'\n")
  const imported = await call(['env', 'import', path, '--bot', 'a', '--json'], { env })
  assert.deepEqual(JSON.parse(imported.stdout), { added: [], changed: [], removed: [], applied: false })
})

test('values come back as they were, and what no file can hold is said', async () => {
  const values = ['', ' a ', 'x=1 # no', "it's", 'say "hi"', 'two\nlines', '`a` "b"', '$HOME', '한글']
  const hopeless = `'"\``
  const variables = [...values, hopeless].map((value, index) => ({ key: `V${index}`, value }))
  const { env } = await start(variables)
  const cwd = makeFolder()
  const { code, stderr } = await call(['env', 'pull', '--bot', 'a'], { env, cwd })
  assert.equal(code, 0)
  assert.match(stderr, new RegExp(`V${values.length}\\b`))
  const read = parseEnv(readFileSync(join(cwd, '.env'), 'utf8'))
  assert.deepEqual(Object.values(read), values)
})

test('variables are changed in an editor; those that it does not show stay', async () => {
  const variables = [
    { key: 'KEPT', value: 'a b', secret: false },
    { key: 'GONE', value: '1', secret: false },
    { key: 'TOKEN', value: null, secret: true },
  ]
  const { env, seen } = await start(variables)
  const script = join(makeFolder(), 'editor.sh')
  writeFileSync(script, `printf "KEPT='a b'\\nNEW=2\\n" >"$1"`)
  const how = { env: { ...env, EDITOR: `sh ${script}` }, isTerminal: true }
  const { code, stderr } = await call(['env', 'edit', '--bot', 'a'], how)
  assert.equal(code, 0, stderr)
  assert.deepEqual((JSON.parse(seen.at(-1)?.body ?? '') as { variables: object[] }).variables, [
    { key: 'TOKEN', secret: true },
    { key: 'KEPT', value: 'a b' },
    { key: 'NEW', value: '2' },
  ])
  const before = seen.filter(({ method }) => method !== 'GET').length
  assert.equal((await call(['env', 'edit', '--bot', 'a'], { ...how, env: { ...env, EDITOR: 'false' } })).code, 1)
  assert.equal(seen.filter(({ method }) => method !== 'GET').length, before)
})
