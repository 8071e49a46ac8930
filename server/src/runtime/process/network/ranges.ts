import { parseCidr } from '../../../lib/address.ts'
import { specialNets4 } from '../../../lib/special-nets.ts'

/** Of IPv4 addresses, as numbers, both ends included. */
export interface Range {
  readonly first: number
  readonly last: number
}

/**
 * Bots get their addresses from the first that nothing here uses. 198.18.0.0/15 is for measuring networks and stands in
 * no real one; the others are private, so that a bot is refused all of them anyway.
 */
export const ownNets: readonly string[] = [
  '198.18.0.0/16',
  '198.19.0.0/16',
  ...[127, 126, 125, 124, 123, 122].map((second) => `100.${second}.0.0/16`),
  ...Array.from({ length: 64 }, (_, index) => `10.${254 - index}.0.0/16`),
]

/** What no bot reaches, unless it is named: this machine's own networks, others' private ones, and what is no host. */
export const closedNets = specialNets4

/** `10.0.0.0/8` or a single address; undefined if it is neither, or not IPv4. */
export function findRange(text: string): Range | undefined {
  const [address, bits] = parseCidr(text) ?? []
  if (address?.kind() !== 'ipv4' || bits === undefined) return undefined
  const size = 2 ** (32 - bits)
  const number = address.toByteArray().reduce((sum, byte) => sum * 256 + byte, 0)
  const first = number - (number % size)
  return { first, last: first + size - 1 }
}

export function addressAt({ first }: Range, offset: number): string {
  return [24, 16, 8, 0].map((shift) => ((first + offset) >>> shift) & 255).join('.')
}

export function overlaps(a: Range, b: Range): boolean {
  return a.first <= b.last && b.first <= a.last
}

const closedRanges = closedNets.flatMap((net) => findRange(net) ?? [])

/** Whether all of it is closed to bots. */
export function isClosed({ first, last }: Range): boolean {
  return closedRanges.some((closed) => closed.first <= first && last <= closed.last)
}

export interface Route {
  readonly to: Range
  readonly devices: readonly string[]
  /** To a neighbour or a router; not to this machine, and not to nowhere. */
  readonly isOut: boolean
  readonly isDefault: boolean
}

const everything: Range = { first: 0, last: 2 ** 32 - 1 }

/** One line of `ip -oneline -4 route`; undefined if it is none. */
export function parseRoute(line: string): Route | undefined {
  const words = line.trim().split(/\s+/)
  const type = /^[a-z]/.test(words[0] ?? '') && words[0] !== 'default' ? words.shift() : 'unicast'
  const isDefault = words[0] === 'default'
  const to = isDefault ? everything : findRange(words[0] ?? '')
  if (!to) return undefined
  const devices = [...line.matchAll(/ dev (\S+)/g)].map(([, name]) => name ?? '')
  return { to, devices, isOut: type === 'unicast', isDefault }
}

/** The first that is none of the nets to which there is a way already, but for ways over our own bridge. */
export function chooseNet(routes: readonly Route[], bridge: string, wanted: readonly string[]): string | undefined {
  const taken = routes.filter(({ isDefault, devices }) => !isDefault && !devices.includes(bridge))
  return wanted.find((net) => {
    const range = findRange(net)
    return range && !taken.some(({ to }) => overlaps(to, range))
  })
}

/** By which bots' packets leave: all ways to public addresses, and to private ones that are open to bots. */
export function findUplinks(routes: readonly Route[], openNets: readonly string[]): string[] {
  const open = openNets.flatMap((net) => findRange(net) ?? [])
  const isUsed = ({ to, isOut }: Route) => isOut && (!isClosed(to) || open.some((range) => overlaps(to, range)))
  return [...new Set(routes.filter(isUsed).flatMap(({ devices }) => devices))].filter((name) => name !== 'lo')
}

export interface OpenNet {
  readonly net: string
  readonly port: number | undefined
}

/** Throws for what is neither `CIDR` nor `CIDR:port`. IPv6 is passed over: bots have none. */
export function parseOpenNets(texts: readonly string[]): OpenNet[] {
  return texts.flatMap((text) => {
    if (text.split(':').length > 2) return []
    const [net = '', port] = text.split(':')
    const isPort = port === undefined || (/^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) < 65_536)
    if (!findRange(net) || !isPort) throw new Error(`"${text}" is neither a net such as 10.0.0.0/8 nor one with a port`)
    return { net, port: port === undefined ? undefined : Number(port) }
  })
}
