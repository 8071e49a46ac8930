import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BotberthError } from '@botberth/sdk'
import { isTaken } from './taken.ts'

const folders = new Map([
  ['', [{ name: 'index.js' }, { name: 'src' }]],
  ['src/lib', [{ name: 'a.js' }]],
])

async function list(folder: string) {
  const entries = folders.get(folder)
  if (!entries) throw new BotberthError(404, { code: 'not_found' })
  return entries
}

test('a file or a folder of that name is known, wherever it is', async () => {
  const taken = await Promise.all(
    ['index.js', 'src', 'src/lib/a.js', 'a.js', 'src/lib/index.js', 'new/a.js'].map((path) => isTaken(path, list)),
  )
  assert.deepEqual(taken, [true, true, true, false, false, false])
})

test('what could not be asked is not taken for free', async () => {
  const fail = () => Promise.reject(new BotberthError(500, { code: 'internal' }))
  await assert.rejects(isTaken('index.js', fail), { code: 'internal' })
})
