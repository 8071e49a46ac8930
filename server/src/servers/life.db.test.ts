// Servers that really crash, restart, expire and are found again.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startTestServer, TestClock } from '../../test/api.ts'
import { startGitServer } from '../../test/git-server.ts'
import { botOf, makeBot, startHost, type TestBot } from '../../test/hosting.ts'
import { until } from '../../test/until.ts'
import { findServer } from './queries.ts'

const day = 86_400_000
const git = await startGitServer()
after(() => git.close())
// For all that neither moves the clock nor counts processes.
const shared = await startHost()

/** Lives until somebody puts the file `end` into its folder, and does this then, at every later start too. */
const untilToldTo = (end: string) => `
const fs = require('fs')
console.log('up')
setInterval(() => { if (fs.existsSync('end')) { ${end} } }, 20)
`
const tellToEnd = (bot: TestBot) => bot.ask('PUT #/files/end', 'now')

// Several at once: they mostly wait.
describe('servers', { concurrency: 3 }, () => {
  test('each crash is told; restarts wait 1, 2, 4, 8 seconds, and the fifth crash in two minutes is the last', async () => {
    // It stands still, so that a restart is due when this test says so.
    const clock = new TestClock(20)
    const { server, ann } = await startHost({ clock })
    const { url } = await git.addRepo('loop', {
      'index.js': untilToldTo(`console.error('last words'); process.exit(3)`),
    })
    const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
    assert.equal((await bot.deploy())['status'], 'succeeded')
    await tellToEnd(bot)
    // Behind which the bot was looked at, whatever is due by then.
    const passAnHour = async () => {
      clock.advance(3_600_000)
      server.work.supervisor.look(bot.id)
      await server.work.supervisor.exclusively(bot.id, () => Promise.resolve())
    }
    const crashesOf = async () => (await bot.events()).filter(({ event }) => event === 'server.crashed')
    for (const [index, waitMs] of [1_000, 2_000, 4_000, 8_000].entries()) {
      await until('the crash', async () => (await crashesOf()).length === index + 1)
      const { body: crash } = await bot.ask('GET @/resources')
      assert.deepEqual([crash['state'], crash['restarts']], ['crashed', index])
      const exit = crash['lastExit'] as { code: number; signal: null; oomKilled: boolean; at: string }
      assert.deepEqual([exit.code, exit.signal, exit.oomKilled], [3, null, false])
      assert.equal(Date.parse(String(crash['restartAt'])) - Date.parse(exit.at), waitMs)
      assert.deepEqual((await bot.ask('GET #')).body['server'], {
        identifier: bot.identifier,
        state: 'crashed',
        restartAt: crash['restartAt'],
      })
      clock.advance(Date.parse(String(crash['restartAt'])) - clock.now().getTime())
    }
    const last = await until('the last crash', async () => {
      const { body } = await bot.ask('GET @/resources')
      return body['state'] === 'crashed' && body['restartAt'] === null && body
    })
    assert.equal(last['restarts'], 4)
    const crashes = await crashesOf()
    assert.equal(crashes.length, 5)
    for (const { lastLog, botName } of crashes) {
      assert.match(String(lastLog), /last words/)
      assert.equal(botName, 'x')
    }
    await passAnHour()
    assert.equal((await bot.events()).length, 6, 'nothing more happened')
    assert.equal((await bot.ask('POST @/power', { signal: 'start' })).body['state'], 'starting')
    await until('a crash after a start', async () => (await bot.events()).length >= 7)
    assert.equal((await bot.ask('POST @/power', { signal: 'stop' })).body['state'], 'offline')
    await passAnHour()
    const seen = await findServer(server.pool.db, bot.id)
    assert.deepEqual([seen?.wanted, seen?.restart_at], ['offline', null], 'a stop ends the waiting')
    assert.deepEqual([await bot.state(), (await bot.events()).length], ['offline', 7], 'nothing more happened')
  })

  test('a bot that runs out of its heap is said to have run out of memory', async () => {
    const { server, ann } = shared
    const fill = `const all = []; for (;;) all.push(new Array(1e6).fill('x' + all.length))`
    const { url } = await git.addRepo('heap', { 'index.js': untilToldTo(fill) })
    const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
    await bot.ask('PUT @/startup/variable', { key: 'NODE_OPTIONS', value: '--max-old-space-size=32' })
    await bot.deploy()
    await tellToEnd(bot)
    const body = await until('the crash', async () => {
      const answer = await bot.ask('GET @/resources')
      return answer.body['lastExit'] !== null && answer.body
    })
    assert.equal((body['lastExit'] as { oomKilled: boolean }).oomKilled, true)
  })

  test('a bot stops the moment it expires, keeps what it has, and runs again when it is renewed', async () => {
    const { server, ann } = await startHost()
    const [bot, idle] = [await makeBot(server, ann), await makeBot(server, ann)]
    for (const key of ['CHANGED', 'GONE', 'KEPT']) await bot.ask('PUT @/startup/variable', { key, value: 'b' })
    const { id } = await bot.deploy()
    const changes = () => bot.ask(`GET /deployments/${String(id)}/variables`).then(({ body }) => body['data'])
    assert.deepEqual(await changes(), [])
    await bot.ask('PUT @/startup/variable', { key: 'CHANGED', value: 'c' })
    await bot.ask('PUT @/startup/variable', { key: 'ADDED', value: 'a' })
    await bot.ask('DELETE @/startup/variable/GONE')
    assert.deepEqual(await changes(), [
      { key: 'ADDED', change: 'added' },
      { key: 'CHANGED', change: 'changed' },
      { key: 'GONE', change: 'removed' },
    ])
    server.clock.advance(7 * day)
    await bot.untilState('offline')
    assert.equal((await bot.ask('GET #')).body['status'], 'expired')
    assert.equal((await bot.ask('POST @/power', { signal: 'start' })).body['code'], 'bot_expired')
    assert.equal((await bot.ask('GET @/startup')).status, 200)
    assert.deepEqual((await bot.events()).length, 1, 'no crash')
    // As a start leaves it that was asked for in time and written down too late.
    await server.pool.query(`update servers set wanted = 'running', is_expiry_stop = false where bot_id = $1`, [bot.id])
    server.work.supervisor.look(bot.id)
    await until('it to be seen', async () => {
      const [row] = await server.pool.query<{ wanted: string }>('select wanted from servers where bot_id = $1', [
        bot.id,
      ])
      return row?.wanted === 'offline'
    })
    assert((await server.work.runtime.list()).every(({ botId, exit }) => botId !== bot.id || exit))
    assert.equal((await bot.ask('POST #/renew')).status, 200)
    await bot.untilState('running')
    await idle.ask('POST #/renew')
    assert.equal(await idle.state(), 'offline')
  })

  test('a bot that expires while nobody is there is stopped at the next start; the others are found again', async () => {
    const first = await startHost()
    const { server, ann } = first
    const bots = [await makeBot(server, ann), await makeBot(server, ann)] as const
    await Promise.all(bots.map((bot) => bot.deploy()))
    await bots[1].ask('POST #/renew')
    const startedAt = (await server.work.runtime.list())
      .map(({ startedAt: at }) => at.getTime())
      .toSorted((a, b) => a - b)
    await server.close()
    server.clock.advance(7 * day)
    const { pool, clock } = server
    const next = await startTestServer({ isWorking: true, pool, clock, dataDir: server.app.config.dataDir })
    const [expired, kept] = bots.map((bot) => botOf(next, ann, bot)) as [(typeof bots)[0], (typeof bots)[0]]
    await expired.untilState('offline')
    assert.equal(await kept.state(), 'running')
    const [still] = await next.work.runtime.list()
    assert(startedAt.includes(still?.startedAt.getTime() ?? 0), 'the same process')
  })

  test('a bot that exits with 0 by itself has crashed too', async () => {
    const { server, ann } = shared
    const { url } = await git.addRepo('done', { 'index.js': untilToldTo('process.exit(0)') })
    const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
    await bot.deploy()
    await tellToEnd(bot)
    await bot.untilState('crashed')
    assert.equal((await bot.events()).at(-1)?.['event'], 'server.crashed')
  })

  test('a restart that is asked for while a release is on trial is made after it', async () => {
    // Long enough for all that is asked meanwhile, and that on any machine.
    const { server, ann } = await startHost({ env: { MIN_READY_SECONDS: '8' } })
    const { url } = await git.addRepo('early', { 'index.js': "console.log('up'); setInterval(() => {}, 1000)" })
    const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
    const { body } = await bot.ask('POST /deployments', { botId: bot.id })
    await bot.untilLine('up')
    const [first] = await server.work.runtime.list()
    await bot.ask('PUT @/startup/variable', { key: 'A', value: 'b' })
    await bot.ask('POST @/power', { signal: 'restart' })
    const { status } = (await bot.ask(`GET /deployments/${String(body['id'])}`)).body
    assert.equal(status, 'starting', 'it is on trial')
    assert.equal((await bot.ended(body['id']))['status'], 'succeeded')
    await until('the restart', async () => (await bot.lines()).filter((line) => line === 'up').length === 2)
    await bot.untilState('running')
    assert.notEqual((await server.work.runtime.list())[0]?.id, first?.id)
  })

  test('a bot that ends by itself at the moment that it is stopped is offline, and no crash', async () => {
    const bot = await crashDuring('stop')
    await bot.untilState('offline')
    assert.deepEqual(
      (await bot.events()).map(({ event }) => event),
      ['deploy.completed'],
    )
  })

  test('a bot that is started anew at the moment of its last crash is started', async () => {
    const bot = await crashDuring('restart', { isFinal: true })
    await bot.untilState('running')
  })
})

/** It ends by itself, and is told to do this before that is written down. */
async function crashDuring(signal: 'stop' | 'restart', options: { isFinal?: boolean } = {}): Promise<TestBot> {
  const { server, ann } = shared
  const bot = await makeBot(server, ann)
  await bot.deploy()
  const { supervisor, runtime } = server.work
  await supervisor.exclusively(bot.id, async () => {
    const seen = await findServer(server.pool.db, bot.id)
    assert(seen?.instance_id)
    await runtime.stop(seen.instance_id, 0)
    await bot.ask('POST @/power', { signal })
    const exit = { code: 1, signal: null, oomKilled: false, at: server.clock.now() }
    await supervisor.recordCrash(seen, exit, options)
    await runtime.forget(seen.instance_id)
  })
  return bot
}
