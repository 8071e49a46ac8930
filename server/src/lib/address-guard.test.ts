import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { AddressGuard } from './address-guard.ts'
import { AppError } from './app-error.ts'
import { StepError } from './step-error.ts'

const strict = new AddressGuard([])
const local = new AddressGuard(['127.0.0.0/8', '::1/128'])

/** First and last of each net, so that a wrong prefix length shows. */
const refused = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
  ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  ['168.63.129.16'],
  ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.192', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.1'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '239.255.255.255'],
  ['240.0.0.0', '255.255.255.255'],
].flat()

const refusedIPv6 = [
  ['::', '::1', '::2', '1::', '100::1', '64:ff9b:1::1', '64:ff9b:1:ffff::808:808'],
  ['fc00::', 'fdff:ffff::1', 'fd00:ec2::254', 'fd20:ce::254', 'fe80::1', 'febf::1', 'fec0::1', 'ff02::1', 'ffff::'],
  ['2001::', '2001:1ff:ffff::', '2001:db8::', '2001:db8:ffff::1', '2002::', '2002:808:808::1', '3ffe::1', '3fff::1'],
  ['3fff:fff::1', '4000::', '5f00::1', '8000::1', '::8.8.8.8', '::ffff:0:8.8.8.8'],
].flat()

test('private, local, reserved, documentation and metadata addresses are refused', () => {
  for (const address of [...refused, ...refusedIPv6]) assert.equal(strict.isAllowed(address), false, address)
})

test('the neighbours of those nets and the rest of the internet are allowed', () => {
  const allowed = [
    [
      '1.0.0.0',
      '8.8.8.8',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
    ],
    [
      '168.63.129.15',
      '168.63.129.17',
      '169.253.255.255',
      '169.255.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '191.255.255.255',
    ],
    ['192.0.1.0', '192.0.3.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
    ['2000::1', '2606:4700::1111', '2001:200::1', '2001:4860:4860::8888', '2003::1', '3ffd::1', '3fff:1000::1'],
    ['::ffff:8.8.8.8', '::ffff:808:808', '64:ff9b::8.8.8.8'],
  ].flat()
  for (const address of allowed) assert.equal(strict.isAllowed(address), true, address)
})

test('what is no address in its usual spelling is refused', () => {
  for (const text of [
    '',
    'localhost',
    '127.1',
    '010.0.0.1',
    '8.8.8.8 ',
    '[::1]',
    '2606::1%eth0',
    'fe80::1%1',
    '8.8.8.8/32',
  ]) {
    assert.equal(new AddressGuard(['0.0.0.0/0', '::/0']).isAllowed(text), false, text)
  }
})

const hex = (bytes: readonly number[]) =>
  bytes.reduce(
    (text, byte, index) => text + (index % 2 === 0 && index > 0 ? ':' : '') + byte.toString(16).padStart(2, '0'),
    '',
  )
const bytesOf = (address: string) => address.split('.').map(Number)

/** Every way to carry an IPv4 address in an IPv6 one, with noise where a form leaves bytes free. */
const forms: Record<string, (ipv4: number[], noise: number[]) => string> = {
  mapped: (ipv4) => `::ffff:${hex(ipv4)}`,
  'mapped, dotted': (ipv4) => `::ffff:${ipv4.join('.')}`,
  compatible: (ipv4) => `::${hex(ipv4)}`,
  translated: (ipv4) => `::ffff:0:${hex(ipv4)}`,
  NAT64: (ipv4) => `64:ff9b::${hex(ipv4)}`,
  '6to4': (ipv4, noise) => `2002:${hex(ipv4)}:${hex(noise.slice(0, 10))}`,
  'Teredo client': (ipv4, noise) => `2001:0:${hex(noise.slice(0, 8))}:${hex(ipv4.map((byte) => byte ^ 0xff))}`,
  'Teredo server': (ipv4, noise) => `2001:0:${hex(ipv4)}:${hex(noise.slice(0, 8))}`,
  ISATAP: (ipv4) => `2606:4700:0:1:0:5efe:${hex(ipv4)}`,
}

const noise = fc.array(fc.nat(255), { minLength: 10, maxLength: 10 })
const anyIPv4 = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 })

test('an address that carries a refused IPv4 address is refused in every form', () => {
  for (const [name, form] of Object.entries(forms)) {
    fc.assert(
      fc.property(fc.constantFrom(...refused), noise, (ipv4, noise) => {
        assert.equal(strict.isAllowed(form(bytesOf(ipv4), noise)), false, `${name} ${ipv4}`)
      }),
    )
  }
})

test('mapped and NAT64 addresses are judged like the IPv4 address that they carry', () => {
  fc.assert(
    fc.property(anyIPv4, noise, (ipv4, noise) => {
      for (const name of ['mapped', 'mapped, dotted', 'NAT64']) {
        assert.equal(strict.isAllowed(forms[name]?.(ipv4, noise) ?? ''), strict.isAllowed(ipv4.join('.')), name)
      }
    }),
    { numRuns: 500 },
  )
})

test('an allowed net opens itself only, for carried addresses too', () => {
  for (const address of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1', '64:ff9b::127.0.0.1', '::127.0.0.1']) {
    assert.equal(local.isAllowed(address), true, address)
  }
  for (const address of ['0.0.0.0', '::', '10.0.0.1', '::ffff:10.0.0.1', '::2', 'fe80::1']) {
    assert.equal(local.isAllowed(address), false, address)
  }
  // The server of this Teredo address is in the allowed net, the client behind it is not.
  assert.equal(local.isAllowed('2001:0:7f00:1:0:0:f5ff:fffe'), false)
  assert.equal(new AddressGuard(['10.1.2.3/8']).isAllowed('10.200.0.1'), true)
  assert.equal(new AddressGuard(['fd00::/8']).isAllowed('fd00:ec2::254'), true)
  assert.equal(new AddressGuard(['::/0']).isAllowed('10.0.0.1'), false)
  assert.throws(() => new AddressGuard(['lan']), /"lan" is no CIDR/)
})

const spellings: [string, string][] = [
  ['127.0.0.1', '127.0.0.1'],
  ['2130706433', '127.0.0.1'],
  ['0x7f000001', '127.0.0.1'],
  ['017700000001', '127.0.0.1'],
  ['0177.0.0.1', '127.0.0.1'],
  ['0x7f.1', '127.0.0.1'],
  ['127.1', '127.0.0.1'],
  ['127.0.1', '127.0.0.1'],
  ['127.0.0.1.', '127.0.0.1'],
  ['１２７.0.0.1', '127.0.0.1'],
  ['127。0。0。1', '127.0.0.1'],
  ['①②⑦.0.0.1', '127.0.0.1'],
  ['%31%32%37.0.0.1', '127.0.0.1'],
  ['[::1]', '::1'],
  ['::1', '::1'],
  ['0:0:0:0:0:0:0:1', '::1'],
]

test('a literal address is seen through in every spelling', async () => {
  for (const [spelling, address] of spellings) {
    assert.equal((await local.resolve(spelling)).address, address, spelling)
    await assert.rejects(strict.resolve(spelling), isRefusal, spelling)
    if (spelling !== '::1' && !spelling.startsWith('0:')) {
      for (const url of [`http://${spelling}/x`, `https://${spelling}:8443/x`]) {
        assert.throws(() => strict.checkLiteral(url), isRefusal, url)
        local.checkLiteral(url)
      }
    }
  }
  for (const url of [
    'ssh://git@127.0.0.1/x',
    'ssh://git@0x7f.1:22/x',
    'git@127.0.0.1:x',
    'ssh://[::1]/x',
    'git@2130706433:x',
  ]) {
    assert.throws(() => strict.checkLiteral(url), isRefusal, url)
  }
})

const isRefusal = (error: unknown) =>
  error instanceof AppError && error.code === 'url_not_allowed' && error.status === 400
const isNotFound = (error: unknown) => error instanceof StepError && error.code === 'host_not_found'

test('names pass the check at creation, where nothing is looked up', () => {
  const guard = guardOf(() => assert.fail('looked up'))
  for (const url of [
    'http://localhost/x',
    'https://host.example',
    'git@host.example:a/b',
    'http://8.8.8.8/',
    'rubbish',
  ]) {
    guard.checkLiteral(url)
  }
})

const guardOf = (answer: (host: string) => string[], nets: string[] = []) =>
  new AddressGuard(nets, async (host) =>
    answer(host).map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
  )

test('a name with one refused address is refused as a whole, in whatever order they come', async () => {
  for (const answers of [
    ['8.8.8.8', '10.0.0.1'],
    ['10.0.0.1', '8.8.8.8'],
    ['2606:4700::1', '::ffff:10.0.0.1'],
    ['::1'],
  ]) {
    await assert.rejects(guardOf(() => answers).resolve('host.example'), isRefusal, answers.join())
  }
  const guard = guardOf(() => ['8.8.8.8', '2606:4700::1'])
  assert.deepEqual(await guard.resolve('host.example'), { address: '8.8.8.8', family: 4 })
  assert.deepEqual(await guard.resolveAll('host.example'), [
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1', family: 6 },
  ])
})

test('a host that cannot be found, or is none, says so', async () => {
  const failing = new AddressGuard([], () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })))
  await assert.rejects(failing.resolve('host.example'), isNotFound)
  await assert.rejects(guardOf(() => []).resolve('host.example'), isNotFound)
  for (const host of [
    '',
    '.',
    'a b',
    'a/b',
    'a@b',
    'a:80',
    'a#b',
    'a\\b',
    '1.2.3.4.5',
    'fe80::1%lo',
    '[::1',
    '256.256.256.256',
  ]) {
    await assert.rejects(guardOf(() => assert.fail('looked up')).resolve(host), isNotFound, host)
  }
})

test('names are looked up in lower case, in punycode and without the last dot', async () => {
  const asked: string[] = []
  const guard = guardOf((host) => {
    asked.push(host)
    return ['8.8.8.8']
  })
  for (const host of ['HOST.Example.', 'bücher.example']) await guard.resolve(host)
  assert.deepEqual(asked, ['host.example', 'xn--bcher-kva.example'])
})

test('a socket connects to what was checked, and to nothing else', async () => {
  const server = createServer((socket) => socket.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const greet = (guard: AddressGuard, autoSelectFamily: boolean) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: 'host.example', port, lookup: guard.lookup, autoSelectFamily })
      socket.on('data', (data) => resolve(data.toString()))
      socket.on('error', reject)
    })
  try {
    for (const autoSelectFamily of [true, false]) {
      // The name changes between the first look-up and the next: each connection is checked on its own answer.
      const answers = [['127.0.0.1'], ['10.0.0.1']]
      const guard = guardOf(() => answers.shift() ?? [], ['127.0.0.0/8'])
      assert.equal(await greet(guard, autoSelectFamily), 'hello')
      await assert.rejects(greet(guard, autoSelectFamily), isRefusal)
      await assert.rejects(greet(guard, autoSelectFamily), isNotFound)
    }
  } finally {
    server.close()
  }
})

test('a look-up for one family gets addresses of that family', async () => {
  const guard = guardOf(() => ['8.8.8.8', '2606:4700::1'])
  const look = (options: object) =>
    new Promise((resolve) => guard.lookup('host.example', options, (error, ...rest) => resolve(error ?? rest)))
  assert.deepEqual(await look({ family: 6 }), ['2606:4700::1', 6])
  assert.deepEqual(await look({ family: 4, all: true }), [[{ address: '8.8.8.8', family: 4 }]])
  assert.deepEqual(await look({}), ['8.8.8.8', 4])
  const onlyOld = guardOf(() => ['8.8.8.8'])
  assert.equal(
    await new Promise((resolve) => onlyOld.lookup('h', { family: 6 }, (error) => resolve(error?.code))),
    'ENOTFOUND',
  )
})
