import type { LookupAddress, LookupOptions } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { parseCidr } from './address.ts'
import { AppError } from './app-error.ts'
import { lookUp } from './names.ts'
import { specialNets4, specialNets6 } from './special-nets.ts'
import { StepError } from './step-error.ts'

export interface CheckedAddress {
  readonly address: string
  readonly family: 4 | 6
}

type Resolver = (host: string) => Promise<readonly LookupAddress[]>

/**
 * Decides whether an outgoing connection may go to an address. The public internet is allowed, everything else only
 * inside the given nets: otherwise a stranger's URL would reach the networks and metadata services behind this server.
 */
export class AddressGuard {
  readonly #isInAllowedNet: (address: string) => boolean
  readonly #ask: Resolver

  constructor(allowedNets: readonly string[], ask: Resolver = (host) => lookUp(host)) {
    this.#isInAllowedNet = netTest(allowedNets)
    this.#ask = ask
  }

  /** For a concrete address in its usual spelling; anything else is not allowed. */
  isAllowed(address: string): boolean {
    // A zone (`fe80::1%eth0`) chooses one of our own interfaces, which is nobody else's business.
    if (isIP(address) === 0 || address.includes('%')) return false
    if (this.#isInAllowedNet(address)) return true
    const carried = carriedIPv4(address)
    if (carried.length > 0 && carried.every(this.#isInAllowedNet)) return true
    return isPublic(address) && carried.every(isPublic)
  }

  /** The first of `resolveAll`. */
  async resolve(host: string): Promise<CheckedAddress> {
    const [first] = await this.resolveAll(host)
    return first
  }

  /**
   * All addresses of a host, which may be an address in any spelling that a URL takes. One address that is not allowed
   * refuses the name as a whole (`url_not_allowed`); a name without addresses is `host_not_found`.
   */
  async resolveAll(host: string): Promise<[CheckedAddress, ...CheckedAddress[]]> {
    const name = canonicalHost(host)
    if (name === undefined) throw notFound(host)
    const found = isIP(name) ? [{ address: name, family: isIP(name) }] : await this.#look(name)
    const checked = found.map(({ address }): CheckedAddress => {
      if (!this.isAllowed(address)) throw notAllowed(host)
      return { address, family: isIP(address) === 4 ? 4 : 6 }
    })
    const [first, ...others] = checked
    if (!first) throw notFound(host)
    return [first, ...others]
  }

  async #look(name: string): Promise<readonly LookupAddress[]> {
    try {
      return await this.#ask(name)
    } catch (error) {
      throw notFound(name, error)
    }
  }

  /** Refuses a URL (or `user@host:path`) whose host is an address that is not allowed. Looks up nothing. */
  checkLiteral(url: string): void {
    const host = URL.canParse(url) ? new URL(url).hostname : /^[^@/]+@([^:/]+):/.exec(url)?.[1]
    if (host) this.checkHost(host)
  }

  /** Refuses an address that is not allowed; a name is looked up by whoever connects. */
  checkHost(host: string): void {
    const name = canonicalHost(host)
    if (name && isIP(name) && !this.isAllowed(name)) throw notAllowed(host)
  }

  /**
   * For `net.connect` and undici's connector, so that what is checked is what is connected to. Node asks it for names
   * only: whoever connects begins with `checkHost`.
   */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const answer = (all: readonly CheckedAddress[]) => {
      const matching = all.filter(({ family }) => isWanted(family, options.family))
      const [first] = matching
      if (!first) callback(Object.assign(notFound(hostname), { code: 'ENOTFOUND' }), '')
      else if (options.all) callback(null, matching)
      else callback(null, first.address, first.family)
    }
    this.resolveAll(hostname).then(answer, (error: Error) => callback(error, ''))
  }
}

function isWanted(family: 4 | 6, wanted: LookupOptions['family']): boolean {
  return !wanted || wanted === family || wanted === `IPv${family}`
}

function notAllowed(host: string): AppError {
  return new AppError('url_not_allowed', {
    detail: `${shown(host)} is, or leads to, an address that this server does not connect to.`,
  })
}

function notFound(host: string, cause?: unknown): StepError {
  return new StepError('host_not_found', `The host ${shown(host)} could not be found.`, { cause })
}

function shown(host: string): string {
  return JSON.stringify(host.slice(0, 253))
}

/** A name in lower case and punycode, or an address in its usual spelling: `0x7f.1` and `１２７.0.0.1` are 127.0.0.1. */
function canonicalHost(host: string): string | undefined {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare) === 6) return bare.includes('%') ? undefined : ipaddr.IPv6.parse(bare).toString()
  // What could end the host inside a URL would let another host through than the one that is connected to.
  if (bare === '' || /[/\\?#@:\s]/.test(bare) || !URL.canParse(`http://${bare}/`)) return undefined
  return new URL(`http://${bare}/`).hostname.replace(/\.$/, '') || undefined
}

/** Whether an address is in one of these nets of its own family: to BlockList alone, IPv4 would be inside `::/0` too. */
function netTest(cidrs: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const text of cidrs) {
    const cidr = parseCidr(text)
    if (!cidr) throw new Error(`${JSON.stringify(text)} is no CIDR`)
    const [net, bits] = cidr
    lists[net.kind()].addSubnet(net.toString(), bits, net.kind())
  }
  return (address) => {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    return lists[family].check(address, family)
  }
}

function isPublic(address: string): boolean {
  return (isIP(address) === 4 || isGlobalIPv6(address)) && !isSpecial(address)
}

/** All of IPv6 that is given out, and two ways to write IPv4, for which the address inside decides. */
const isGlobalIPv6 = netTest(['2000::/3', '64:ff9b::/96', '::ffff:0:0/96'])

const isSpecial = netTest([...specialNets4, ...specialNets6])

/** The IPv4 addresses to which a packet for this IPv6 address may in the end be sent. */
function carriedIPv4(address: string): string[] {
  if (isIP(address) !== 6) return []
  const bytes = ipaddr.IPv6.parse(address).toByteArray()
  const at = (start: number, flip = 0) =>
    bytes
      .slice(start, start + 4)
      .map((byte) => byte ^ flip)
      .join('.')
  const begins = (...start: number[]) => start.every((byte, index) => bytes[index] === byte)
  const zeros = (count: number) => Array.from({ length: count }, () => 0)
  if (begins(...zeros(10), 0xff, 0xff)) return [at(12)] // mapped
  if (begins(...zeros(12)) || begins(...zeros(8), 0xff, 0xff, 0, 0)) return [at(12)] // compatible, translated
  if (begins(0, 0x64, 0xff, 0x9b, ...zeros(8))) return [at(12)] // NAT64
  if (begins(0x20, 0x02)) return [at(2)] // 6to4
  if (begins(0x20, 0x01, 0, 0)) return [at(4), at(12, 0xff)] // Teredo: its server, and the client behind it
  // ISATAP, which any prefix may have.
  if ((bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe) return [at(12)]
  return []
}
