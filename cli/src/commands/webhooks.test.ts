import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { call } from '../../test/call.ts'

test('a signature is checked here, with the secret of the environment', async () => {
  const input = '{"event":"ping"}'
  const signature = `sha256=${createHmac('sha256', 'hush').update(input).digest('hex')}`
  const verify = (env: Record<string, string>) => call(['webhooks', 'verify', signature], { input, env })
  assert.equal((await verify({ WEBHOOK_SECRET: 'hush' })).code, 0)
  assert.equal((await verify({ WEBHOOK_SECRET: 'other' })).code, 5)
  const { code, stderr } = await verify({})
  assert.equal(code, 2)
  assert.match(stderr, /WEBHOOK_SECRET/)
})
