import { readlinkSync } from 'node:fs'
import { readProc, readTimes } from '../../../lib/proc.ts'
import { RunError } from '../../../lib/run.ts'
import type { EnteredNetwork, FoundNetworks, Networks, RunningBot } from '../networks.ts'
import { findProgram, systemView } from '../toolchain.ts'
import { execute, readKernel } from './commands.ts'
import { readHostNets } from './host-nets.ts'
import { findRange, type OpenNet, overlaps, parseOpenNets } from './ranges.ts'
import { findResolvers, publicResolvers } from './resolvers.ts'
import { slirpGateway, slirpNet, slirpResolver, slirpRoutes, slirpRules } from './slirp-rules.ts'
import { tryNetwork } from './trial.ts'

export interface SlirpOptions {
  readonly allowedNets: readonly string[]
  /** Of one bot, each way. 0: no cap. */
  readonly megabitsMax: number
  readonly running: () => readonly RunningBot[]
  /** For tests: without, ways that lead nowhere are the wall. */
  readonly hasNft?: boolean
}

/** Above all that the sandbox hands on, and below 10: no shell has to know more. */
const lifeline = 9

/*
 * The namespace is that of the command itself, which becomes the sandbox. The program that sends its packets on has to
 * stand outside, so it is started before, and waits for a word from inside. It ends when nobody holds the other end of
 * the lifeline any more, and in the end nobody but the sandbox's first process does, whatever has become of us. Each end
 * of a pipe is opened through the one that is open already: that never waits, so nobody can be left waiting.
 */
const outside = `
slirp=$1 say=$2 closed=$3
shift 3
folder=$(mktemp -d) && mkfifo "$folder/lifeline" "$folder/ready" || exit 125
exec 8<>"$folder/ready" ${lifeline}<>"$folder/lifeline"
rm -r "$folder"
{
  exec ${lifeline}</proc/self/fd/${lifeline} 8>/proc/self/fd/8 3>&- 4>&- 5>&- 6>&- 7>&- >/dev/null
  [ -n "$say" ] || exec 2>/dev/null
  read -r go <&${lifeline} || exit
  exec "$slirp" --configure --cidr=${slirpNet} --mtu=65520 --enable-sandbox --enable-seccomp \
    \${closed:+--disable-host-loopback --disable-dns} --ready-fd=8 --exit-fd=${lifeline} "$$" tap0
} &
exec ${lifeline}>/proc/self/fd/${lifeline}
exec unshare --user --map-root-user --net /bin/sh -c "$1" sh "$closed" "$@"`

const inside = `
closed=$1 rules=$3 rate=$4
shift 4
(echo >&${lifeline})
exec </proc/self/fd/8 8>&-
read -r ready
exec </dev/null
fail() { echo "The network of this bot could not be made: $1 failed." >&2; exit 125; }
[ "$ready" = 1 ] || fail slirp4netns
for name in all default tap0; do
  [ ! -d /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/$name/disable_ipv6 || fail IPv6
done
if [ -z "$closed" ]; then printf '%s' "$rules" | nft -f - || fail nft
else printf '%s' "$rules" | ip -batch - || fail ip; fi
# A cap is no wall: without the kernel's part for it there is none.
[ -z "$rate" ] || tc qdisc replace dev tap0 root tbf rate "$rate" burst 256kb latency 50ms 2>/dev/null
exec "$@"`

/**
 * What an ordinary user can make: a network for each command, behind slirp4netns, which opens connections for it as if
 * they were its own. Rules inside keep it from all but the internet, the resolver and the door. IPv4 only.
 */
export class SlirpNetworks implements Networks {
  readonly helpers = 1
  readonly names: Networks['names']
  readonly door: Networks['door']
  readonly #program: string
  readonly #openNets: readonly OpenNet[]
  readonly #megabitsMax: number
  readonly #running: () => readonly RunningBot[]
  readonly #hasNft: boolean
  readonly #resolvers: readonly string[]
  readonly #doors = new Set<number>()
  /** The rules that the bot with this monitor has. */
  readonly #written = new Map<number, string>()

  private constructor(program: string, { allowedNets, megabitsMax, running, hasNft }: SlirpOptions) {
    this.#program = program
    this.#openNets = parseOpenNets(allowedNets)
    this.#megabitsMax = megabitsMax
    this.#running = running
    this.#hasNft = hasNft ?? false
    this.door = this.#hasNft ? { listen: '127.0.0.1', host: slirpGateway } : undefined
    this.#resolvers = this.#hasNft ? [slirpResolver] : findReachable()
    this.names = {
      'resolv.conf': this.#resolvers.map((address) => `nameserver ${address}\n`).join(''),
      hosts: '127.0.0.1 localhost bot\n',
    }
  }

  /** Really tries one. Never rejects: says what is wrong, and what mends it. */
  static async open(options: SlirpOptions): Promise<FoundNetworks> {
    const program = findProgram('slirp4netns')
    if (program === undefined)
      return { problem: 'slirp4netns is not installed', remedy: 'apt install slirp4netns nftables iproute2' }
    const hasNft = options.hasNft ?? findProgram('nft') !== undefined
    const open = () => SlirpNetworks.#open(program, { ...options, hasNft })
    let found = await open()
    if (!found.networks) found = await open() // somebody may have changed the machine's mounts or addresses meanwhile
    if (found.networks || !hasNft) return found
    // A kernel may have no nftables, or none for ordinary users.
    const without = await SlirpNetworks.#open(program, { ...options, hasNft: false })
    return without.networks ? { ...without, problem: `${without.problem} (${found.problem})` } : found
  }

  static async #open(program: string, options: SlirpOptions): Promise<FoundNetworks> {
    try {
      return await new SlirpNetworks(program, options).#try()
    } catch (error) {
      const reason = error instanceof RunError ? error.lines.join(' ').slice(0, 500) : String(error)
      return { problem: `a network for a bot cannot be made: ${reason}`, remedy: namespaceRemedy() }
    }
  }

  async #try(): Promise<FoundNetworks> {
    const { inside: found, outside: host } = await tryNetwork({
      gateway: slirpGateway,
      listen: '127.0.0.1',
      resolver: this.#resolvers[0] ?? '',
      hostResolver: findResolvers().addresses[0] ?? '',
      // The sandbox has to work in there too: some systems let a program make namespaces only if they know it.
      withDoor: (port, ask) => ask([...this.#launcher(this.#rules([port]), 'said'), ...sandbox]),
    })
    if (found.wall) return { problem: 'bots get through the rules to this machine', remedy: 'nft --version' }
    if (!this.#hasNft) {
      const problem = 'without nftables no port can be told from another, so our APIs are closed to bots too'
      return { networks: this, problem, remedy: 'apt install nftables' }
    }
    if (!found.door) return { problem: 'bots cannot reach our door on the loopback', remedy: 'nft --version' }
    if (host.resolver && !found.resolver) {
      const problem = 'DNS for bots: the resolver answers this machine, but no bot'
      return { networks: this, problem, remedy: 'name another resolver first in /etc/resolv.conf' }
    }
    return { networks: this }
  }

  async openDoor(port: number): Promise<void> {
    this.#doors.add(port)
    await this.repair() // bots that were started before may know another one, which is anybody's by now
  }

  enter(): Promise<EnteredNetwork> {
    return Promise.resolve({ enter: this.#launcher(this.#rules([...this.#doors]), ''), lifeline })
  }

  /** They are counted in each bot's own namespace, and nobody reads them there. */
  takeRefusals(): Promise<[]> {
    return Promise.resolve([])
  }

  counters(_botId: string, pid: number | undefined): { rxBytes: number; txBytes: number } | undefined {
    if (pid === undefined) return undefined
    const line = /tap0:(.*)/
      .exec(readProc(pid, 'net/dev') ?? '')?.[1]
      ?.trim()
      .split(/\s+/)
      .map(Number)
    return line && { rxBytes: line[0] ?? 0, txBytes: line[8] ?? 0 }
  }

  /** For bots that run, when addresses of this machine have come or gone since their rules were written. */
  async repair(): Promise<void> {
    if (!this.#hasNft) return
    const rules = this.#rules([...this.#doors])
    const monitors = this.#running().flatMap(({ monitor }) => monitor ?? [])
    for (const pid of this.#written.keys()) if (!monitors.includes(pid)) this.#written.delete(pid)
    const failures: unknown[] = []
    for (const pid of monitors.filter((each) => this.#written.get(each) !== rules && hasOwnNetwork(each))) {
      const into = ['nsenter', '--target', String(pid), '--user', '--net', '--preserve-credentials', '--']
      try {
        await execute([...into, 'sh', '-c', writeRules, 'sh', rules])
        this.#written.set(pid, rules)
      } catch (error) {
        if (readTimes(pid) !== undefined) failures.push(error) // else it has ended meanwhile
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'the rules of bots that run cannot be written')
  }

  /** Each ends with its bot. */
  async prune(): Promise<void> {}
  async remove(): Promise<void> {}
  async destroy(): Promise<void> {}

  #rules(doors: readonly number[]): string {
    const given = { doors, openNets: this.#openNets, hostNets: readHostNets(), megabitsMax: this.#megabitsMax }
    return this.#hasNft ? slirpRules(given) : slirpRoutes(given, this.#resolvers)
  }

  #launcher(rules: string, say: string): string[] {
    const rate = this.#megabitsMax === 0 || findProgram('tc') === undefined ? '' : `${this.#megabitsMax}mbit`
    const closed = this.#hasNft ? '' : 'closed'
    return ['/bin/sh', '-c', outside, 'sh', this.#program, say, closed, inside, rules, rate]
  }
}

// Not all of the machine: somebody may mount or unmount something meanwhile.
const node = process.execPath
const view = [...systemView(), '--ro-bind', node, node, '--proc', '/proc', '--dev', '/dev']
const sandbox = ['bwrap', '--unshare-user', '--unshare-pid', ...view, '--']

const writeRules = `printf '%s' "$1" | nft -f -`

/** Not so for bots that were started when there was nothing to make one with. */
function hasOwnNetwork(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net')
  } catch {
    return false // gone meanwhile
  }
}

/** Those that are not this machine itself: without ports to tell apart, all of it would be open. */
function findReachable(): string[] {
  const own = readHostNets().flatMap((net) => findRange(net) ?? [])
  const isOwn = (address: string) => own.some((range) => overlaps(range, findRange(address) ?? range))
  const reachable = findResolvers().addresses.filter((address) => !isOwn(address))
  return reachable.length > 0 ? reachable : [...publicResolvers]
}

function namespaceRemedy(): string {
  const isRestricted = readKernel('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1'
  if (isRestricted) return 'as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'
  return 'a kernel on which ordinary users may make user and network namespaces, with /dev/net/tun and nf_tables'
}
