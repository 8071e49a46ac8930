// Many bots on one machine: the server idles, and what a request costs does not depend on how many there are.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Host } from './host.ts'
import { count, cpuMs, postmasterPid, residentBytes, waitFor } from './server.ts'

const few = 10
const many = count({ short: 50, full: 500 })
const cpuShareMax = 0.05
const memoryMax = 300 * 1024 * 1024
const requests = 300
const starts = 7

test(`${many} bots run on one machine: the server idles, and requests cost no more than with ${few}`, async (t) => {
  const host = new Host()
  await host.start()
  const pid = host.running.child.pid ?? 0
  const deployAll = async (bots: string[]) => {
    const ids: string[] = []
    for (const bot of bots) ids.push(await host.askToDeploy(bot))
    for (const id of ids) {
      const { status, error } = await host.untilDeployed(id, 300_000)
      assert.equal(status, 'succeeded', JSON.stringify(error))
    }
  }
  const make = async (howMany: number, as?: string) => {
    const bots: string[] = []
    for (let index = 0; index < howMany; index++) bots.push(await host.makeBot({}, as))
    return bots
  }
  const cost = async (path: string) => {
    const before = cpuMs(pid)
    for (let index = 0; index < requests; index++) assert.equal((await host.ask(`GET ${path}`)).status, 200)
    return (cpuMs(pid) - before) / requests
  }
  const costs = async (bot: string) => {
    await cost('/bots') // warms up
    return { bots: await cost('/bots'), resources: await cost(`/servers/${bot}/resources`) }
  }

  /** From the request to the running process, with its limits and its network. */
  const startMs = async (bot: string) => {
    const times: number[] = []
    for (let index = 0; index < starts; index++) {
      await host.ask(`POST /servers/${bot}/power`, { signal: 'stop' })
      await host.untilState(bot, 'offline')
      const begin = performance.now()
      await host.ask(`POST /servers/${bot}/power`, { signal: 'start' })
      while ((await host.stateOf(bot))['state'] !== 'running') await sleep(1) // any longer would be all that is measured
      times.push(performance.now() - begin)
    }
    return times.toSorted((a, b) => a - b)[Math.floor(starts / 2)] ?? 0
  }

  const own = await make(few)
  await deployAll(own)
  const [first = ''] = own
  const withFew = await costs(first)
  const startWithFew = await startMs(first)
  // Somebody else's, so that the list stays the same.
  const other = await host.signUp('somebody else')
  const others = await make(many - few, other)
  await host.as(other, () => deployAll(others))
  const withMany = await costs(first)
  t.diagnostic(`ms of CPU a request, with ${few} and with ${many}: ${JSON.stringify({ withFew, withMany })}`)
  for (const name of ['bots', 'resources'] as const)
    assert(withMany[name] <= withFew[name] * 1.5 + 0.1, `${name}: ${withFew[name]} ms, then ${withMany[name]} ms`)

  const startWithMany = await startMs(first)
  t.diagnostic(`ms to start one, with ${few} and with ${many}: ${startWithFew.toFixed(1)}, ${startWithMany.toFixed(1)}`)
  assert(startWithMany <= startWithFew * 1.5 + 10, `${startWithFew} ms, then ${startWithMany} ms`)

  await sleep(5_000)
  const [startCpu, startAt] = [cpuMs(pid), Date.now()]
  await sleep(20_000)
  const share = (cpuMs(pid) - startCpu) / (Date.now() - startAt)
  const memory = residentBytes(pid)
  t.diagnostic(
    `idle with ${many} bots: ${(share * 100).toFixed(1)} % of a core, ${Math.round(memory / 1e6)} MB; PostgreSQL ${Math.round(residentBytes(postmasterPid(host.dataDir)) / 1e6)} MB`,
  )
  assert(share < cpuShareMax, `${share} of a core`)
  assert(memory < memoryMax, `${memory} bytes`)

  await host.kill()
  await host.start()
  await waitFor('all of them to be found again', async () => {
    const { body } = await host.ask('GET /operator/bots?limit=100')
    return (body['data'] as { server: { state: string } }[]).every(({ server }) => server.state === 'running')
  })
  for (const bot of own) assert.equal((await host.stateOf(bot))['restarts'], 0)
  await host.as(other, () => host.removeBots())
  await host.close()
})
