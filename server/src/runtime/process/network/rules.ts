import { closedNets, findRange, type OpenNet } from './ranges.ts'

export interface RuleOptions {
  /** Of both tables, `inet` and `bridge`. */
  readonly table: string
  readonly bridge: string
  /** What the names of all host ends begin with. */
  readonly prefix: string
  readonly net: string
  readonly gateway: string
  readonly resolvers: readonly string[]
  readonly openNets: readonly OpenNet[]
  /** Devices on which forwarding is on for our sake only. */
  readonly guarded: readonly string[]
  readonly doors: readonly number[]
  readonly bots: readonly BotAddress[]
}

export interface BotAddress {
  readonly device: string
  readonly address: string
}

// Of one bot. A chat bot has a handful of connections; this ends port scans and floods, and keeps one bot from filling
// the kernel's table of connections, which has 262,144 places on most machines and is everybody's.
export const connectionsMax = 4096
export const newPerSecondMax = 200
export const newAtOnceMax = 1000
// Of one bot, to our APIs: the server has so many files for all of them together.
export const atDoorMax = 64
// Longer than it takes until somebody looks.
const notedSeconds = 45

/**
 * All our rules, as one transaction that puts them in the place of what was there: at no moment is there no wall.
 *
 * Each packet of a bot is judged by where it goes, not only the first of a connection, so what is closed here is closed
 * for what was open before. The number of bots is nowhere the number of rules.
 */
export function allRules(options: RuleOptions): string {
  const { table, bridge, prefix, net, gateway, resolvers, openNets, guarded, doors, bots } = options
  return `
add table inet ${table}
delete table inet ${table}
add table bridge ${table}
delete table bridge ${table}
table inet ${table} {
  set closed {
    type ipv4_addr
    flags interval
    elements = { ${closedNets.join(', ')} }
  }
  set resolvers {
    type ipv4_addr
    ${elements(resolvers)}
  }
  set doors {
    type inet_service
    ${elements(doors)}
  }
  set guarded {
    type ifname
    ${elements(guarded.map(quote))}
  }
  set paces {
    type ipv4_addr
    size 65536
    flags dynamic
    timeout 1m
  }
  set counts {
    type ipv4_addr
    size 65536
    flags dynamic
  }
  set at_door {
    type ipv4_addr
    size 65536
    flags dynamic
  }

  # What bots were refused lately, for their owners. One of each: whoever tries all addresses fills no more than that.
  set noted {
    type ipv4_addr
    size 65536
    flags dynamic
    timeout ${notedSeconds}s
  }
  set refused {
    type ipv4_addr . ipv4_addr . inet_service
    size 65536
    flags dynamic
    timeout ${notedSeconds}s
  }

  chain forward {
    type filter hook forward priority filter - 5; policy accept;
    iifname ${quote(bridge)} goto from_bot
    oifname ${quote(bridge)} goto to_bot
    iifname @guarded goto no_router
  }
  chain input {
    type filter hook input priority filter - 5; policy accept;
    iifname ${quote(bridge)} goto to_host
    # The door is for bots: whoever else sends to its address has come by a way through this machine.
    iifname != "lo" ip daddr ${gateway} drop
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${net} oifname != ${quote(bridge)} masquerade
  }

  chain from_bot {
    meta nfproto ipv6 drop
    meta l4proto != { tcp, udp, icmp } goto refuse
    jump limits
    ip daddr ${net} goto refuse
    # Some ways lead through tunnels that carry less than 1500 bytes.
    tcp flags syn tcp option maxseg size set rt mtu
    ip daddr @closed goto exceptions
    tcp dport 25 goto refuse
    accept
  }
  chain exceptions {
    ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept
    ${openNets.map(openRule).join('\n    ')}
    goto refuse
  }
  chain to_bot {
    ct state established,related accept
    drop
  }
  # The host's own addresses, whichever they are and however it has them.
  chain to_host {
    ct direction reply ct state established,related accept
    meta nfproto ipv6 drop
    jump limits
    ip daddr ${gateway} tcp dport @doors goto door
    ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept
    ${openNets.filter(isOneService).map(openRule).join('\n    ')}
    goto refuse
  }
  chain door {
    ct state new add @at_door { ip saddr ct count over ${atDoorMax} } goto turn_away
    accept
  }
  # What other rules send on (published ports of containers) is somebody's wish; all else would use us as its router.
  chain no_router {
    ct state established,related accept
    ct status dnat accept
    drop
  }
  chain limits {
    ct state != new return
    update @paces { ip saddr limit rate over ${newPerSecondMax}/second burst ${newAtOnceMax} packets } goto turn_away
    add @counts { ip saddr ct count over ${connectionsMax} } goto turn_away
  }
  chain refuse {
    jump note
    goto turn_away
  }
  chain note {
    meta l4proto != { tcp, udp } return
    ip saddr @noted return
    add @noted { ip saddr }
    add @refused { ip saddr . ip daddr . th dport }
  }
  # Said, not only done: a bot that waits for an answer looks as if it hung.
  chain turn_away {
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }
}
table bridge ${table} {
  set bots {
    typeof iifname . ip saddr
    size 65536
    ${elements(bots.map(botElement))}
  }
  # The routing above sees only the bridge. Here each bot's own cable is known, and with it the one address it may use.
  chain prerouting {
    type filter hook prerouting priority -300; policy accept;
    iifname != ${quote(`${prefix}*`)} accept
    iifname . ip saddr @bots accept
    iifname . arp saddr ip @bots accept
    drop
  }
}
`
}

export function addBot(table: string, bot: BotAddress): string {
  return `add element bridge ${table} bots { ${botElement(bot)} }`
}

/** Adds it first, because taking away what is not there fails. */
export function removeBot(table: string, bot: BotAddress): string {
  return `${addBot(table, bot)}\ndelete element bridge ${table} bots { ${botElement(bot)} }`
}

export function addDoor(table: string, port: number): string {
  return `add element inet ${table} doors { ${port} }`
}

export function removeTables(table: string): string {
  return ['inet', 'bridge'].map((family) => `add table ${family} ${table}\ndelete table ${family} ${table}`).join('\n')
}

/** Only such an entry opens this machine itself: who opens a net does not mean all services of the host inside it. */
export function isOneService({ net, port }: OpenNet): boolean {
  const range = findRange(net)
  return port !== undefined && range?.first === range?.last
}

export function openRule({ net, port }: OpenNet): string {
  return port === undefined
    ? `ip daddr ${net} accept`
    : `ip daddr ${net} meta l4proto { tcp, udp } th dport ${port} accept`
}

function botElement({ device, address }: BotAddress): string {
  return `${quote(device)} . ${address}`
}

/** An empty list cannot be written. */
export function elements(all: readonly (string | number)[]): string {
  return all.length === 0 ? '' : `elements = { ${all.join(', ')} }`
}

function quote(name: string): string {
  return `"${name}"`
}
