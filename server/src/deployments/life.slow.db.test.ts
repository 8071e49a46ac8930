// Bots that really run: real git over HTTP, real processes.
import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { startGitServer } from '../../test/git-server.ts'
import { makeBot, startHost, type TestBot } from '../../test/hosting.ts'
import { until, withinLimit } from '../../test/until.ts'

const git = await startGitServer()
after(() => git.close())
const host = await startHost()
const { server, ann } = host
/** Where a release is on trial for longer than it takes to start on any machine. */
const strict = await startHost({ env: { MIN_READY_SECONDS: '8' } })

/** Prints what it was started with, then does as the variable MODE says. */
const program = (release: string) => `
console.log('release ${release} pid ' + process.pid)
console.error('to stderr')
process.on('SIGTERM', () => { console.log('bye'); process.exit(0) })
setInterval(() => {}, 1000)
`

async function makeGitBot(name: string, files: Record<string, string>, on = host): Promise<TestBot> {
  const { url } = await git.addRepo(name, files)
  return makeBot(on.server, on.ann, { type: 'git', gitUrl: url })
}

// Several at once: they mostly wait, for releases to have stayed up.
describe('bots', { concurrency: 5 }, () => {
  test('an empty bot is deployed, runs, logs, stops, starts again and is deleted without a trace', async () => {
    const bot = await makeBot(server, ann)
    assert.equal((await bot.deploy())['status'], 'succeeded')
    await bot.untilLine('Hello')
    assert.equal((await bot.ask('GET #')).body['status'], 'active')
    const stopped = await bot.ask('POST @/power', { signal: 'stop' })
    assert.deepEqual([stopped.status, stopped.body['state']], [202, 'stopping'])
    await bot.untilState('offline')
    assert.deepEqual((await bot.ask('POST @/power', { signal: 'stop' })).body['state'], 'offline')
    await bot.ask('POST @/power', { signal: 'start' })
    await bot.untilState('running')
    await until('its memory', async () => {
      const answer = await bot.ask('GET @/resources')
      return Number(answer.body['memoryBytes']) > 1_000_000 && Number(answer.body['processes']) >= 1 && answer
    })
    assert.equal((await bot.ask('DELETE #')).status, 200)
    assert(!(await server.work.runtime.list()).some(({ botId }) => botId === bot.id))
    for (const folder of ['bots', 'images', 'logs', 'deployments', 'sources'])
      assert(!existsSync(join(server.app.config.dataDir, folder, bot.id)), folder)
    assert.deepEqual(
      (await bot.events()).map(({ event }) => event),
      ['deploy.completed'],
    )
  })

  test('exactly the commit that is HEAD is fetched over HTTP, and a push is deployed by the next one', async () => {
    const bot = await makeGitBot('commits', { 'index.js': program('one') })
    const first = await bot.deploy()
    assert.equal(first['status'], 'succeeded', JSON.stringify(first))
    await bot.untilLine('release one')
    const sha = await git.commit('commits', { 'index.js': program('two') }, { message: 'the second' })
    const second = await bot.deploy()
    assert.deepEqual([second['commitSha'], second['commitMsg'], second['branch']], [sha, 'the second', 'main'])
    assert.deepEqual(
      (second['steps'] as { name: string; status: string }[]).map(({ name, status }) => [name, status]),
      [
        ['fetching', 'succeeded'],
        ['starting', 'succeeded'],
      ],
    )
    await bot.untilLine('release two')
    const lines = await bot.lines()
    assert(lines.indexOf('bye') < lines.findIndex((line) => line.startsWith('release two')), 'never two at once')
    const [, event] = await bot.events()
    assert.deepEqual(
      [event?.['event'], event?.['commitSha'], event?.['commitMsg'], event?.['branch'], event?.['botName']],
      ['deploy.completed', sha, 'the second', 'main', 'x'],
    )
    assert.equal(event?.['durationMs'], second['durationMs'])
  })

  test('what a bot writes stays over deployments, what its release no longer has goes', async () => {
    const writer = `const fs = require('fs'); fs.appendFileSync('kept.txt', 'x')
console.log('kept ' + fs.readFileSync('kept.txt') + ' old ' + fs.existsSync('old.js')); setInterval(() => {}, 1000)`
    const bot = await makeGitBot('files', { 'index.js': writer, 'old.js': '' })
    await bot.deploy()
    await bot.untilLine('kept x old true')
    await git.commit('files', { 'index.js': `${writer}\n`, 'old.js': null })
    assert.equal((await bot.deploy())['status'], 'succeeded')
    await bot.untilLine('kept xx old false')
  })

  test('a build that fails leaves the old release running, and says why', async () => {
    const packageJson = (build: string) => JSON.stringify({ scripts: { build, start: 'node index.js' } })
    const bot = await makeGitBot('build', {
      'index.js': program('built'),
      'package.json': packageJson('echo made > made'),
    })
    assert.equal((await bot.deploy())['status'], 'succeeded')
    const line = await bot.untilLine('release built')
    await git.commit('build', { 'package.json': packageJson('echo about to fail; exit 3') })
    const failed = await bot.deploy()
    assert.equal(failed['status'], 'failed')
    const error = failed['error'] as { code: string; message: string; lastLog: string }
    assert.equal(error.code, 'build_failed')
    assert.match(error.message, /exit code 3/)
    assert.match(error.lastLog, /about to fail/)
    assert.equal(await bot.state(), 'running')
    assert.equal(await bot.untilLine('release'), line, 'the same process')
  })

  test('a release that dies in its first seconds gives way to the one before it', async () => {
    const bot = await makeGitBot('dies', { 'index.js': program('good') }, strict)
    await bot.deploy()
    await git.commit('dies', { 'index.js': "console.log('I die' + String.fromCharCode(0)); process.exit(5)" })
    const failed = await bot.deploy()
    const error = failed['error'] as { code: string; lastLog: string }
    assert.deepEqual([failed['status'], error.code], ['failed', 'crashed_at_start'])
    assert.match(error.lastLog, /I die/)
    await until(
      'the old one',
      async () => (await bot.lines()).filter((line) => line.startsWith('release good')).length === 2,
    )
    assert.equal(await bot.state(), 'running')
    assert.deepEqual(
      (await bot.events()).map(({ event }) => event),
      ['deploy.completed', 'server.crashed'],
    )
  })

  test('a first release that dies leaves the server crashed, and nothing restarts it', async () => {
    const files = { 'index.js': "console.log('I die'); process.exit(5)" }
    const bot = await makeGitBot('dies-first', files, strict)
    assert.equal((await bot.deploy())['status'], 'failed')
    const { body } = await bot.ask('GET @/resources')
    assert.deepEqual([body['state'], body['restartAt']], ['crashed', null])
    assert.deepEqual((body['lastExit'] as { code: number }).code, 5)
    assert.equal((await bot.events()).length, 1)
  })

  test('a rollback starts an earlier release again without a build', async () => {
    const bot = await makeGitBot('back', { 'index.js': program('first') })
    const first = await bot.deploy()
    await git.commit('back', { 'index.js': program('second') })
    await bot.deploy()
    const { status, body } = await bot.ask('POST #/rollback', { deploymentId: first['id'] })
    assert.equal(status, 202)
    const rolledBack = await bot.ended(body['id'])
    assert.deepEqual([rolledBack['status'], rolledBack['commitSha']], ['succeeded', first['commitSha']])
    assert.match(await bot.untilLine('release first'), /first/)
    assert.equal(await bot.state(), 'running')
  })

  test('canceling ends the build with all of its processes', async () => {
    const build = 'node -e "console.log(\'building\'); setInterval(() => {}, 1000)" & sleep 3600'
    const bot = await makeGitBot('cancel', {
      'index.js': program('x'),
      'package.json': JSON.stringify({ scripts: { build } }),
    })
    const { body } = await bot.ask('POST /deployments', { botId: bot.id })
    await until('the build', async () => {
      const { body: logs } = await bot.ask(`GET /deployments/${String(body['id'])}/logs`)
      return (logs['data'] as { text: string }[]).some(({ text }) => text === 'building')
    })
    await bot.ask(`POST /deployments/${String(body['id'])}/cancel`)
    const canceled = await bot.ended(body['id'])
    assert.equal(canceled['status'], 'canceled')
    assert.equal(canceled['error'], null)
    assert(!existsSync(join(server.app.config.dataDir, 'bots', bot.id, 'releases', `${String(body['id'])}.new`)))
  })

  test('deployments of one bot run one after the other, in order', async () => {
    const bot = await makeGitBot('order', { 'index.js': program('x') })
    const asked = await Promise.all([1, 2, 3].map(() => bot.ask('POST /deployments', { botId: bot.id })))
    const ended = await Promise.all(asked.map(({ body }) => bot.ended(body['id'])))
    const sorted = ended.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1))
    for (const [index, deployment] of sorted.entries()) {
      assert.equal(deployment['status'], 'succeeded')
      const before = sorted[index - 1]
      if (before) assert(String(deployment['startedAt']) >= String(before['finishedAt']))
    }
  })

  test('a repository that cannot be had, an unknown language and a missing toolchain are clear failures', async () => {
    const code = async (bot: TestBot) => ((await bot.deploy())['error'] as { code: string } | null)?.code
    assert.equal(
      await code(await makeBot(server, ann, { type: 'git', gitUrl: `${git.url}/none` })),
      'repository_not_found',
    )
    assert.equal(await code(await makeBot(server, ann, { language: 'cobol' })), 'language_unsupported')
    assert.equal(
      await code(await makeBot(server, ann, { type: 'git', gitUrl: 'http://10.0.0.1/x' })),
      'url_not_allowed',
    )
    const go = await makeGitBot('go', { 'go.mod': 'module x', 'main.go': 'package main\nfunc main() {}' })
    if (server.work.runtime.identifyTool('go') === undefined) assert.equal(await code(go), 'toolchain_missing')
  })

  test('a bot sees exactly the variables that were set, and the addresses of our APIs', async () => {
    const bot = await makeGitBot('env', {
      'index.js': "console.log('env ' + JSON.stringify(process.env)); setInterval(() => {}, 1000)",
    })
    const values = {
      A: '',
      B: '$HOME `id` "\'\\',
      C: 'line\nline',
      D: '{project}',
      E: '한국어 🤖',
      NODE_OPTIONS: '--no-warnings',
    }
    for (const [key, value] of Object.entries(values)) await bot.ask('PUT @/startup/variable', { key, value })
    await bot.deploy()
    const line = await bot.untilLine('env {')
    const env = JSON.parse(line.slice(4)) as Record<string, string>
    for (const [key, value] of Object.entries(values)) assert.equal(env[key], value, key)
    assert.equal(env['BOTBERTH_BOT_ID'], bot.id)
    assert.equal(env['BOTBERTH_API_URL'], `${server.url}/api/v1`)
    assert.equal(env['BOTBERTH_LIST_API_URL'], `${server.url}/list/api`)
    assert.equal(env['TEST_DATABASE_URL'], undefined)
    const set = await bot.ask('PUT @/startup/variable', { key: 'A', value: 'new' })
    assert.equal(set.body['restartRequired'], true)
    await bot.ask('POST @/power', { signal: 'restart' })
    await bot.untilLine('"A":"new"')
  })

  test('a bot that is killed while its release is on trial is offline, and can be started again', async () => {
    const bot = await makeGitBot('trial', { 'index.js': program('x') }, strict)
    const { body } = await bot.ask('POST /deployments', { botId: bot.id })
    await bot.untilLine('release x')
    await bot.ask('POST @/kill')
    assert.equal((await bot.ended(body['id']))['status'], 'succeeded')
    await bot.untilState('offline')
    assert.deepEqual((await bot.events()).length, 1, 'no crash')
    await bot.ask('POST @/power', { signal: 'start' })
    await bot.untilState('running')
  })

  test('a release that has gone fails the rollback and leaves the bot running', async () => {
    const bot = await makeGitBot('gone', { 'index.js': program('first') })
    const first = await bot.deploy()
    await git.commit('gone', { 'index.js': program('second') })
    await bot.deploy()
    rmSync(join(server.app.config.dataDir, 'bots', bot.id, 'releases', String(first['id'])), { recursive: true })
    const { body } = await bot.ask('POST #/rollback', { deploymentId: first['id'] })
    const failed = await bot.ended(body['id'])
    assert.equal((failed['error'] as { code: string }).code, 'release_gone')
    await bot.untilState('running')
    await bot.ask('POST @/power', { signal: 'restart' })
    await until(
      'the restart',
      async () => (await bot.lines()).filter((line) => line.startsWith('release second')).length === 2,
    )
    await bot.ask('POST @/power', { signal: 'stop' })
    await bot.untilState('offline')
    const again = await bot.ask('POST #/rollback', { deploymentId: first['id'] })
    assert.equal((await bot.ended(again.body['id']))['status'], 'failed')
    assert.equal(await bot.state(), 'offline', 'what was stopped stays so')
  })

  test('a build that floods its log holds nobody up', async () => {
    const bot = await makeGitBot('flood', {
      'index.js': program('x'),
      'package.json': JSON.stringify({ scripts: { build: 'timeout 2 yes; true', start: 'node index.js' } }),
    })
    const { body } = await bot.ask('POST /deployments', { botId: bot.id })
    await until('the deployment', async () => {
      const asked = bot.ask(`GET /deployments/${String(body['id'])}`)
      const { body: now } = await withinLimit('an answer', asked, 5_000)
      return now['finishedAt'] !== null
    })
  })

  test('a bot that writes very fast loses the middle of it, not the end, and no line is there twice', async () => {
    const flood = `let n = 0
const end = Date.now() + 1500
const more = () => { while (Date.now() < end) { let text = ''; for (let i = 0; i < 2000; i++) text += 'n' + ++n + ' ' + 'x'.repeat(80) + '\\n'; if (!process.stdout.write(text)) return process.stdout.once('drain', more) }
console.log('the end after ' + n); setInterval(() => {}, 1000) }
more()`
    const bot = await makeGitBot('fast', { 'index.js': flood })
    await bot.deploy()
    await bot.untilLine('the end after')
    const numbers = (await bot.lines()).map((line) => /^n(\d+) /.exec(line)?.[1]).filter(Boolean)
    assert.equal(new Set(numbers).size, numbers.length)
  })

  test('a deployment that waits for a place can be canceled for what is behind it, and its bot be deleted', async () => {
    const slow = { 'index.js': program('x'), 'package.json': JSON.stringify({ scripts: { build: 'sleep 30' } }) }
    const builders = await Promise.all(['slow-1', 'slow-2'].map((name) => makeGitBot(name, slow)))
    const bot = await makeGitBot('waiting', { 'index.js': program('x') })
    await bot.deploy()
    for (const { id, ask } of builders) await ask('POST /deployments', { botId: id })
    await until('both to build', async () => {
      const all = await Promise.all(builders.map(({ ask }) => ask('GET #/deployments')))
      return all.every(({ body }) => (body['data'] as { status: string }[])[0]?.status === 'building')
    })
    const ask = async () => String((await bot.ask('POST /deployments', { botId: bot.id })).body['id'])
    const waiting = await ask()
    const all = (await bot.ask('GET #/deployments')).body['data'] as { id: string }[]
    const back = await bot.ask('POST #/rollback', { deploymentId: all.at(-1)?.id })
    assert.equal((await bot.ask(`POST /deployments/${waiting}/cancel`)).body['status'], 'canceled')
    assert.equal((await bot.ended(back.body['id']))['status'], 'succeeded', 'it needs no place')
    await ask()
    assert.equal((await bot.ask('DELETE #')).status, 200)
    assert(!(await server.work.runtime.list()).some(({ botId }) => botId === bot.id))
    for (const { ask } of builders) await ask('DELETE #')
  })
})
