import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'
import { botPages, otherPages } from './open.ts'

test('every page is one that the dashboard has', () => {
  const router = readFileSync(join(import.meta.dirname, '../../../dashboard/src/router.tsx'), 'utf8')
  const below = (parent: string) =>
    [...router.matchAll(/getParentRoute: \(\) => (\w+),\s+path: '([^']+)'/g)]
      .filter(([, one, path = '']) => one === parent && !path.includes('$'))
      .map(([, , path = '']) => path)
  const [ofBot, ofShell] = [below('bot'), below('shell')]
  assert.deepEqual(
    ofBot.toSorted(),
    Object.values(botPages)
      .map((path) => path || '/')
      .toSorted(),
  )
  for (const path of Object.values(otherPages)) assert(ofShell.includes(path), path)
})

async function start() {
  const { url, seen } = await startServer((request, response) => {
    const bot = { id: 'bot_1', name: 'a' }
    json(response, 200, request.url?.endsWith('/bots') ? { data: [bot] } : bot)
  })
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' }
  const linked = makeFolder()
  writeFileSync(join(linked, '.botberth.json'), JSON.stringify({ url, botId: 'bot_1' }))
  const open = async (words: readonly string[], cwd = makeFolder()) => {
    const { code, stdout } = await call(['open', ...words], { env, cwd })
    return code === 0 ? stdout.trim().slice(url.length) : code
  }
  return { open, linked, seen }
}

test('a page is named after its bot, or alone where the folder has one', async () => {
  const { open, linked } = await start()
  assert.equal(await open(['a']), '/bots/bot_1')
  assert.equal(await open(['a', 'logs']), '/bots/bot_1/logs')
  assert.equal(await open([], linked), '/bots/bot_1')
  assert.equal(await open(['variables'], linked), '/bots/bot_1/variables')
  assert.equal(await open(['variables']), 3)
  assert.equal(await open(['a', 'nonsense']), 2)
})

test('what belongs to no bot asks the server nothing', async () => {
  const { open, seen } = await start()
  assert.equal(await open([]), '/')
  assert.equal(await open(['keys']), '/keys')
  assert.equal(await open(['webhooks']), '/webhooks')
  assert.deepEqual(seen, [])
})
