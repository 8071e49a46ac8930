import type { IncomingMessage } from 'node:http'
import type { Config } from '../config.ts'
import { isLoopbackAddress, isLoopbackHost } from '../lib/address.ts'
import { isForwardingField, isFromDoor } from './door.ts'

/**
 * Whether a request comes from this very machine to a server that is only there for it. The Host has to be a
 * loopback name, or a page of a foreign site could reach us through a name that it points at 127.0.0.1.
 */
export function isLocalRequest(config: Config, request: IncomingMessage): boolean {
  if (!config.isLocal) return false
  const asked: WithAnswer = request
  asked[answer] ??= looksLocal(request)
  return asked[answer]
}

// Several parts of one request ask, and the headers do not change meanwhile.
const answer = Symbol('isLocal')
type WithAnswer = IncomingMessage & { [answer]?: boolean }

function looksLocal({ headers, socket, httpVersion }: IncomingMessage): boolean {
  if (isFromDoor(socket) || !isLoopbackAddress(socket.remoteAddress ?? '')) return false
  // Browsers and tools speak 1.1; what still speaks 1.0 is a proxy with its defaults, which says nothing else of itself.
  if (httpVersion === '1.0') return false
  // One of these, and it is not from this machine.
  for (const name in headers) if (isForwardingField(name)) return false
  const host = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/i.exec(headers.host ?? '')?.[1]
  return host !== undefined && isLoopbackHost(host)
}

/** The policies whose defaults are friendlier on this very machine. */
export function policyFor(
  config: Config,
  request: IncomingMessage,
): { signups: 'open' | 'invite' | 'closed'; botsPerUser: number | null } {
  const isLocal = isLocalRequest(config, request)
  const bots = config.botsPerUser ?? (isLocal ? 0 : 20)
  return { signups: config.signups ?? (isLocal ? 'open' : 'closed'), botsPerUser: bots === 0 ? null : bots }
}
