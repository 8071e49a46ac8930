import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseNet, findRange, findUplinks, isClosed, parseOpenNets, parseRoute } from './ranges.ts'

test('a net that this machine uses is not given to bots', () => {
  const routes = (text: string) => text.split('\n').flatMap((line) => parseRoute(line) ?? [])
  const wanted = ['198.18.0.0/16', '198.19.0.0/16']
  const choose = (text: string) => chooseNet(routes(text), 'bbx', wanted)
  assert.equal(choose('default via 192.0.2.1 dev eth0 \nbroadcast 192.0.2.255 dev eth0 table local'), wanted[0])
  assert.equal(choose('198.18.0.0/16 dev bbx scope link\nlocal 198.18.0.1 dev bbx table local'), wanted[0])
  assert.equal(choose('local 198.18.5.1 dev wg0 table local'), wanted[1])
  assert.equal(choose('unreachable 198.18.0.0/15'), undefined)
})

test('forwarding is for the ways to the internet and to what is allowed', () => {
  const lines = [
    'default proto static \\\tnexthop via 192.0.2.1 dev eth0 weight 1 \\\tnexthop via 192.0.2.9 dev eth1 weight 1',
    '10.5.0.0/16 dev wg0 scope link',
    '172.17.0.0/16 dev docker0 scope link',
    'local 127.0.0.0/8 dev lo table local',
  ]
  const routes = lines.flatMap((line) => parseRoute(line) ?? [])
  assert.deepEqual(findUplinks(routes, []), ['eth0', 'eth1'])
  assert.deepEqual(findUplinks(routes, ['10.0.0.0/8']), ['eth0', 'eth1', 'wg0'])
})

test('nets are read as they are meant, or not at all', () => {
  assert.deepEqual(findRange('10.1.2.3/8'), { first: 0x0a000000, last: 0x0affffff })
  assert.deepEqual(
    [findRange('fd00::/8'), findRange('10/8'), findRange('10.0.0.0/33')],
    [undefined, undefined, undefined],
  )
  const closed = (net: string) => isClosed(findRange(net) ?? { first: 0, last: 0 })
  assert.deepEqual(['10.1.0.0/16', '255.255.255.255', '0.0.0.0/0', '11.0.0.0/8'].map(closed), [
    true,
    true,
    false,
    false,
  ])
  assert.deepEqual(parseOpenNets(['10.0.0.0/8', '10.0.0.1:443', 'fd00::/8']), [
    { net: '10.0.0.0/8', port: undefined },
    { net: '10.0.0.1', port: 443 },
  ])
  for (const wrong of ['10.0.0.0/8:0', '10.0.0.0/8:70000', 'example.org', '10.0.0.0/8:80; accept'])
    assert.throws(() => parseOpenNets([wrong]), /neither/)
})
