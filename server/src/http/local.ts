import type { IncomingMessage } from 'node:http'
import type { Config } from '../config.ts'
import { isLoopbackAddress, isLoopbackHost } from '../lib/address.ts'

const forwardingFields = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/**
 * Whether a request comes from this very machine to a server that is only there for it. The Host has to be a
 * loopback name, or a page of a foreign site could reach us through a name that it points at 127.0.0.1.
 */
export function isLocalRequest(config: Config, { headers, socket }: IncomingMessage): boolean {
  if (!config.isLocal || !isLoopbackAddress(socket.remoteAddress ?? '')) return false
  if (forwardingFields.some((name) => headers[name] !== undefined)) return false
  const host = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(headers.host ?? '')?.[1]
  return host !== undefined && isLoopbackHost(host)
}
