import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'

const templates = ['one', 'two'].map((name) => ({ id: `t-${name}`, name, description: name, language: 'javascript' }))

async function start(bots: readonly object[] = []) {
  const { url, seen } = await startServer((request, response) => {
    const path = request.url ?? ''
    if (request.method === 'POST') json(response, 201, { id: 'bot_1', name: 'made' })
    else if (path.endsWith('/bots')) json(response, 200, { data: bots })
    else json(response, 200, { data: path.includes('templates') ? templates : [] })
  })
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x', CI: 'true' }
  const asked = () => seen.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body) as object)
  return { env, asked }
}

/** Standard input of somebody who types this and stays. */
function typing(text: string): PassThrough {
  const input = new PassThrough()
  input.write(text)
  return input
}

test('whoever names no template chooses one, and without a terminal is told what to name', async () => {
  const { env, asked } = await start()
  const cwd = makeFolder()
  mkdirSync(join(cwd, '.git'))
  const refused = await call(['init'], { env, cwd })
  assert.deepEqual([refused.code, asked()], [2, []])
  assert.match(refused.stderr, /--template/)
  const wrong = await call(['init'], { env, cwd, isTerminal: true, input: typing('3\n') })
  assert.deepEqual([wrong.code, asked()], [3, []])
  const { code, stderr } = await call(['init', '--name', 'made'], { env, cwd, isTerminal: true, input: typing('2\n') })
  assert.equal(code, 0, stderr)
  assert.deepEqual(asked(), [{ name: 'made', type: 'marketplace', templateId: 't-two' }])
  assert(existsSync(join(cwd, '.botberth.json')))
})

test('a folder with files is left alone', async () => {
  const { env, asked } = await start()
  const cwd = makeFolder()
  writeFileSync(join(cwd, 'index.js'), '')
  assert.deepEqual([(await call(['init', '--language', 'python'], { env, cwd })).code, asked()], [5, []])
})

test('whoever has no bots is not asked which one', async () => {
  const { env } = await start()
  const { code, stderr } = await call(['link'], { env, cwd: makeFolder(), isTerminal: true, input: typing('') })
  assert.equal(code, 3)
  assert.match(stderr, /No bots yet/)
})
