import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientNet, isInside, isLoopbackAddress, isLoopbackHost, parseCidr } from './address.ts'

test('an IPv6 client is its /64, an IPv4 client itself, however it is written', () => {
  assert.equal(clientNet('192.0.2.7'), '192.0.2.7')
  assert.equal(clientNet('::ffff:192.0.2.7'), '192.0.2.7')
  assert.equal(clientNet('2001:db8:1:2:aaaa::1'), clientNet('2001:db8:1:2:bbbb::2'))
  assert.notEqual(clientNet('2001:db8:1:2::1'), clientNet('2001:db8:1:3::1'))
  assert.equal(clientNet('rubbish'), 'unknown')
})

test('loopback is recognised in every form that a socket or a Host header has', () => {
  for (const host of [
    'localhost',
    'LOCALHOST',
    'a.localhost',
    '127.0.0.1',
    '127.8.8.8',
    '[::1]',
    '::1',
    '::ffff:127.0.0.1',
  ]) {
    assert.equal(isLoopbackHost(host), true, host)
  }
  for (const host of ['localhost.evil.example', 'evil.example', '128.0.0.1', '::2', '', '2130706433', '0x7f.1']) {
    assert.equal(isLoopbackHost(host), false, host)
  }
})

test('an address is inside a net of its own family only', () => {
  const nets = [parseCidr('10.0.0.0/8'), parseCidr('fd00::/8')].filter((net) => net !== undefined)
  assert.equal(isInside('10.1.2.3', nets), true)
  assert.equal(isInside('::ffff:10.1.2.3', nets), true)
  assert.equal(isInside('fd00::1', nets), true)
  assert.equal(isInside('11.0.0.1', nets), false)
  assert.equal(isInside('127.0.0.1', nets), false)
  for (const address of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'])
    assert.equal(isLoopbackAddress(address), true, address)
  for (const address of ['10.0.0.1', '::2', '']) assert.equal(isLoopbackAddress(address), false, address)
})

test('what is no CIDR is refused', () => {
  for (const text of [
    '',
    'x',
    '10.0.0.0/33',
    '10.0.0',
    '300.1.1.1',
    '::/129',
    '10',
    '10/8',
    '010.0.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/x',
    '10.0.0.0/8/8',
  ])
    assert.equal(parseCidr(text), undefined, text)
})
