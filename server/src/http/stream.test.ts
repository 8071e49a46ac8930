import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { fastify } from 'fastify'
import { timed, until } from '../../test/until.ts'
import { type EventStream, EventStreams } from './stream.ts'

async function setUp() {
  const server = fastify()
  after(() => server.close())
  const streams = new EventStreams(server)
  const opened: EventStream[] = []
  server.get('/', (request, reply) => {
    const stream = streams.open(request, reply, 'start')
    opened.push(stream)
    return stream
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  const open = async () => {
    const [response] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage]
    response.on('error', () => {})
    const stream = opened.at(-1)
    assert(stream)
    return { response, stream }
  }
  return { server, open }
}

const data = JSON.stringify('x'.repeat(60_000))

/** As a careful sender does; returns the bytes that were taken. */
function fill(stream: EventStream): number {
  let bytes = 0
  while (!stream.isFull && bytes < 100_000_000) {
    stream.send({ name: 'x', data })
    bytes += data.length
  }
  return bytes
}

test('a stream that nobody reads is full after a megabyte, and takes more once it is read', async () => {
  const { open } = await setUp()
  const { response, stream } = await open()
  let drains = 0
  stream.drained = () => drains++
  for (let round = 0; round < 200 && !stream.isFull; round++) {
    const bytes = fill(stream)
    assert(bytes <= 1_200_000, String(bytes))
    await new Promise((resolve) => setTimeout(resolve, 20)) // the network's own buffers take some
  }
  assert(stream.isFull)
  assert(stream.readableLength < 1_200_000)
  response.resume()
  await until('room', async () => !stream.isFull)
  await until('the word of it', async () => drains > 0)
  response.destroy()
  await until('its end', async () => stream.destroyed)
})

test('a stream that stays full for a minute is cut off, and one that is idle is kept alive', async () => {
  const { open } = await setUp()
  const { response, stream } = await open()
  stream.check(Date.now() + 14_000)
  stream.check(Date.now() + 16_000)
  response.setEncoding('utf8')
  let text = ''
  response.on('data', (chunk: string) => (text += chunk))
  await until('the comment', async () => text === 'retry: 1000\nid: start\n\n: \n\n')
  response.pause()
  for (let round = 0; round < 200 && !stream.isFull; round++) {
    fill(stream)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  stream.check(Date.now() + 59_000)
  assert(!stream.destroyed)
  stream.check(Date.now() + 61_000)
  assert(stream.destroyed)
})

test('the end of the server ends streams, those that nobody reads too', async (t) => {
  const { server, open } = await setUp()
  const [idle, stuck] = [await open(), await open()]
  for (let round = 0; round < 200 && !stuck.stream.isFull; round++) {
    fill(stuck.stream)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  idle.response.resume()
  // A clock that is set back, or only counts otherwise than timers do, keeps no stream alive.
  const { now } = Date
  t.after(() => (Date.now = now))
  const { idleMs } = await timed(async () => {
    const closed = server.close()
    Date.now = () => now() - 5_000
    await closed
  })
  assert(idleMs < 3_000, `${idleMs} ms`)
  assert(idle.response.complete)
})
