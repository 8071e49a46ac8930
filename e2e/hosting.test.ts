// kill -9 at every step of a deployment, at random, with and without PostgreSQL: one outcome, one event, no orphan, never
// two copies, and bots that go on meanwhile.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGitServer } from '../server/test/git-server.ts'
import { until } from '../server/test/until.ts'
import { beating, Host } from './host.ts'
import { count, postmasterPid } from './server.ts'

const takenUpMs = 15_000
const git = await startGitServer()
after(() => git.close())

/** Each step takes long enough to be hit: a dependency from the registry, and a build that waits. */
const project = (release: string) => ({
  'index.js': beating(release),
  'package.json': JSON.stringify({
    name: 'x',
    version: '1.0.0',
    scripts: { build: 'node -e "setTimeout(() => {}, 1500)"', start: 'node index.js' },
    dependencies: { 'is-number': '7.0.0' },
  }),
  'package-lock.json': JSON.stringify({
    name: 'x',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: {
      '': { name: 'x', version: '1.0.0', dependencies: { 'is-number': '7.0.0' } },
      'node_modules/is-number': {
        version: '7.0.0',
        resolved: 'https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz',
        integrity: 'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==',
      },
    },
  }),
})

for (const step of ['queued', 'fetching', 'installing', 'building', 'starting']) {
  test(`kill -9 of the server while a deployment is ${step}: it is taken up and succeeds once`, async () => {
    const host = new Host()
    await host.start()
    const bystander = await host.makeBot({})
    assert.equal((await host.deploy(bystander))['status'], 'succeeded')
    const { url } = await git.addRepo(`step-${step}`, project('one'))
    const botId = await host.makeBot({ type: 'git', gitUrl: url })
    const id = await host.askToDeploy(botId)
    await until(`the step ${step}`, async () => {
      const { body } = await host.ask(`GET /deployments/${id}`)
      assert.notEqual(body['status'], 'failed', JSON.stringify(body))
      return body['status'] === step || (step === 'queued' && body['status'] !== 'queued')
    })
    const before = await host.stateOf(bystander)
    await host.kill({ isWithDatabase: step === 'building' })
    await host.start()
    const upAt = Date.now()
    await until(
      'it to be taken up',
      async () => {
        const { body } = await host.ask(`GET /deployments/${id}/logs`)
        return (body['data'] as unknown[]).length > 0
      },
      takenUpMs,
    )
    const { status, error } = await host.untilDeployed(id)
    assert.equal(status, 'succeeded', JSON.stringify(error))
    assert(Date.now() - upAt < 30_000)
    assert.deepEqual(
      (await host.eventsOf(botId)).map(({ event }) => event),
      ['deploy.completed'],
    )
    await until('it to beat', () => host.runsOf(botId).length > 0)
    assert.equal((await host.stateOf(botId))['state'], 'running')
    const now = await host.stateOf(bystander)
    assert.deepEqual([now['state'], now['restarts']], ['running', 0])
    assert(Number(now['uptimeMs']) > Number(before['uptimeMs']), 'it went on meanwhile')
    await host.close()
    assert.deepEqual(host.processesWith(botId), [], 'no orphan')
  })
}

test(`kill -9 at random, ${count({ short: 10, full: 50 })} times: one outcome and one event each, never two copies`, async (t) => {
  const host = new Host()
  await host.start()
  const { url } = await git.addRepo('random', project('zero'))
  const botId = await host.makeBot({ type: 'git', gitUrl: url })
  const kills = count({ short: 10, full: 50 })
  let longestMs = 0
  for (let round = 1; round <= kills; round++) {
    const sha = await git.commit('random', { 'index.js': beating(`round ${round}`) })
    const id = await host.askToDeploy(botId)
    await sleep(Math.random() * 6_000)
    await host.kill({ isWithDatabase: round % 3 === 0 })
    const killedAt = Date.now()
    await host.start()
    const ended = await host.untilDeployed(id)
    longestMs = Math.max(longestMs, Date.now() - killedAt)
    assert.deepEqual([ended['status'], ended['commitSha']], ['succeeded', sha], JSON.stringify(ended['error']))
    const events = await host.eventsOf(botId)
    assert.deepEqual(events.map(({ event, commitSha }) => [event, commitSha]).at(-1), ['deploy.completed', sha])
    assert.equal(events.length, round, 'one event for each')
    await until('the new release', async () =>
      (await host.linesOf(botId)).some((line) => line.endsWith(`round ${round}`)),
    )
    host.runsOf(botId)
  }
  t.diagnostic(`${kills} kills, ${host.runsOf(botId).length} runs, longest from kill to done ${longestMs} ms`)
  await host.close()
  assert.deepEqual(host.processesWith(botId), [], 'no orphan')
})

test('PostgreSQL killed under a deployment: the server lives on, and the deployment succeeds once', async () => {
  const host = new Host()
  await host.start()
  const { url } = await git.addRepo('database', project('one'))
  const botId = await host.makeBot({ type: 'git', gitUrl: url })
  for (const step of ['building', 'starting']) {
    const id = await host.askToDeploy(botId)
    await until(step, async () => (await host.ask(`GET /deployments/${id}`)).body['status'] === step)
    process.kill(postmasterPid(host.dataDir), 'SIGKILL')
    await until('the database to be back', async () => (await host.ask('GET /bots')).status === 200)
    assert.equal((await host.untilDeployed(id))['status'], 'succeeded', step)
  }
  assert.equal((await host.eventsOf(botId)).length, 2)
  host.runsOf(botId)
  await host.close()
})

test('what bots do while the server is down is seen after its start: output, exits, crashes', async () => {
  const host = new Host()
  await host.start()
  const talker = await git.addRepo('talker', {
    'index.js': beating('talker', 'let n = 0; setInterval(() => console.log("n " + ++n), 50)'),
  })
  const dier = await git.addRepo('dier', {
    'index.js': beating(
      'dier',
      "setInterval(() => { if (fs.existsSync('die')) { console.log('I die now'); process.exit(9) } }, 20)",
    ),
  })
  const [talking, dying] = [
    await host.makeBot({ type: 'git', gitUrl: talker.url }),
    await host.makeBot({ type: 'git', gitUrl: dier.url }),
  ]
  await Promise.all([host.deploy(talking), host.deploy(dying)])
  await host.kill()
  const flag = `${host.dataDir}/bots/${dying}/home/die`
  writeFileSync(flag, '')
  await sleep(1_000)
  rmSync(flag)
  await host.start()
  await until('the crash to be told', async () => (await host.eventsOf(dying)).length === 2)
  const [, crash] = await host.eventsOf(dying)
  assert.equal(crash?.['event'], 'server.crashed')
  assert.match(String(crash?.['lastLog']), /I die now/)
  assert.equal(((await host.stateOf(dying))['lastExit'] as { code: number }).code, 9)
  await until('it to run again', async () => (await host.stateOf(dying))['state'] === 'running')
  assert.equal((await host.stateOf(dying))['restarts'], 1)
  await sleep(1_200)
  const numbers = (await host.linesOf(talking))
    .filter((line) => line.startsWith('n '))
    .map((line) => Number(line.slice(2)))
  const from = numbers[0] ?? 0
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => from + index),
    'no line is lost, none is there twice',
  )
  assert(numbers.length > 60)
  assert.equal(host.runsOf(talking).length, 1)
  await host.close()
})

test('a stop and a restart that are cut off by kill -9 are carried out after the next start', async () => {
  const host = new Host()
  await host.start()
  const stubborn = await git.addRepo('stubborn', {
    'index.js': `${beating('stubborn')}\nprocess.removeAllListeners('SIGTERM'); process.on('SIGTERM', () => {})`,
  })
  const botId = await host.makeBot({ type: 'git', gitUrl: stubborn.url })
  await host.deploy(botId)
  await host.ask(`POST /servers/${botId}/power`, { signal: 'restart' })
  await sleep(300)
  await host.kill()
  await host.start()
  await until('the second run', () => host.runsOf(botId).length === 2)
  await host.ask(`POST /servers/${botId}/power`, { signal: 'stop' })
  await sleep(300)
  await host.kill({ isWithDatabase: true })
  await host.start()
  await until('it to be offline', async () => (await host.stateOf(botId))['state'] === 'offline')
  assert.equal(host.runsOf(botId).length, 2)
  assert.deepEqual(await host.eventsOf(botId).then((events) => events.map(({ event }) => event)), ['deploy.completed'])
  const killed = await host.ask(`POST /servers/${botId}/power`, { signal: 'start' })
  assert.equal(killed.body['state'], 'starting')
  await until('the third run', () => host.runsOf(botId).length === 3)
  const askedAt = Date.now()
  await host.ask(`POST /servers/${botId}/kill`)
  await until('it to be offline', async () => (await host.stateOf(botId))['state'] === 'offline')
  assert(Date.now() - askedAt < 5_000, 'without the ten seconds of grace')
  await host.close()
})
