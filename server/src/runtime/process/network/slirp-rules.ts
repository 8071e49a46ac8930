import { downloadSeconds } from './bot-network.ts'
import { closedNets, type OpenNet } from './ranges.ts'
import { atDoorMax, connectionsMax, elements, isOneService, newAtOnceMax, newPerSecondMax, openRule } from './rules.ts'

/**
 * Of every bot's network inside, where the program that sends its packets on stands in for all other machines. No real
 * network uses it, so that no opening in private ranges is ever one of these.
 */
export const slirpNet = '198.18.0.0/24'
/** This machine's loopback. */
export const slirpGateway = '198.18.0.2'
/** The first resolver of this machine, wherever it is: on any port. */
export const slirpResolver = '198.18.0.3'

export interface SlirpRules {
  readonly doors: readonly number[]
  readonly openNets: readonly OpenNet[]
  readonly hostNets: readonly string[]
  /** 0: no cap. */
  readonly megabitsMax: number
}

/** For inside the bot's own network, as one transaction. Judged where packets begin: there is no other place of ours. */
export function slirpRules({ doors, openNets, hostNets, megabitsMax }: SlirpRules): string {
  const kilobytes = megabitsMax * 125
  const cap = `iifname "tap0" limit rate over ${kilobytes} kbytes/second burst ${kilobytes * downloadSeconds} kbytes drop`
  return `
add table inet botberth
delete table inet botberth
table inet botberth {
  set closed {
    type ipv4_addr
    flags interval
    ${elements(closedNets)}
  }
  set host {
    type ipv4_addr
    flags interval
    auto-merge
    ${elements(hostNets)}
  }
  set doors {
    type inet_service
    ${elements(doors)}
  }
  chain output {
    type filter hook output priority filter; policy accept;
    oifname "lo" accept
    meta nfproto ipv6 drop
    meta l4proto != { tcp, udp, icmp } goto refuse
    jump limits
    ip daddr ${slirpGateway} tcp dport @doors goto door
    ip daddr ${slirpResolver} meta l4proto { tcp, udp } th dport 53 accept
    ip daddr ${slirpNet} goto refuse
    ip daddr @host goto to_host
    ip daddr @closed goto exceptions
    tcp dport 25 goto refuse
    accept
  }
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "lo" accept
    ${megabitsMax === 0 ? '' : cap}
    ct state established,related accept
    drop
  }
  # Its packets would reach this machine by any of its addresses, public ones too.
  chain to_host {
    ${openNets.filter(isOneService).map(openRule).join('\n    ')}
    goto refuse
  }
  chain exceptions {
    ${openNets.map(openRule).join('\n    ')}
    goto refuse
  }
  chain door {
    ct state new ct count over ${atDoorMax} goto refuse
    accept
  }
  chain limits {
    ct state != new return
    limit rate over ${newPerSecondMax}/second burst ${newAtOnceMax} packets goto refuse
    ct count over ${connectionsMax} goto refuse
  }
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }
}
`
}

/**
 * The same for a machine without nftables, as ways that lead nowhere: they know no ports, so an opening counts only if it
 * is for all of them. Commands of `ip -batch`.
 */
export function slirpRoutes({ openNets, hostNets }: SlirpRules, resolvers: readonly string[]): string {
  const open = new Set([...resolvers, ...openNets.filter(({ port }) => port === undefined).map(({ net }) => net)])
  // The host's own last: who opens a net does not mean the host inside it.
  return [
    `route replace ${slirpGateway} dev tap0`,
    `route delete ${slirpNet} dev tap0`, // the real one, if there is one, is closed like all others
    ...closedNets.map((net) => `route replace unreachable ${net}`),
    ...[...open].map((net) => `route replace ${net} via ${slirpGateway}`),
    ...hostNets.map((net) => `route replace unreachable ${net}`),
    '',
  ].join('\n')
}
