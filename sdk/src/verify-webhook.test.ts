import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sign } from '@octokit/webhooks-methods'
import { verifyWebhook } from './verify-webhook.ts'

const secret = "It's a Secret to Everybody"
const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'

test('the published example is genuine, as text and as bytes', async () => {
  assert(await verifyWebhook('Hello, World!', signature, secret))
  assert(await verifyWebhook(new TextEncoder().encode('Hello, World!'), signature, secret))
  assert(await verifyWebhook(Buffer.from('Hello, World!'), signature, secret))
})

test('what somebody else signed is genuine, whatever the characters', async () => {
  for (const body of ['{"a":"ü\u{1F480}"}', 'x'.repeat(64 * 1024)])
    for (const key of ['s', 'Schlüssel \u{1F511}']) assert(await verifyWebhook(body, await sign(key, body), key))
})

test('everything else is not', async () => {
  const wrong = [
    undefined,
    null,
    '',
    'sha256=',
    signature.slice(7),
    signature.toUpperCase(),
    `${signature}00`,
    ` ${signature}`,
    signature.replace('7', '8'),
    signature.replace('sha256', 'sha1'),
    `sha256=${'0'.repeat(64)}`,
    `sha256=${'zz'.repeat(32)}`,
    [signature, signature],
  ]
  for (const given of wrong) assert.equal(await verifyWebhook('Hello, World!', given, secret), false, String(given))
  assert.equal(await verifyWebhook('Hello, World', signature, secret), false)
  assert.equal(await verifyWebhook('Hello, World!', signature, 'another'), false)
})
