import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeIdle } from './idle.ts'

const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

test('a connection is closed when nobody uses it, and not while somebody does', async () => {
  const server = createServer((asked, answer) => {
    if (asked.url === '/slow') setTimeout(() => answer.end('late'), 700)
    else answer.end('answer')
  })
  closeIdle(server, { idleMs: 300, everyMs: 20 })
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
  for (let round = 0; round < 8; round++) {
    busy.socket.write(request)
    await sleep(100)
  }
  await idle.closed
  assert.match(idle.text(), /answer/)
  assert.doesNotMatch(idle.text(), /keep-alive: timeout/i)
  assert.equal(busy.text().split('200 OK').length, 9)
  assert.match(slow.text(), /late/)
  await Promise.all([busy.closed, slow.closed])
  server.close()
})
