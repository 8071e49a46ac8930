import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'

const key = { BOTBERTH_API_KEY: 'svc_live_x' }

test('a redirect is not followed, and its target named', async () => {
  const other = await startServer((_request, response) => json(response, 200, {}))
  const { url } = await startServer((_request, response) => response.writeHead(302, { location: other.url }).end())
  const { code, stderr } = await call(['api', 'GET', '/me'], { env: { ...key, BOTBERTH_URL: url } })
  assert.equal(code, 1)
  assert(stderr.includes(other.url))
  assert.equal(other.seen.length, 0)
})

test('what cannot be asked is refused before anybody is asked', async () => {
  const { url, seen } = await startServer((_request, response) => json(response, 200, {}))
  const wrong = [
    ['GET', '/bots', '-F', 'a=1'],
    ['HEAD', '/bots', '--input', '-'],
    ['GE T', '/bots'],
    ['POST', '/bots', '--input', '-', '-F', 'a=1'],
  ]
  for (const args of wrong) {
    const { code } = await call(['api', ...args], { env: { ...key, BOTBERTH_URL: url } })
    assert.equal(code, 2, args.join(' '))
  }
  assert.equal(seen.length, 0)
})

test('a file goes as it is, from wherever it lies', async () => {
  const { url, seen } = await startServer((_request, response) => json(response, 200, {}))
  const folder = makeFolder()
  const path = join(folder, 'body')
  for (const body of [Buffer.from([0x1f, 0x8b, 0xff, 0]), Buffer.from('{"a":1}')]) {
    writeFileSync(path, body)
    assert.equal((await call(['api', 'PUT', '/x', '--input', path], { env: { ...key, BOTBERTH_URL: url } })).code, 0)
  }
  assert.deepEqual(
    seen.map(({ headers }) => [headers['content-type'], headers['content-length']]),
    [
      ['application/octet-stream', '4'],
      ['application/json', '7'],
    ],
  )
})
