import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'
import { version } from '../version.ts'

interface Answer {
  readonly ok: boolean
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[]
}

async function examine({ date = new Date().toUTCString(), link = '', theirs = version } = {}) {
  const { url } = await startServer((request, response) => {
    const path = request.url ?? ''
    const body = path.endsWith('/version') ? { version: theirs } : { status: 'ok', db: 'ok', name: 'somebody' }
    json(response, 200, body, { date })
  })
  const cwd = makeFolder()
  if (link !== '') writeFileSync(join(cwd, '.botberth.json'), link)
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' }
  const { code, stdout } = await call(['doctor', '--json'], { env, cwd })
  const { checks } = JSON.parse(stdout) as Answer
  return { code, bad: checks.filter(({ ok }) => !ok).map(({ name }) => name), count: checks.length }
}

test('all is well where everything is in place', async () => {
  assert.deepEqual(await examine(), { code: 0, bad: [], count: 5 })
})

test('each thing that is wrong is named, and ends with 1', async () => {
  const old = new Date(Date.now() - 3_600_000).toUTCString()
  assert.deepEqual(await examine({ date: old }), { code: 1, bad: ['clock'], count: 5 })
  assert.deepEqual(await examine({ theirs: '99.0.0' }), { code: 1, bad: ['version'], count: 5 })
  assert.deepEqual(await examine({ link: '{' }), { code: 1, bad: ['link'], count: 5 })
})
