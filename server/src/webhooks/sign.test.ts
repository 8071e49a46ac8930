import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { sign as signOfOctokit } from '@octokit/webhooks-methods'
import { sign } from './sign.ts'

test('GitHub’s published example comes out', () => {
  assert.equal(
    sign('Hello, World!', "It's a Secret to Everybody"),
    'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
  )
})

test('others come to the same, whatever the bytes', async () => {
  const bodies = ['x', '{"a":"ü\u{1F480}"}', 'x'.repeat(64 * 1024), '\0\r\n']
  for (const body of bodies)
    for (const secret of ['s', 'Schlüssel \u{1F511}', ' with spaces ', 'x'.repeat(256)]) {
      assert.equal(sign(body, secret), await signOfOctokit(secret, body))
      assert.equal(sign(Buffer.from(body), secret), sign(body, secret))
      const key = Buffer.from(secret).toString('hex')
      const { stdout } = spawnSync('openssl', ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key}`, '-hex'], {
        input: body,
      })
      // Where there is no openssl, the two above have to do.
      if (stdout?.length) assert.equal(sign(body, secret), `sha256=${stdout.toString().trim().split(' ').at(-1)}`)
    }
  assert.equal(sign('', 's'), sign(Buffer.alloc(0), 's'))
})
