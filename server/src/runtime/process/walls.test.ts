import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Networks } from './networks.ts'
import { describeWalls, type FoundWalls } from './walls.ts'

const sandbox = { isStrict: true, isFiltered: true } as unknown as NonNullable<FoundWalls['sandbox']>

function wall(name: string, found: Partial<FoundWalls>) {
  return describeWalls({ sandbox, cgroups: {}, disks: { problem: undefined, remedy: undefined }, ...found }).find(
    (each) => each.name === name,
  )
}

test('a root that cannot make users is told to be an ordinary user, not to be root', () => {
  const { state, detail, remedy } = wall('network', { usersProblem: 'setpriv failed' }) ?? {}
  assert.deepEqual([state, remedy], ['off', 'run the server as an ordinary user'])
  assert.match(detail ?? '', /setpriv failed/)
})

test('a network that works in part is soft, and one that is missing off, with what mends it', () => {
  const networks = {} as Networks
  assert.equal(wall('network', { network: { networks } })?.state, 'on')
  const part = wall('network', { network: { networks, problem: 'no nft', remedy: 'apt install nftables' } })
  assert.deepEqual([part?.state, part?.remedy], ['soft', 'apt install nftables'])
  const none = wall('network', { network: { problem: 'no slirp4netns', remedy: 'apt install slirp4netns' } })
  assert.deepEqual([none?.state, none?.remedy], ['off', 'apt install slirp4netns'])
})

test('limits that a server sets itself are soft', () => {
  const cgroups = { problem: 'you may not', remedy: 'be root' }
  assert.equal(wall('limits', { cgroups, softLimits: { enter: () => [] } })?.state, 'soft')
  assert.equal(wall('limits', { cgroups })?.state, 'off')
  assert.equal(wall('limits', { cgroups })?.remedy, 'be root')
})
