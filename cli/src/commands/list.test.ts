import assert from 'node:assert/strict'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call } from '../../test/call.ts'

test('a listed bot with a wrong key is told which key it is about', async () => {
  const { url } = await startServer((_request, response) => json(response, 401, { code: 'unauthenticated' }))
  const env = { BOTBERTH_URL: url, BOTBERTH_LIST_KEY: 'svc_list_x' }
  for (const args of [
    ['list', 'stats', '3'],
    ['list', 'check-vote', '1'],
  ]) {
    const { code, stderr } = await call(args, { env })
    assert.equal(code, 4)
    assert.match(stderr, /BOTBERTH_LIST_KEY/)
    assert.doesNotMatch(stderr, /botberth login/)
  }
})
