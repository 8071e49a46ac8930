import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
export type Cidr = readonly [Address, number]

/** `10.0.0.0/8`, `::1/128` or a single address; undefined if it is neither. */
export function parseCidr(text: string): Cidr | undefined {
  const address = parseAddress(text.split('/', 1)[0] ?? '')
  // Only in the plain spelling: `10/8` and `010.0.0.0/8` would be other nets than meant.
  if (address && text.includes('/')) return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : undefined
  return address && [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** An address in its own family: IPv4 inside IPv6 (`::ffff:127.0.0.1`) is IPv4. */
function parseAddress(text: string): Address | undefined {
  // `isValid` alone takes `1` and `0x7f.1` too, which no socket ever reports.
  if (!ipaddr.IPv6.isValid(text) && !ipaddr.IPv4.isValidFourPartDecimal(text)) return undefined
  return ipaddr.process(text)
}

/** Whether the other end of a connection is this machine. Asked at each request, so the usual answers come first. */
export function isLoopbackAddress(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || isInside(address, loopbackNets)
}

export function isInside(address: string, cidrs: readonly Cidr[]): boolean {
  const parsed = parseAddress(address)
  if (!parsed) return false
  return cidrs.some(([net, bits]) => net.kind() === parsed.kind() && parsed.match(net, bits))
}

const loopbackNets: readonly Cidr[] = [
  [ipaddr.parse('127.0.0.0'), 8],
  [ipaddr.parse('::1'), 128],
]

/** `localhost`, `*.localhost` or a loopback address, as in a URL or a Host header without its port. */
export function isLoopbackHost(host: string): boolean {
  if (host === 'localhost' || host === '127.0.0.1') return true // the usual ones
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  return bare === 'localhost' || bare.endsWith('.localhost') || isInside(bare, loopbackNets)
}

/**
 * What one client is for the purpose of a limit: its IPv4 address, or the /64 of its IPv6 address, because a
 * single customer is given at least a /64 and could use a new address for each request.
 */
export function clientNet(address: string): string {
  const parsed = parseAddress(address)
  if (!parsed) return 'unknown'
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()}/64`
}
