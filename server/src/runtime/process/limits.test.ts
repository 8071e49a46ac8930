import assert from 'node:assert/strict'
import { cpus } from 'node:os'
import { afterEach, beforeEach, mock, test } from 'node:test'
import type { Cgroups } from './cgroups/cgroups.ts'
import { GroupLimiter, startMs } from './limits.ts'

const limits = { memoryMb: 64, cpus: 0.5, diskMb: 64 }
const most = Math.min(2, cpus().length)

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
afterEach(() => mock.timers.reset())

/** The processor time that each group has; `isLate`: they are not there when they are first asked for. */
function makeGroups({ isLate = false } = {}) {
  const groups = new Map<string, number>()
  let isThere = !isLate
  let isRefused = false
  let busyLooks = 0
  const cgroups: Pick<Cgroups, 'make' | 'setCpus' | 'remove' | 'kill' | 'list' | 'tidy'> = {
    make: (name, _part, { cpus: cores }) => {
      groups.set(name, cores)
      return []
    },
    setCpus: (name, _part, cores) => {
      if (isRefused) throw new Error('EMFILE')
      const isFound = isThere && groups.has(name)
      isThere = true
      if (isFound) groups.set(name, cores)
      return isFound
    },
    remove: (name) => busyLooks-- <= 0 && groups.delete(name),
    kill: () => undefined,
    list: (part) => {
      return part === 'bots' ? [...groups.keys()] : []
    },
    tidy: () => undefined,
  }
  const refuse = (is: boolean) => (isRefused = is)
  const keepBusy = (looks: number) => (busyLooks = looks)
  return { groups, refuse, keepBusy, limiter: new GroupLimiter(cgroups as Cgroups) }
}

test('a bot may take more while it starts, and not after that', () => {
  for (const isLate of [false, true]) {
    const { groups, limiter } = makeGroups({ isLate })
    limiter.enter('a', 'bots', { botId: 'x', limits })
    assert.equal(groups.get('a'), isLate ? 0.5 : most)
    mock.timers.tick(startMs - 1)
    assert.equal(groups.get('a'), most)
    mock.timers.tick(startMs)
    assert.equal(groups.get('a'), 0.5)
  }
})

test('a group whose processes are still dying is removed when they are gone', () => {
  const { groups, keepBusy, limiter } = makeGroups()
  limiter.enter('a', 'builds', { botId: 'x', limits })
  keepBusy(4)
  limiter.leave('a', 'builds')
  assert(groups.has('a'))
  for (let i = 0; i < 5; i++) mock.timers.tick(100)
  assert(!groups.has('a'))
  limiter.enter('a', 'builds', { botId: 'x', limits })
  keepBusy(4)
  limiter.leave('a', 'builds')
  limiter.enter('a', 'builds', { botId: 'x', limits })
  for (let i = 0; i < 5; i++) mock.timers.tick(100)
  assert(groups.has('a'), 'the next command of the build is in it')
})

test('one that may have as much anyway is left alone', () => {
  const { groups, limiter } = makeGroups()
  limiter.enter('a', 'bots', { botId: 'x', limits: { ...limits, cpus: 64 } })
  assert.equal(groups.get('a'), 64)
})

test('a server that ends leaves no bot with more than its limit, and lifts none any more', () => {
  const { groups, limiter } = makeGroups()
  limiter.enter('a', 'bots', { botId: 'x', limits })
  limiter.close()
  limiter.enter('b', 'bots', { botId: 'y', limits })
  assert.deepEqual([groups.get('a'), groups.get('b')], [0.5, 0.5])
})

test('what a server that was killed left with more has its limit again', () => {
  const { groups, limiter } = makeGroups()
  limiter.enter('a', 'bots', { botId: 'x', limits })
  limiter.enter('b', 'bots', { botId: 'y', limits })
  limiter.sweep(
    new Map([
      ['a', undefined], // which an earlier version started
      ['b', 0.5],
    ]),
  )
  assert.deepEqual([groups.get('a'), groups.get('b')], [most, 0.5])
})

test('one that starts again and again stays within its limit after some', () => {
  const { groups, limiter } = makeGroups()
  const lifted = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => {
    limiter.enter(name, 'bots', { botId: 'x', limits })
    return groups.get(name)
  })
  assert.deepEqual(lifted, [most, most, most, most, most, 0.5])
  limiter.enter('other', 'bots', { botId: 'y', limits })
  assert.equal(groups.get('other'), most)
})

test('a limit that cannot be set back is tried again', () => {
  const { groups, limiter, refuse } = makeGroups()
  limiter.enter('a', 'bots', { botId: 'x', limits })
  refuse(true)
  mock.timers.tick(startMs)
  assert.equal(groups.get('a'), most)
  refuse(false)
  mock.timers.tick(1_000)
  assert.equal(groups.get('a'), 0.5)
  refuse(true)
  limiter.sweep(new Map([['a', 0.25]]))
  refuse(false)
  mock.timers.tick(1_000)
  assert.equal(groups.get('a'), 0.25)
})

test('a limit that cannot be set back does not keep the server from ending', () => {
  const { limiter, refuse } = makeGroups()
  limiter.enter('a', 'bots', { botId: 'x', limits })
  refuse(true)
  limiter.close()
})

test('one that has ended is not heard of again', () => {
  const { groups, limiter } = makeGroups()
  limiter.enter('a', 'bots', { botId: 'x', limits })
  limiter.leave('a', 'bots')
  groups.set('a', 64)
  mock.timers.tick(2 * startMs)
  assert.equal(groups.get('a'), 64)
})
