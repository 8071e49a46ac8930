import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHostNets } from './host-nets.ts'
import { parseOpenNets } from './ranges.ts'
import { slirpRoutes, slirpRules } from './slirp-rules.ts'

const given = {
  doors: [4180],
  openNets: parseOpenNets(['10.0.0.0/8', '10.1.2.3/32:8080', '192.168.7.0/24:5000']),
  hostNets: ['127.0.0.0/8', '203.0.114.9/32'],
  megabitsMax: 100,
}

test('whatever the kernel takes for this machine is known, however it came by it', () => {
  const trie = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
     |-- 203.0.114.0
        /24 link UNICAST
     |-- 203.0.114.9
        /32 host LOCAL
     |-- 203.0.114.255
        /32 link BROADCAST
     |-- 5.6.7.0
        /24 host LOCAL
`
  assert.deepEqual(readHostNets(trie), ['127.0.0.0/8', '127.0.0.1/32', '203.0.114.9/32', '5.6.7.0/24'])
})

test('this machine is opened by one address with a port only; a net opens others', () => {
  const rules = slirpRules(given)
  const chain = (name: string) => new RegExp(`chain ${name} {([^}]*(?:{[^}]*}[^}]*)*)\\n  }`).exec(rules)?.[1] ?? ''
  assert.match(chain('to_host'), /10\.1\.2\.3\/32 .* 8080 accept/)
  assert.doesNotMatch(chain('to_host'), /10\.0\.0\.0\/8|192\.168\.7\.0/)
  assert.match(chain('exceptions'), /ip daddr 10\.0\.0\.0\/8 accept/)
  assert.match(rules, /elements = { 127\.0\.0\.0\/8, 203\.0\.114\.9\/32 }/)
})

test('ways that lead nowhere know no ports, so an opening with one is none; the machine stays closed within nets', () => {
  const routes = slirpRoutes(given, ['10.255.255.53']).split('\n')
  assert(routes.includes('route replace 10.0.0.0/8 via 198.18.0.2'))
  assert(routes.includes('route replace 10.255.255.53 via 198.18.0.2'))
  assert(!routes.some((route) => /10\.1\.2\.3|192\.168\.7\.0/.test(route)))
  assert(
    routes.indexOf('route replace unreachable 203.0.114.9/32') >
      routes.indexOf('route replace 10.0.0.0/8 via 198.18.0.2'),
  )
})
