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
  const cgroups: Pick<Cgroups, 'make' | 'setCpus' | 'remove' | 'list' | 'tidy'> = {
    make: (name, _part, { cpus: cores }) => {
      groups.set(name, cores)
      return []
    },
    setCpus: (name, _part, cores) => {
      const isFound = isThere && groups.has(name)
      isThere = true
      if (isFound) groups.set(name, cores)
      return isFound
    },
    remove: (name) => groups.delete(name),
    list: (part) => (part === 'bots' ? [...groups.keys()] : []),
    tidy: () => undefined,
  }
  return { groups, limiter: new GroupLimiter(cgroups as Cgroups) }
}

test('a bot may take more while it starts, and not after that', () => {
  for (const isLate of [false, true]) {
    const { groups, limiter } = makeGroups({ isLate })
    limiter.enter('a', 'bots', limits)
    assert.equal(groups.get('a'), isLate ? 0.5 : most)
    mock.timers.tick(startMs - 1)
    assert.equal(groups.get('a'), most)
    mock.timers.tick(startMs)
    assert.equal(groups.get('a'), 0.5)
  }
})

test('one that may have as much anyway is left alone', () => {
  const { groups, limiter } = makeGroups()
  limiter.enter('a', 'bots', { ...limits, cpus: 64 })
  assert.equal(groups.get('a'), 64)
})

test('a server that ends, or was killed, leaves no bot with more than its limit', () => {
  const { groups, limiter } = makeGroups()
  limiter.enter('a', 'bots', limits)
  limiter.close()
  assert.equal(groups.get('a'), 0.5)
  limiter.enter('b', 'bots', limits)
  assert.equal(groups.get('b'), most)
  limiter.sweep(
    new Map([
      ['a', undefined],
      ['b', 0.5],
    ]),
  )
  assert.deepEqual(
    [...groups],
    [
      ['a', 0.5],
      ['b', 0.5],
    ],
  )
})

test('one that has ended is not heard of again', () => {
  const { groups, limiter } = makeGroups()
  limiter.enter('a', 'bots', limits)
  limiter.leave('a', 'bots')
  mock.timers.tick(2 * startMs)
  assert.deepEqual([...groups], [])
})
