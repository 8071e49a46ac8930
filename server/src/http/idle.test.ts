import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { until } from '../../test/until.ts'
import { closeIdle } from './idle.ts'

const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

test('a connection is closed when nobody uses it, and not while somebody does', async () => {
  const server = createServer((asked, answer) => {
    // Answered when the idle one is closed, so later than anybody may be idle.
    if (asked.url === '/slow') void idleClosed.then(() => answer.end('late'))
    else answer.end('answer')
  })
  const { promise: idleClosed, resolve: noteClosed } = Promise.withResolvers<void>()
  closeIdle(server, { idleMs: 1_000, everyMs: 20 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const open = () => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    return { socket, closed: once(socket, 'close'), text: () => text }
  }
  const [idle, busy, slow] = [open(), open(), open()]
  idle.socket.write(request)
  slow.socket.write(request.replace('/', '/slow'))
  void idle.closed.then(() => noteClosed())
  let asked = 0
  const answered = () => busy.text().split('200 OK').length - 1
  for (let isOver = false; !isOver; isOver = idle.socket.closed) {
    busy.socket.write(request)
    asked++
    await until('an answer', () => answered() === asked)
  }
  assert.match(idle.text(), /answer/)
  assert.doesNotMatch(idle.text(), /keep-alive: timeout/i)
  assert(asked > 1)
  busy.socket.write(request)
  await until('one more answer', () => answered() === asked + 1)
  await Promise.all([busy.closed, slow.closed])
  assert.match(slow.text(), /late/)
  server.close()
})
