// A receiver of webhooks as a process of its own. Tells its parent, when asked, what has come in since it was last asked:
// for each request the path, and the milliseconds since the body's `timestamp`. Below /dead it never answers.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Seen {
  readonly count: number
  readonly waits: { readonly path: string; readonly ms: number }[]
}

let count = 0
let waits: Seen['waits'] = []

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const at = Date.now()
    const path = request.url ?? ''
    count++
    if (path.startsWith('/timed') || path.startsWith('/dead')) {
      const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { timestamp: string }
      waits.push({ path, ms: at - Date.parse(timestamp) })
    }
    if (!path.startsWith('/dead')) response.writeHead(200, { 'content-length': '0' }).end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))

process.on('message', () => {
  const seen: Seen = { count, waits }
  ;[count, waits] = [0, []]
  process.send?.(seen)
})
process.on('disconnect', () => process.exit())
