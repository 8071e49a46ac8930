// One attempt against receivers that do what receivers do. All at once: several of them take their full time.
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { timed, until } from '../../test/until.ts'
import { AddressGuard } from '../lib/address-guard.ts'
import { makeOutgoingAgent } from '../lib/outgoing.ts'
import { send } from './send.ts'

const loopback = ['127.0.0.0/8', '::1/128']
const guard = new AddressGuard(loopback)
const agent = makeOutgoingAgent(guard)
after(() => agent.destroy())

const post = (url: string, over = agent, body = Buffer.from('{}')) =>
  send(over, { url, headers: { 'x-test': '1' }, body })

async function open<S extends Server>(server: S, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => sockets.delete(socket)) // the other side hangs up on us, as it should
  })
  server.listen(0, host)
  await once(server, 'listening')
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A receiver that says what the script says, once something has come in. */
async function say(script: (socket: Socket) => void | Promise<void>): Promise<string> {
  const server = createServer((socket) => {
    socket.once('data', () => void script(socket))
  })
  return `http://127.0.0.1:${await open(server)}/`
}

const drip = async (socket: Socket, text: string, everyMs: number) => {
  for (const letter of text) {
    if (socket.destroyed) return
    socket.write(letter)
    await sleep(everyMs)
  }
}

const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'needs openssl'

/** Signed by somebody whom the machine trusts from now on, if told. */
function certificate(name: string, { days = '1', isTrusted = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-'))
  after(() => rmSync(folder, { recursive: true }))
  const openssl = (line: string) => execFileSync('openssl', line.split(' '), { cwd: folder, stdio: 'ignore' })
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
  openssl(`req -x509 ${key} -subj /CN=authority -days 2 -keyout ca.key -out ca.crt`)
  openssl(`req -new ${key} -subj /CN=receiver -addext subjectAltName=${name} -keyout key -out request`)
  openssl(
    `x509 -req -in request -CA ca.crt -CAkey ca.key -CAcreateserial -copy_extensions copy -days ${days} -out cert`,
  )
  const read = (file: string) => readFileSync(join(folder, file), 'utf8')
  if (isTrusted) setDefaultCACertificates([...getCACertificates('default'), read('ca.crt')])
  return { key: read('key'), cert: read('cert') }
}

/** Where a machine is, but nobody answers: connections that nobody takes in fill its queue, and the next gets no reply. */
async function openBlackHole(): Promise<string> {
  const listen =
    "require('net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},function(){console.log(this.address().port)})"
  const child = spawn(process.execPath, ['-e', listen], { stdio: ['ignore', 'pipe', 'inherit'] })
  after(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  child.kill('SIGSTOP')
  const port = Number(line.toString())
  const waiting = Array.from({ length: 4 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => {}))
  after(() => {
    for (const socket of waiting) socket.destroy()
  })
  // Those that its queue has room for get in, the others wait.
  await until('some to get in', () => waiting.some(({ connecting }) => !connecting))
  assert(waiting.some(({ connecting }) => connecting))
  return `http://127.0.0.1:${port}/`
}

const slow: { what: string; url: string; error: string | null; leastMs?: number }[] = [
  { what: 'accepts and is silent', url: await say(() => {}), error: 'timeout' },
  {
    what: 'drips its header',
    url: await say((socket) => drip(socket, `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100)}`, 500)),
    error: 'timeout',
  },
  {
    what: 'closes its half and says nothing',
    url: `http://127.0.0.1:${await open(
      createServer({ allowHalfOpen: true }, (socket) => {
        socket.resume()
        socket.on('end', () => {})
      }),
    )}/`,
    error: 'timeout',
  },
  {
    what: 'accepts, then drips its body for ever',
    url: await say(async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      await drip(socket, '1\r\nx\r\n'.repeat(100), 100)
    }),
    error: null,
  },
  { what: 'lets nobody in', url: await openBlackHole(), error: 'timeout', leastMs: 4_900 },
]

describe('an attempt ends in time', { concurrency: true }, () => {
  for (const { what, url, error, leastMs = 9_900 } of slow)
    test(`with a receiver that ${what}`, async () => {
      const { result: outcome, ms, idleMs } = await timed(() => post(url), 10_000)
      assert.equal(outcome.error, error)
      if (error === 'timeout') assert(ms >= leastMs && outcome.durationMs >= leastMs, `${ms} ms`)
      assert(outcome.durationMs <= Math.ceil(ms), `${outcome.durationMs} of ${ms} ms`)
      assert(idleMs < 500, `${idleMs} ms later`)
    })

  test('with a name that nobody answers for', async () => {
    const silent = makeOutgoingAgent(new AddressGuard(loopback, () => new Promise(() => {})))
    const { result, idleMs } = await timed(() => post('http://receiver.example/', silent), 10_000)
    assert.equal(result.error, 'timeout')
    assert(idleMs < 500, `${idleMs} ms later`)
    await silent.destroy()
  })

  for (const { afterMs, leastMs } of [
    { afterMs: 3_000, leastMs: 9_900 }, // all of it has ten seconds, not each part
    { afterMs: 8_000, leastMs: 4_900 }, // the connection has five, with the look-up
  ])
    test(`with a name that takes ${afterMs} ms to find, and a receiver that is silent then`, async () => {
      const found = sleep(afterMs, [{ address: '127.0.0.1', family: 4 }])
      const late = makeOutgoingAgent(new AddressGuard(loopback, () => found))
      const { port } = new URL(await say(() => {}))
      const { result, ms, idleMs } = await timed(() => post(`http://receiver.example:${port}/`, late), 10_000)
      assert.equal(result.error, 'timeout')
      assert(ms >= leastMs && idleMs < 500, `${ms} ms`)
      await late.destroy()
    })

  test('with a receiver that reads nothing of what it is sent', async () => {
    const port = await open(createServer((socket) => void socket.pause()))
    const large = Buffer.alloc(32 * 1024 * 1024)
    const { result, idleMs } = await timed(() => post(`http://127.0.0.1:${port}/`, agent, large), 10_000)
    assert.equal(result.error, 'timeout')
    assert(idleMs < 500, `${idleMs} ms later`)
  })
})

const failures: { what: string; url: () => Promise<string>; error: string | null; status?: number }[] = [
  {
    what: 'is not there',
    url: async () => {
      const server = createServer()
      const port = await open(server)
      server.close()
      return `http://127.0.0.1:${port}/`
    },
    error: 'connection',
  },
  { what: 'hangs up at once', url: () => say((socket) => void socket.end()), error: 'connection' },
  { what: 'resets', url: () => say((socket) => void socket.resetAndDestroy()), error: 'connection' },
  {
    what: 'resets within its header',
    url: () =>
      say(async (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nX: ')
        await sleep(20)
        socket.resetAndDestroy()
      }),
    error: 'connection',
  },
  {
    what: 'speaks no HTTP',
    url: () => say((socket) => void socket.end('220 mail.example ESMTP\r\n')),
    error: 'protocol',
  },
  {
    what: 'has a header of 200 KB',
    url: () => say((socket) => void socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`)),
    error: 'protocol',
  },
  {
    what: 'has 100,000 header lines',
    url: () => say((socket) => void socket.end(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(100_000)}\r\n`)),
    error: 'protocol',
  },
  {
    what: 'says 100 Continue and no more',
    url: () => say((socket) => void socket.write('HTTP/1.1 100 Continue\r\n\r\n')),
    error: 'protocol',
  },
  {
    what: 'wants to speak something else',
    url: () =>
      say(
        (socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
      ),
    error: 'protocol',
  },
  {
    what: 'ends before its Content-Length',
    url: () => say((socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')),
    error: null,
  },
  {
    what: 'sends garbage instead of chunks',
    url: () => say((socket) => void socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n')),
    error: null,
  },
  {
    what: 'answers without a body and closes',
    url: () => say((socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n')),
    error: null,
  },
  {
    what: 'sets cookies and a Retry-After',
    url: () =>
      say(
        (socket) =>
          void socket.end('HTTP/1.1 429 Slow\r\nSet-Cookie: a=b\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n'),
      ),
    error: 'http_status',
    status: 429,
  },
  {
    what: 'is plain HTTP where TLS was asked for',
    url: async () => (await say((socket) => void socket.end('HTTP/1.1 400 Bad\r\n\r\n'))).replace('http:', 'https:'),
    error: 'tls',
  },
]

describe('a receiver that', () => {
  for (const { what, url, error, status } of failures)
    test(what, async () => {
      const outcome = await post(await url())
      assert.equal(outcome.error, error)
      if (status !== undefined) assert.equal(outcome.statusCode, status)
    })

  const certificates = {
    'has a certificate of its own name': { name: 'IP:127.0.0.1', error: null },
    'has a certificate that nobody knows': { name: 'IP:127.0.0.1', isTrusted: false, error: 'tls' },
    'has a certificate that is over': { name: 'IP:127.0.0.1', days: '-1', error: 'tls' },
    'has the certificate of somebody else': { name: 'IP:127.0.0.2', error: 'tls' },
  }
  for (const [what, { name, error, ...options }] of Object.entries(certificates))
    test(what, { skip }, async () => {
      const server = createHttpsServer(certificate(name, options), (_, response) => response.end())
      assert.equal((await post(`https://127.0.0.1:${await open(server)}/`)).error, error)
    })

  test('answers with gigabytes costs no memory', async () => {
    const server = createHttpServer((_, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024)));
        response.once('drain', more)
      }
      more()
    })
    const before = process.memoryUsage().arrayBuffers
    const { error, answer } = await post(`http://127.0.0.1:${await open(server)}/`)
    assert.equal(error, null)
    assert.equal(answer?.length, 4096)
    assert(process.memoryUsage().arrayBuffers - before < 50 * 1024 * 1024)
  })

  test('answers compressed is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024))
    const server = createHttpServer((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    })
    const { answer } = await post(`http://127.0.0.1:${await open(server)}/`)
    assert.equal(answer?.codePointAt(0), 0x1f)
  })

  test('closed a connection that was kept gets the request once more, on a new one', async () => {
    let requests = 0
    const server = createServer((socket) => {
      let served = 0
      socket.on('data', () => {
        // The first is answered and the connection kept; when the second comes, it is gone.
        if (served++ > 0) {
          socket.resetAndDestroy()
          return
        }
        requests++
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
    })
    const url = `http://127.0.0.1:${await open(server)}/`
    assert.equal((await post(url)).error, null)
    assert.equal((await post(url)).error, null)
    assert.equal(requests, 2)
  })

  test('resets a new connection is asked once', async () => {
    let connections = 0
    const server = createServer((socket) => {
      connections++
      socket.once('data', () => socket.resetAndDestroy())
    })
    assert.equal((await post(`http://127.0.0.1:${await open(server)}/`)).error, 'connection')
    assert.equal(connections, 1)
  })

  test('has an IPv6 address only', async () => {
    const port = await open(
      createHttpServer((_, response) => response.end()),
      '::1',
    )
    assert.equal((await post(`http://[::1]:${port}/`)).error, null)
  })
})

describe('addresses that nobody may reach', () => {
  const strict = (ask?: ConstructorParameters<typeof AddressGuard>[1]) => makeOutgoingAgent(new AddressGuard([], ask))
  let connections = 0
  const inner = createServer((socket) => {
    connections++
    socket.destroy()
  })

  test('are never connected to, however they are spelt, over http and https', async () => {
    const port = await open(inner, '::') // both families
    const over = strict()
    const hosts =
      '127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 017700000001 0177.0.0.1 0 0.0.0.0 127.0.0.1. １２７.０.０.１ 127.127.127.127 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::] localhost LOCALHOST.'.split(
        ' ',
      )
    assert.equal(hosts.length, 22)
    for (const host of hosts)
      for (const scheme of ['http', 'https'])
        assert.equal((await post(`${scheme}://${host}:${port}/`, over)).error, 'blocked_address', host)
    assert.equal(connections, 0)
    await over.destroy()
  })

  test('are not reached by a name that changes, or has several', async () => {
    const port = await open(createServer((socket) => socket.end(`${connections++}`)))
    const answers = [
      [{ address: '127.0.0.1', family: 4 }],
      [
        { address: '203.0.113.1', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ],
      [{ address: '::ffff:127.0.0.1', family: 6 }],
      [{ address: '169.254.169.254', family: 4 }],
    ]
    for (const answer of answers) {
      const over = strict(() => Promise.resolve(answer))
      assert.equal((await post(`http://receiver.example:${port}/`, over)).error, 'blocked_address')
      await over.destroy()
    }
    assert.equal(connections, 0)
  })

  test('and names that are not there say so', async () => {
    const over = strict(() => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })))
    assert.equal((await post('http://receiver.example/', over)).error, 'dns')
    await over.destroy()
  })

  test('and names whose server is broken do so too, and are looked up anew each time', async () => {
    const port = await open(createHttpServer((_, response) => response.end()))
    let asked = 0
    const over = makeOutgoingAgent(
      new AddressGuard(loopback, () =>
        asked++ === 0
          ? Promise.reject(Object.assign(new Error('broken'), { code: 'ESERVFAIL' }))
          : Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
      ),
    )
    assert.equal((await post(`http://receiver.example:${port}/`, over)).error, 'dns')
    assert.equal((await post(`http://receiver.example:${port}/`, over)).error, null)
    await over.destroy()
  })
})
