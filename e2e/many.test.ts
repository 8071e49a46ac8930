// Many bots on one machine: the server idles, and what a request or another bot costs does not depend on how many there
// are.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../server/test/until.ts'
import { Host } from './host.ts'
import { count, cpuMs, postmasterPid, residentBytes } from './server.ts'

const few = 10
const many = count({ short: 50, full: 500 })
const cpuShareMax = 0.05
// Of one processor, for what all of them use.
const statisticsShareMax = 0.02
// Statistics are taken every minute: two of them in a soak.
const watchMs = count({ short: 8_000, full: 130_000 })
const memoryMax = 300 * 1024 * 1024
const requests = 300
const starts = 7
const firstStarts = 3

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
    return median(times)
  }

  /** Of bots that were never started before: their users, files and networks are made too. */
  const firstStartMs = async () => {
    const times: number[] = []
    for (const bot of await make(firstStarts)) {
      const id = await host.askToDeploy(bot)
      while ((await host.stateOf(bot))['state'] !== 'running') await sleep(1)
      const runsAt = Date.now()
      const { status, steps } = await host.untilDeployed(id)
      assert.equal(status, 'succeeded')
      const starting = (steps as { name: string; startedAt: string }[]).find(({ name }) => name === 'starting')
      times.push(runsAt - Date.parse(String(starting?.startedAt)))
      await host.ask(`DELETE /bots/${bot}`) // so that the list stays the same
    }
    return median(times)
  }

  const own = await make(few)
  await deployAll(own)
  const [first = ''] = own
  const withFew = await costs(first)
  const [startWithFew, firstWithFew] = [await startMs(first), await firstStartMs()]
  // Somebody else's, so that the list stays the same.
  const other = await host.signUp('somebody else')
  const others = await make(many - few, other)
  await host.as(other, () => deployAll(others))
  const withMany = await costs(first)
  t.diagnostic(`ms of CPU a request, with ${few} and with ${many}: ${JSON.stringify({ withFew, withMany })}`)
  for (const name of ['bots', 'resources'] as const)
    assert(withMany[name] <= withFew[name] * 1.5 + 0.1, `${name}: ${withFew[name]} ms, then ${withMany[name]} ms`)

  const [startWithMany, firstWithMany] = [await startMs(first), await firstStartMs()]
  t.diagnostic(`ms to start one, with ${few} and with ${many}: ${startWithFew.toFixed(1)}, ${startWithMany.toFixed(1)}`)
  t.diagnostic(`ms to start one more, with ${few} and with ${many}: ${firstWithFew}, ${firstWithMany}`)
  assert(startWithMany <= startWithFew * 1.5 + 10, `${startWithFew} ms, then ${startWithMany} ms`)
  assert(firstWithMany <= firstWithFew * 1.5 + 20, `${firstWithFew} ms, then ${firstWithMany} ms`)

  await sleep(count({ short: 1_000, full: 5_000 }))
  const samples = await sampleCpu(pid, watchMs)
  const share = between(samples, samples[0]?.atMs ?? 0, samples.at(-1)?.atMs ?? 0)
  const { body: history } = await host.ask(`GET /servers/${first}/resources/history?minutes=5`)
  const takenAt = (history['data'] as { at: string }[]).map(({ at }) => Date.parse(at))
  const statistics = statisticsShares(samples, takenAt)
  t.diagnostic(`statistics of ${many} bots: ${statistics.map((one) => (one * 100).toFixed(2)).join(', ')} % of a core`)
  assert(statistics.length > 0 || watchMs < 60_000)
  for (const one of statistics) assert(one < statisticsShareMax, `${one} of a core`)
  const memory = residentBytes(pid)
  t.diagnostic(
    `idle with ${many} bots: ${(share * 100).toFixed(1)} % of a core, ${Math.round(memory / 1e6)} MB; PostgreSQL ${Math.round(residentBytes(postmasterPid(host.dataDir)) / 1e6)} MB`,
  )
  assert(share < cpuShareMax, `${share} of a core`)
  assert(memory < memoryMax, `${memory} bytes`)

  await host.kill()
  await host.start()
  await until('all of them to be found again', async () => {
    const { body } = await host.ask('GET /operator/bots?limit=100')
    return (body['data'] as { server: { state: string } }[]).every(({ server }) => server.state === 'running')
  })
  for (const bot of own) assert.equal((await host.stateOf(bot))['restarts'], 0)
  await host.as(other, () => host.removeBots())
  await host.close()
})

interface Sample {
  readonly atMs: number
  readonly cpuMs: number
}

async function sampleCpu(pid: number, forMs: number): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const until = Date.now() + forMs; Date.now() < until; await sleep(100))
    samples.push({ atMs: Date.now(), cpuMs: cpuMs(pid) })
  return samples
}

/** Of one processor, from the first sample at or after one moment to that of another. */
function between(samples: readonly Sample[], fromMs: number, toMs: number): number {
  const at = (ms: number) => samples.find(({ atMs }) => atMs >= ms) ?? { atMs: ms, cpuMs: 0 }
  const [from, to] = [at(fromMs), at(toMs)]
  return to.atMs === from.atMs ? 0 : (to.cpuMs - from.cpuMs) / (to.atMs - from.atMs)
}

/**
 * What the statistics of each minute cost: what the two seconds around them cost more than the seconds before and after,
 * spread over the minute. Only those that were watched from some seconds before to some seconds after.
 */
function statisticsShares(samples: readonly Sample[], takenAt: readonly number[]): number[] {
  const [first, last] = [samples[0]?.atMs ?? 0, samples.at(-1)?.atMs ?? 0]
  return takenAt
    .filter((at) => at - 11_000 >= first && at + 11_000 <= last)
    .map((at) => {
      const usual = (between(samples, at - 11_000, at - 1_000) + between(samples, at + 1_000, at + 11_000)) / 2
      return Math.max(0, ((between(samples, at - 1_000, at + 1_000) - usual) * 2) / 60)
    })
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}
