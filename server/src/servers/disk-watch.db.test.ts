// Bots that fill their disks, where they have one of their own and where they do not.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startGitServer } from '../../test/git-server.ts'
import { makeBot, startHost, type TestBot } from '../../test/hosting.ts'
import { until } from '../../test/until.ts'

const git = await startGitServer()
after(() => git.close())

const filler = `
const fs = require('fs')
process.on('SIGTERM', () => process.exit(0))
const fill = () => {
  try { for (let i = 0; i < 40; i++) fs.appendFileSync('big', Buffer.alloc(1e6)) } catch (error) { console.log('got ' + error.code) }
  console.log('filled')
}
if (!fs.existsSync('big') && !fs.existsSync('calm')) setTimeout(fill, 3500)
fs.writeFileSync('calm', '')
console.log('up')
setInterval(() => {}, 1000)`

async function linesOf(bot: TestBot, part: string): Promise<string[]> {
  return (await bot.lines()).filter((line) => line.includes(part))
}

test('without a disk of its own a bot that has too much is stopped and told why, until files are deleted', async () => {
  const { server, ann } = await startHost({ sandbox: 'shim' })
  const { url } = await git.addRepo('soft', { 'index.js': filler })
  const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
  await server.pool.query('update bots set disk_mb = 16 where id = $1', [bot.id])
  assert.equal((await bot.deploy())['status'], 'succeeded')
  await bot.untilLine('filled')
  await server.work.diskWatch.look()
  const { body } = await bot.ask('GET @/resources')
  assert.equal(body['state'], 'crashed')
  assert.deepEqual((body['lastExit'] as { diskFull: boolean }).diskFull, true)
  assert(Number(body['diskBytes']) > Number(body['diskLimitBytes']))
  assert.equal((await linesOf(bot, 'more than the 16 MB of files that it may have: it is stopped')).length, 1)
  assert.equal((await bot.events()).at(-1)?.['event'], 'server.crashed')

  await bot.ask('POST @/power', { signal: 'start' })
  await bot.untilLine('The bot could not be started. This bot has more than the 16 MB')
  await bot.ask('POST @/power', { signal: 'stop' })
  const failed = await bot.deploy()
  assert.equal((failed['error'] as { code: string }).code, 'disk_full', JSON.stringify(failed['error']))
  assert.equal((await bot.ask('DELETE #/files/big')).status, 200)
  await bot.ask('POST @/power', { signal: 'start' })
  await bot.untilState('running')
  await server.work.diskWatch.look()
  assert.equal(await bot.state(), 'running')
  await server.work.resources.keep()
  const { data } = (await bot.ask('GET @/resources/history')).body as { data: { diskBytes: number }[] }
  assert((data[0]?.diskBytes ?? 0) > 0, 'what the watch saw is in the history')
})

test('on a disk of its own a bot gets an error, and its owner a line, once', async (t) => {
  const { server, ann } = await startHost()
  const wall = server.work.runtime.walls.find(({ name }) => name === 'disk')
  if (wall?.state !== 'on') return t.diagnostic(`NOT TRIED: ${wall?.detail}`)
  const { url } = await git.addRepo('hard', { 'index.js': filler })
  const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
  await server.pool.query('update bots set disk_mb = 16 where id = $1', [bot.id])
  assert.equal((await bot.deploy())['status'], 'succeeded')
  await bot.untilLine('got ENOSPC')
  for (let round = 0; round < 2; round++) await server.work.diskWatch.look()
  assert.equal((await linesOf(bot, 'The disk of this bot is full (16 MB)')).length, 1)
  assert.equal(await bot.state(), 'running')
  // It starts as it is, because nothing has to be put there.
  await bot.ask('POST @/power', { signal: 'restart' })
  await until('the second start', async () => (await linesOf(bot, 'up')).length === 2)

  await git.commit('hard', { 'large.bin': 'x'.repeat(5e6) })
  const failed = await bot.deploy()
  assert.deepEqual(
    [failed['status'], (failed['error'] as { code: string; message: string }).message],
    ['failed', 'The project needs more than the 16 MB of disk that this bot has.'],
  )
  assert.equal(await bot.state(), 'running')
})

test('a project that is larger than its disk fails in words, from git or by what its build makes', async (t) => {
  const { server, ann } = await startHost()
  const wall = server.work.runtime.walls.find(({ name }) => name === 'disk')
  if (wall?.state !== 'on') return t.diagnostic(`NOT TRIED: ${wall?.detail}`)
  const large = Array.from({ length: 30 }, (_, index) => [`f${index}`, `${index}${'x'.repeat(1e6)}`])
  const projects: Record<string, string>[] = [
    Object.fromEntries(large) as Record<string, string>,
    { 'package.json': JSON.stringify({ name: 'x', scripts: { build: 'cp /dev/zero big' } }) },
  ]
  for (const [index, files] of projects.entries()) {
    const { url } = await git.addRepo(`large${index}`, { 'index.js': '', ...files })
    const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
    await server.pool.query('update bots set disk_mb = 16 where id = $1', [bot.id])
    const { error } = (await bot.deploy()) as { error: { code: string; message: string } }
    assert.deepEqual(
      [error.code, error.message],
      ['disk_full', 'The project needs more than the 16 MB of disk that this bot has.'],
    )
  }
})
