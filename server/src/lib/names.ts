import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

const tries = 2
const hostsFile = '/etc/hosts'

interface Sources {
  /** Name servers, with port; the system's unless told. */
  readonly servers?: readonly string[]
  readonly hosts?: string
  readonly timeoutMs?: number
}

/**
 * All addresses of a name: from the hosts file, then from the name servers. Not by `getaddrinfo`, which holds
 * one of the process's few threads all the while: strangers' names whose servers keep silent would hold up everybody's.
 */
export async function lookUp(
  name: string,
  { servers, hosts = hostsFile, timeoutMs = 2_000 }: Sources = {},
): Promise<LookupAddress[]> {
  const written = await readHosts(name, hosts)
  if (written.length > 0) return written
  // Only the system knows in which domains to search for it, and those are the operator's.
  if (!name.includes('.')) return lookup(name, { all: true })
  // A new one each time, so that other name servers of the system are heard of.
  const resolver = new Resolver({ timeout: timeoutMs, tries })
  if (servers) resolver.setServers(servers)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (found.length === 0 && v4.status === 'rejected') throw v4.reason
  return inOrder(found)
}

async function readHosts(name: string, path: string): Promise<LookupAddress[]> {
  const lines = (await readFile(path, 'utf8').catch(noFile)).split('\n')
  const found = lines.flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return isIP(address) !== 0 && names.some((one) => one.toLowerCase() === name) ? [address] : []
  })
  return inOrder(found)
}

function noFile(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return ''
  throw error
}

/** First what this machine can reach, for those who take only the first. */
function inOrder(addresses: readonly string[]): LookupAddress[] {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  const isAway = (family: number) => (family === 4 && !hasIPv4() ? 1 : 0)
  return all.toSorted((a, b) => isAway(a.family) - isAway(b.family) || a.family - b.family)
}

function hasIPv4(): boolean {
  return Object.values(networkInterfaces()).some((some) =>
    some?.some(({ family, internal }) => family === 'IPv4' && !internal),
  )
}
