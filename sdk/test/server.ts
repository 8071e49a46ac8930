// A server that answers as it is told and remembers what it was asked.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { endpointList } from '@botberth/contract/endpoints.ts'

export type Handle = (request: IncomingMessage, response: ServerResponse) => void

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export async function startServer(handle: Handle): Promise<{ seen: Seen[]; url: string }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
      handle(request, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Calls every method of a client: those of its groups, and those of its own that are named. */
export async function callAll(client: object, own: readonly string[]): Promise<void> {
  const groups = [client, ...Object.values(client)] as unknown as Record<string, unknown>[]
  for (const [index, group] of groups.entries()) {
    for (const name of index === 0 ? own : Object.keys(group)) {
      const method = group[name] as (...args: unknown[]) => unknown
      const signal = AbortSignal.timeout(50)
      const args = { stream: [['me'], { signal }], follow: ['1', { signal }] }[name] ?? ['1', '2', {}]
      const result = method.apply(group, args) as Promise<unknown> | AsyncGenerator
      await ('next' in result ? result.next() : result).catch(() => {}) // the answers are none of theirs
    }
  }
}

const bases = { hosting: '/api/v1', list: '/list/api' }

/** Operations of the contract that nobody asked for. */
export function findUnasked(api: 'hosting' | 'list', seen: readonly Seen[], but: ReadonlySet<string>): string[] {
  const asked = seen.map(({ method, url }) => `${method} ${url.replace(/\?.*/, '')}`)
  const wanted = endpointList.filter(([name, endpoint]) => endpoint.api === api && !but.has(name))
  const unasked = wanted.filter(([, { method, path }]) => {
    const pattern = new RegExp(`^${method} ${bases[api]}${path.replace(/\{\w+\}/g, '[^/]+')}$`)
    return !asked.some((one) => pattern.test(one))
  })
  return unasked.map(([name]) => name)
}
