// kill -9 at every step of a deployment, at random, with and without PostgreSQL: one outcome, one event, no orphan, never
// two copies, and bots that go on meanwhile.
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGitServer } from '../server/test/git-server.ts'
import { until } from '../server/test/until.ts'
import { beating, Host } from './host.ts'
import { makeRandom } from './random.ts'
import { startRegistry } from './registry.ts'
import { count, postmasterPid } from './server.ts'

const takenUpMs = 15_000
const git = await startGitServer()
const registry = await startRegistry()
after(async () => {
  registry.end()
  await git.close()
})

/** Its dependency comes from the registry of this machine, and its build asks there too: both can be held up. */
const project = (name: string, release: string) => ({
  'index.js': beating(release),
  ...registry.project(name, {
    build: `node -e "fetch('${registry.url}/${name}/build').then(() => setTimeout(() => {}, 500))"`,
    start: 'node index.js',
  }),
})

const startHost = async () => {
  // So long that the step `starting` is seen.
  const host = new Host({ ...registry.env, MIN_READY_SECONDS: '3' })
  await host.start()
  return host
}

/** Holds a deployment up in this step, for as long as the gate is closed. */
function holdUp(step: string, name: string): { reached(): Promise<void>; open(): void } {
  if (step === 'installing') return registry.close(`/${name}/dependency`)
  if (step === 'building') return registry.close(`/${name}/build`)
  if (step !== 'fetching') return { reached: () => Promise.resolve(), open: () => {} } // they last long enough
  const { promise, resolve } = Promise.withResolvers<void>()
  git.protect(name, undefined, () => promise)
  const isAsked = () => git.requests.some((request) => request.includes(`/${name}/`))
  return { reached: () => until('the fetch', isAsked).then(() => undefined), open: resolve }
}

// They mostly wait: for servers to start, and for releases to have stayed up.
describe('hosting', { concurrency: 4 }, () => {
  for (const step of ['queued', 'fetching', 'installing', 'building', 'starting']) {
    test(`kill -9 of the server while a deployment is ${step}: it is taken up and succeeds once`, async () => {
      const host = await startHost()
      const bystander = await host.makeBot({})
      assert.equal((await host.deploy(bystander))['status'], 'succeeded')
      const { url } = await git.addRepo(`step-${step}`, project(`step-${step}`, 'one'))
      const botId = await host.makeBot({ type: 'git', gitUrl: url })
      const gate = holdUp(step, `step-${step}`)
      const id = await host.askToDeploy(botId)
      await gate.reached()
      await until(`the step ${step}`, async () => {
        const { body } = await host.ask(`GET /deployments/${id}`)
        assert.notEqual(body['status'], 'failed', JSON.stringify(body))
        return body['status'] === step || (step === 'queued' && body['status'] !== 'queued')
      })
      const before = await host.stateOf(bystander)
      await host.kill({ isWithDatabase: step === 'building' })
      gate.open()
      await host.start()
      await until(
        'it to be taken up',
        async () => {
          const { body } = await host.ask(`GET /deployments/${id}/logs`)
          return (body['data'] as unknown[]).length > 0
        },
        takenUpMs,
      )
      const { status, error } = await host.untilDeployed(id, 30_000)
      assert.equal(status, 'succeeded', JSON.stringify(error))
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

  const kills = count({ short: 10, full: 50 })
  // Each with a server of its own, at once.
  const lanes = 2
  test(`kill -9 at random, ${kills} times: one outcome and one event each, never two copies`, async (t) => {
    const random = makeRandom(t)
    const runLane = async (lane: number) => {
      const host = await startHost()
      const { url } = await git.addRepo(`random-${lane}`, project(`random-${lane}`, 'zero'))
      const botId = await host.makeBot({ type: 'git', gitUrl: url })
      for (let round = 1; round <= kills / lanes; round++) {
        const sha = await git.commit(`random-${lane}`, { 'index.js': beating(`round ${round}`) })
        const id = await host.askToDeploy(botId)
        await sleep(random() * 6_000)
        await host.kill({ isWithDatabase: (lane + round) % 3 === 0 })
        await host.start()
        const ended = await host.untilDeployed(id)
        assert.deepEqual([ended['status'], ended['commitSha']], ['succeeded', sha], JSON.stringify(ended['error']))
        const events = await host.eventsOf(botId)
        assert.deepEqual(events.map(({ event, commitSha }) => [event, commitSha]).at(-1), ['deploy.completed', sha])
        assert.equal(events.length, round, 'one event for each')
        await until('the new release', async () =>
          (await host.linesOf(botId)).some((line) => line.endsWith(`round ${round}`)),
        )
        host.runsOf(botId)
      }
      const { length } = host.runsOf(botId)
      await host.close()
      assert.deepEqual(host.processesWith(botId), [], 'no orphan')
      return length
    }
    const runs = await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)))
    t.diagnostic(`${kills} kills, ${runs.reduce((sum, length) => sum + length)} runs`)
  })

  test('PostgreSQL killed under a deployment: the server lives on, and the deployment succeeds once', async () => {
    const host = await startHost()
    const { url } = await git.addRepo('database', project('database', 'one'))
    const botId = await host.makeBot({ type: 'git', gitUrl: url })
    for (const step of ['building', 'starting']) {
      const gate = holdUp(step, 'database')
      const id = await host.askToDeploy(botId)
      await until(step, async () => (await host.ask(`GET /deployments/${id}`)).body['status'] === step)
      process.kill(postmasterPid(host.dataDir), 'SIGKILL')
      gate.open()
      await until('the database to be back', async () => (await host.ask('GET /bots')).status === 200)
      assert.equal((await host.untilDeployed(id))['status'], 'succeeded', step)
    }
    assert.equal((await host.eventsOf(botId)).length, 2)
    host.runsOf(botId)
    await host.close()
  })

  test('what bots do while the server is down is seen after its start: output, exits, crashes', async () => {
    const host = await startHost()
    const talker = await git.addRepo('talker', {
      'index.js': beating('talker', 'let n = 0; setInterval(() => console.log("n " + ++n), 50)'),
    })
    const dier = await git.addRepo('dier', {
      'index.js': beating(
        'dier',
        `setInterval(() => {
        if (!fs.existsSync('die')) return
        fs.rmSync('die')
        console.log('I die now')
        fs.writeFileSync('dead', '')
        process.exit(9)
      }, 20)`,
      ),
    })
    const [talking, dying] = [
      await host.makeBot({ type: 'git', gitUrl: talker.url }),
      await host.makeBot({ type: 'git', gitUrl: dier.url }),
    ]
    await Promise.all([host.deploy(talking), host.deploy(dying)])
    await host.kill()
    const home = `${host.dataDir}/bots/${dying}/home`
    writeFileSync(`${home}/die`, '')
    await until('it to die', () => existsSync(`${home}/dead`))
    await host.start()
    await until('the crash to be told', async () => (await host.eventsOf(dying)).length === 2)
    const [, crash] = await host.eventsOf(dying)
    assert.equal(crash?.['event'], 'server.crashed')
    assert.match(String(crash?.['lastLog']), /I die now/)
    assert.equal(((await host.stateOf(dying))['lastExit'] as { code: number }).code, 9)
    await until('it to run again', async () => (await host.stateOf(dying))['state'] === 'running')
    assert.equal((await host.stateOf(dying))['restarts'], 1)
    const numbers = await until('its lines', async () => {
      const lines = (await host.linesOf(talking)).filter((line) => line.startsWith('n '))
      return lines.length > 60 && lines.map((line) => Number(line.slice(2)))
    })
    const from = numbers[0] ?? 0
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => from + index),
      'no line is lost, none is there twice',
    )
    assert.equal(host.runsOf(talking).length, 1)
    await host.close()
  })

  test('a stop and a restart that are cut off by kill -9 are carried out after the next start', async () => {
    const host = await startHost()
    const stubborn = await git.addRepo('stubborn', {
      'index.js': `${beating('stubborn')}\nprocess.removeAllListeners('SIGTERM'); process.on('SIGTERM', () => console.log('asked'))`,
    })
    const botId = await host.makeBot({ type: 'git', gitUrl: stubborn.url })
    await host.deploy(botId)
    const countAsked = async () => (await host.linesOf(botId)).filter((line) => line === 'asked').length
    const askAndWait = async (signal: string) => {
      const before = await countAsked()
      await host.ask(`POST /servers/${botId}/power`, { signal })
      await until('it to be asked', async () => (await countAsked()) > before)
    }
    await askAndWait('restart')
    await host.kill()
    await host.start()
    await until('the second run', () => host.runsOf(botId).length === 2)
    await askAndWait('stop')
    await host.kill({ isWithDatabase: true })
    await host.start()
    await until('it to be offline', async () => (await host.stateOf(botId))['state'] === 'offline')
    assert.equal(host.runsOf(botId).length, 2)
    assert.deepEqual(await host.eventsOf(botId).then((events) => events.map(({ event }) => event)), [
      'deploy.completed',
    ])
    const killed = await host.ask(`POST /servers/${botId}/power`, { signal: 'start' })
    assert.equal(killed.body['state'], 'starting')
    await until('the third run', () => host.runsOf(botId).length === 3)
    const asked = await countAsked()
    await host.ask(`POST /servers/${botId}/kill`)
    await until('it to be offline', async () => (await host.stateOf(botId))['state'] === 'offline')
    assert.equal(await countAsked(), asked, 'killed, not asked to end')
    await host.close()
  })
})
