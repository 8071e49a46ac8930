import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'

async function start() {
  const variables = [
    { key: 'GREETING', value: 'hello there', secret: false },
    { key: 'TOKEN', value: null, secret: true },
  ]
  const { url } = await startServer((request, response) =>
    json(response, 200, request.url?.endsWith('/startup') ? { variables } : { data: [{ id: 'bot_1', name: 'a' }] }),
  )
  const cwd = makeFolder()
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x', PATH: process.env['PATH'] ?? '' }
  return { cwd, run: (...words: string[]) => call(['run', '-b', 'a', '--', ...words], { env, cwd }) }
}

test('a command has the variables of the bot, and neither the key nor what is secret', async () => {
  const { cwd, run } = await start()
  const file = join(cwd, 'seen.json')
  const code = 'require("fs").writeFileSync(process.argv[1], JSON.stringify(process.env)); process.exit(5)'
  const ended = await run(process.execPath, '-e', code, file)
  assert.equal(ended.code, 5)
  assert.match(ended.stderr, /secret: TOKEN/)
  const seen = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
  assert.deepEqual([seen['GREETING'], seen['TOKEN'], seen['BOTBERTH_API_KEY']], ['hello there', undefined, undefined])
})

test('a command that is killed ends as a shell would say, and one that is not there is named', async () => {
  const { run } = await start()
  assert.equal(
    (await run(process.execPath, '-e', 'process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 1e5)')).code,
    143,
  )
  const { code, stderr } = await run('no-such-command')
  assert.equal(code, 1)
  assert.match(stderr, /no command no-such-command/)
})
