// The files of bots that really run.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { tarGzOf, zipOf } from '../../test/archives.ts'
import { startGitServer } from '../../test/git-server.ts'
import { makeBot, startHost, type TestBot } from '../../test/hosting.ts'
import { until } from '../../test/until.ts'

const { server, ann } = await startHost()
const { dataDir } = server.app.config

async function send(
  request: string,
  { id }: TestBot,
  body?: Buffer | string,
): Promise<{ status: number; text: string }> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(`${server.url}/api/v1/bots/${id}${path}`, {
    method,
    headers: { 'x-api-key': ann.key },
    ...(body !== undefined && { body: new Uint8Array(Buffer.from(body)) }),
  })
  return { status: answer.status, text: await answer.text() }
}

const namesIn = ({ text }: { text: string }) =>
  (JSON.parse(text) as { data: { name: string; type: string }[] }).data.map(({ name }) => name)
const program = `const fs = require('node:fs')
console.log('it says ' + fs.readFileSync('data.txt', 'utf8'))
setInterval(() => {}, 1000)
`

for (const [kind, pack] of [
  ['.tar.gz', tarGzOf],
  ['.zip', (files: Record<string, string>) => Promise.resolve(zipOf(files))],
] as const) {
  test(`a bot that was uploaded as ${kind} runs with its files, and sees those that are changed`, async () => {
    const bot = await makeBot(server, ann)
    const files = { 'my-bot/index.js': program, 'my-bot/data.txt': `first ${kind}` }
    assert.equal((await send('PUT /source', bot, await pack(files))).status, 200)
    assert.equal((await bot.deploy())['status'], 'succeeded')
    await bot.untilLine(`it says first ${kind}`)
    assert.equal((await send('GET /files/data.txt', bot)).text, `first ${kind}`)

    assert.equal((await send('PUT /files/data.txt', bot, 'second')).status, 200)
    assert.equal((await bot.ask('POST @/power', { signal: 'restart' })).status, 202)
    await bot.untilLine('it says second')
    assert.equal((await send('PUT /files/more/data.txt', bot, 'third')).status, 200)
    assert.equal((await send('DELETE /files/more', bot)).status, 200)
    assert.equal((await send('PUT /files/data.txt', bot, 'fourth')).status, 200)
    assert.equal((await bot.deploy())['status'], 'succeeded')
    await bot.untilLine('it says fourth')
    assert.deepEqual(
      namesIn(await send('GET /files', bot)).filter((name) => name !== 'node_modules'),
      ['data.txt', 'index.js'],
    )
  })
}

test('links that a bot makes lead nobody out of its folder', async () => {
  const bot = await makeBot(server, ann)
  // A folder of the test's own: a mistake of ours must not cost the machine its files.
  const outside = mkdtempSync(join(dataDir, 'outside-'))
  writeFileSync(join(outside, 'secret'), 'x')
  const index = `const fs = require('node:fs')
const outside = ${JSON.stringify(outside)}
const link = (to, name) => { try { fs.symlinkSync(to, name) } catch {} }
link('/etc/passwd', 'passwd'); link(outside, 'out'); link('../../..', 'up'); link('/proc/self/root', 'root')
link('index.js', 'inner'); fs.mkdirSync('own', { recursive: true }); fs.writeFileSync('own/file', 'mine')
require('node:child_process').execFileSync('mkfifo', ['pipe'])
console.log('linked')
let isLink = false
setInterval(() => {
  for (let i = 0; i < 200; i++) {
    try {
      fs.rmSync('swap', { recursive: true, force: true })
      if (isLink) fs.mkdirSync('swap')
      else fs.symlinkSync(outside, 'swap')
    } catch {}
    isLink = !isLink
  }
}, 5)
`
  await send('PUT /files/index.js', bot, index)
  assert.equal((await bot.deploy())['status'], 'succeeded')
  await bot.untilLine('linked')
  for (const path of ['passwd', 'out', 'out/secret', 'up', 'up/node-id', 'root/etc/passwd', 'inner', 'pipe'])
    assert.equal((await send(`GET /files/${path}`, bot)).status, 404, path)
  for (const path of ['out/new', 'out/secret', 'up/new'])
    assert.equal((await send(`PUT /files/${path}`, bot, 'evil')).status, 409, path)
  assert.equal((await send('GET /files/own/file', bot)).text, 'mine')
  for (let round = 0; round < 40; round++) {
    assert.equal((await send('GET /files/swap/secret', bot)).status, 404)
    assert([200, 409].includes((await send('PUT /files/swap/new', bot, 'evil')).status))
    assert([200, 404, 409].includes((await send('DELETE /files/swap/secret', bot)).status))
  }
  // A link itself can be replaced and removed.
  assert.equal((await send('PUT /files/inner', bot, 'a file')).status, 200)
  assert.equal((await send('GET /files/inner', bot)).text, 'a file')
  assert.equal((await send('DELETE /files/out', bot)).status, 200)
  assert.deepEqual(readdirSync(outside), ['secret'])
  assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'x')
  assert.equal((await send('GET /files/index.js', bot)).text, index)
})

test('a git bot’s files are those that it works with, and a deployment brings back the repository’s', async () => {
  const git = await startGitServer()
  after(() => git.close())
  const { url } = await git.addRepo('bot', { 'index.js': program, 'data.txt': 'of the repository' })
  const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
  assert.equal((await bot.deploy())['status'], 'succeeded')
  assert.equal((await send('PUT /files/data.txt', bot, 'by hand')).status, 200)
  assert.equal((await send('PUT /files/notes/own.txt', bot, 'by hand')).status, 200)
  await bot.ask('POST @/power', { signal: 'restart' })
  await bot.untilLine('it says by hand')
  assert.equal((await bot.deploy())['status'], 'succeeded')
  assert.equal((await send('GET /files/data.txt', bot)).text, 'of the repository')
  assert.equal((await send('GET /files/notes/own.txt', bot)).text, 'by hand')
  assert.equal(existsSync(join(dataDir, 'sources', bot.id)), false)
})

test('a bot that was never deployed takes its files with it when it is deleted', async () => {
  const bot = await makeBot(server, ann)
  assert.equal((await send('PUT /source', bot, zipOf({ 'index.js': '' }))).status, 200)
  assert(readdirSync(join(dataDir, 'sources')).includes(bot.id))
  assert.equal((await bot.ask('DELETE #')).status, 200)
  await until('its files to go', () => Promise.resolve(!readdirSync(join(dataDir, 'sources')).includes(bot.id)))
})

test('a bot that is deleted during an upload comes back to nothing', async () => {
  const bot = await makeBot(server, ann)
  const body = await tarGzOf(Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`f${index}`, 'x'])))
  const upload = send('PUT /source', bot, body)
  await until('the upload to be there', () => Promise.resolve(readdirSync(join(dataDir, 'uploads')).length > 0))
  assert.equal((await bot.ask('DELETE #')).status, 200)
  assert([200, 404].includes((await upload).status))
  await until('its files to go', () => Promise.resolve(!readdirSync(join(dataDir, 'sources')).includes(bot.id)))
  assert.deepEqual(readdirSync(join(dataDir, 'uploads')), [])
})
