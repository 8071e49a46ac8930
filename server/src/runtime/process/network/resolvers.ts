import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'

interface FoundResolvers {
  readonly addresses: readonly string[]
  readonly problem?: string
  readonly remedy?: string
}

export const publicResolvers = ['1.1.1.1', '9.9.9.9']
/** As many as the C library asks. */
const resolversMax = 3

/** The host's own, as far as a bot can reach them: over IPv4, and not on the host's loopback. */
export function findResolvers(folder = '/'): FoundResolvers {
  const named = namedIn(`${folder}etc/resolv.conf`)
  // systemd's stub listens on the loopback only, and keeps a list of those that it asks.
  const all = named.includes('127.0.0.53') ? namedIn(`${folder}run/systemd/resolve/resolv.conf`) : named
  const addresses = all.filter((address) => isIPv4(address) && !address.startsWith('127.')).slice(0, resolversMax)
  if (addresses.length > 0) return { addresses }
  return {
    addresses: publicResolvers,
    problem:
      `DNS for bots: this machine's resolver (${named.join(', ') || 'none'}) cannot be reached from inside their ` +
      `networks, so they ask ${publicResolvers.join(' and ')}`,
    remedy: 'name a resolver with an IPv4 address that is not on the loopback in /etc/resolv.conf',
  }
}

function namedIn(file: string): string[] {
  try {
    return [...readFileSync(file, 'utf8').matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, address]) => address ?? '')
  } catch {
    return [] // no such file: no resolver
  }
}
