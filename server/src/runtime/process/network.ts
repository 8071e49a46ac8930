import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { KeyedLock } from '../../lib/keyed-lock.ts'
import { RunError } from '../../lib/run.ts'
import {
  type BotPlan,
  changeCap,
  create,
  isPlugged,
  labelledAddress,
  look,
  namespaceFolder,
  plugCommands,
  readCounters,
  removeAll,
  removeRule,
} from './network/bot-network.ts'
import { ip, lines, nft, tryIp, writeKernel } from './network/commands.ts'
import { findObstacle } from './network/firewall.ts'
import { closeForwarding, findGuarded, openForwarding } from './network/forwarding.ts'
import { labelBridge, removeLeftovers } from './network/leftovers.ts'
import {
  addressAt,
  chooseNet,
  findRange,
  findUplinks,
  type OpenNet,
  overlaps,
  ownNets,
  parseOpenNets,
  parseRoute,
  type Range,
  type Route,
} from './network/ranges.ts'
import { type RefusedConnection, readRefused } from './network/refusals.ts'
import { findResolvers } from './network/resolvers.ts'
import { addDoor, allRules, removeTables } from './network/rules.ts'
import { tryNetwork } from './network/trial.ts'
import { findProgram } from './toolchain.ts'

export interface NetworkOptions {
  /** Tells several servers on one machine apart: 1 to 7 of [a-z0-9], part of the names of all that we make. */
  readonly tag: string
  /**
   * `CIDR` or `CIDR:port` of private networks that bots may reach all the same. This machine's own addresses are opened
   * only by an entry that names one of them alone, with a port.
   */
  readonly allowedNets: readonly string[]
  /** Of one bot, each way. 0: no cap. */
  readonly megabitsMax: number
  /** A file that goes with the data directory and begins with the tag: where it is no more, all of it may be removed. */
  readonly owner?: string
  /** Instead of the host's own. */
  readonly resolvers?: readonly string[]
}

export interface BotNetwork {
  /** Put in front of a command: it runs inside. Execs in place, so pid and descriptors stay. Needs root. */
  readonly enter: readonly string[]
}

/** A network with a problem works, but not for everything. */
export interface FoundNetwork {
  readonly network?: Network
  readonly problem?: string
  readonly remedy?: string
}

type NextStage = (problem: string, remedy: string) => void

interface Setup {
  readonly tag: string
  readonly net: string
  readonly range: Range
  readonly resolvers: readonly string[]
  readonly openNets: readonly OpenNet[]
  readonly guarded: readonly string[]
  readonly megabitsMax: number
}

/** Of the network that is made for the trial; the numbers of bots end below it. */
const trialIndex = 65_001
/** Of the first bot in the net: after the net's own address and the gateway's. */
const firstOffset = 2

/**
 * A network for each bot: a namespace with one cable to a bridge, whose ports cannot hear each other, behind rules that
 * let it out to the internet and nowhere else. All of it is the kernel's and outlives us. IPv4 only.
 *
 * A bridge has 1023 ports, so there are at most so many bots at a time.
 */
export class Network {
  // For all of one process: whoever opens a network twice has the same one twice.
  static readonly #lock = new KeyedLock()
  /** The address of the bridge, on which the host listens for bots. */
  readonly gateway: string
  /** For the bot's own view. */
  readonly resolvConf: string
  readonly hosts = '127.0.0.1 localhost bot\n'
  readonly #setup: Setup
  readonly #names: Names
  readonly #doors = new Set<number>()
  readonly #refused = new Map<string, RefusedConnection>()

  private constructor(setup: Setup) {
    this.#setup = setup
    this.#names = namesOf(setup.tag)
    this.gateway = addressAt(setup.range, 1)
    this.resolvConf = setup.resolvers.map((address) => `nameserver ${address}\n`).join('')
  }

  /**
   * Sets up or finds again the bridge and the rules, and tries them. All doors are closed. Never rejects: says what is
   * wrong, and what mends it.
   */
  static async open(options: NetworkOptions): Promise<FoundNetwork> {
    const missing = findMissing()
    if (missing) return missing
    return Network.#lock.run(options.tag, async () => {
      let found = await Network.#open(options)
      // A predecessor that was killed may have left a command that is still at work, taking away what we look at.
      for (let more = 2; more > 0 && !found.network; more--) {
        await sleep(500)
        found = await Network.#open(options)
      }
      return found
    })
  }

  static async #open(options: NetworkOptions): Promise<FoundNetwork> {
    const stage = { problem: 'the options of the network are wrong', remedy: 'mend the configuration' }
    let network: Network | undefined
    let found: FoundNetwork
    try {
      const next = (problem: string, remedy: string) => Object.assign(stage, { problem, remedy })
      network = await Network.#build(options, next)
      await network.#putUp(next)
      found = await network.#try(options)
    } catch (error) {
      const remedy = error instanceof NetsTaken ? error.remedy : stage.remedy
      found = { remedy, problem: `${stage.problem}: ${reasonOf(error)}` }
    }
    // What is of no use is taken away again, but not from under bots that run.
    if (!found.network && network?.list().length === 0) await network.destroy().catch(() => undefined)
    return found
  }

  /** Says before each stage what it means if it fails. Its bridge is the last thing that can: it would be left behind. */
  static async #build(options: NetworkOptions, next: NextStage): Promise<Network> {
    const { tag, megabitsMax } = options
    if (!/^[a-z0-9]{1,7}$/.test(tag)) throw new Error(`"${tag}" is not a tag of 1 to 7 letters and digits`)
    if (!(megabitsMax >= 0 && megabitsMax <= 100_000)) throw new Error(`${megabitsMax} is no number of megabits`)
    const openNets = parseOpenNets(options.allowedNets)
    const resolvers = options.resolvers ?? findResolvers().addresses
    const names = namesOf(tag)
    next('what other instances have left cannot be removed', 'nft list tables; ip link show type bridge')
    await removeLeftovers()

    next('the ways out of this machine are not known', 'ip route show table all')
    const uplinks = findUplinks(await listRoutes(), [...resolvers, ...openNets.map((open) => open.net)])
    const guarded = await findGuarded(uplinks.filter((name) => name !== names.bridge))
    next('the bridge for bots cannot be made', 'modprobe bridge')
    const isThere = existsSync(`/sys/class/net/${names.bridge}`)
    const net = await makeBridge(names).catch(async (error: unknown) => {
      if (!isThere) await tryIp([`link delete ${names.bridge}`])
      throw error
    })
    if (options.owner !== undefined) labelBridge(names.bridge, options.owner)
    return new Network({ tag, net, range: getRange(net), resolvers, openNets, guarded, megabitsMax })
  }

  async #putUp(next: NextStage): Promise<void> {
    next('the rules for bots cannot be written', 'modprobe nf_tables; needs Linux 5.4 or newer and nftables 0.9.3')
    await this.#writeRules()
    next('packets of bots cannot be sent on', 'make /proc/sys/net/ipv4 writable')
    openForwarding(this.#names.bridge, this.#setup.guarded)
    next('the network of a bot cannot be made', 'modprobe veth; modprobe sch_tbf')
  }

  /** Writes all rules anew, with the doors that were opened here, for when somebody has flushed them. */
  async repair(): Promise<void> {
    // What is noted goes with the rules. If it cannot be read they were flushed, and it with them.
    await this.#noteRefusals().catch(() => undefined)
    await this.#writeRules()
  }

  async #writeRules(): Promise<void> {
    const { net, resolvers, openNets, guarded } = this.#setup
    const bots = this.#listAll().map((index) => this.#plan(index))
    const { bridge, prefix, table } = this.#names
    const given = { net, resolvers, openNets, guarded, gateway: this.gateway, doors: [...this.#doors], bots }
    await nft(allRules({ bridge, prefix, table, ...given }))
    await ip(
      bots.filter((plan) => existsSync(`/sys/class/net/${plan.device}`) && !isPlugged(plan)).flatMap(plugCommands),
    )
  }

  /** Since it was asked last, by the number of the bot. Some of it may come twice. */
  async takeRefusals(): Promise<{ index: number; to: string; port: number }[]> {
    await this.#noteRefusals()
    const taken = [...this.#refused.values()]
    this.#refused.clear()
    const indexOf = (address: string) => getRange(address).first - this.#setup.range.first - firstOffset
    return taken.map(({ from, to, port }) => ({ index: indexOf(from), to, port }))
  }

  async #noteRefusals(): Promise<void> {
    for (const refused of await readRefused(this.#names.table)) this.#refused.set(refused.from, refused)
  }

  async #try({ resolvers }: NetworkOptions): Promise<FoundNetwork> {
    const { bridge } = this.#names
    const { enter } = await this.#ensure(trialIndex)
    try {
      const { inside, outside } = await tryNetwork({
        gateway: this.gateway,
        resolver: this.#setup.resolvers[0] ?? '',
        withDoor: async (port, ask) => {
          await this.openDoor(port)
          try {
            return await ask(enter)
          } finally {
            this.#doors.delete(port)
            await nft(`delete element inet ${this.#names.table} doors { ${port} }`)
          }
        },
      })
      if (inside.wall) return { problem: 'bots get through the rules to this machine', remedy: 'nft list ruleset' }
      if (!inside.door) {
        const rule = `-i ${bridge} -j ACCEPT`
        const problem = "bots cannot reach this machine's door: another firewall refuses what comes in"
        return { network: this, problem, remedy: `ufw allow in on ${bridge}, or iptables -I INPUT ${rule}` }
      }
      const obstacle = await findObstacle(bridge)
      if (obstacle) return { network: this, ...obstacle }
      if (outside.resolver && !inside.resolver) {
        const problem = `DNS for bots: ${this.#setup.resolvers[0]} answers this machine, but no bot`
        return { network: this, problem, remedy: 'nft list ruleset, and look for what refuses it' }
      }
      const { addresses: _, ...trouble } = resolvers ? { addresses: resolvers } : findResolvers()
      return { network: this, ...trouble }
    } finally {
      await this.remove(trialIndex)
    }
  }

  /** Lets bots reach this TCP port on the gateway. */
  async openDoor(port: number): Promise<void> {
    await nft(addDoor(this.#names.table, port))
    this.#doors.add(port)
  }

  /** The network of the bot with this number (0 to 65000), made, mended or found as it was. */
  async ensure(index: number): Promise<BotNetwork> {
    if (!(Number.isInteger(index) && index >= 0 && index < trialIndex)) throw new Error(`no number of a bot: ${index}`)
    return this.#ensure(index)
  }

  async #ensure(index: number): Promise<BotNetwork> {
    const plan = this.#plan(index)
    const found: BotNetwork = { enter: ['nsenter', `--net=${namespaceFolder}/${plan.namespace}`, '--'] }
    await Network.#lock.run(plan.device, async () => {
      const state = look(plan)
      if (state === 'whole') return
      if (state === 'capped') return changeCap(plan)
      if (hasAnything(plan)) await removeAll([plan])
      try {
        await create(plan)
      } catch {
        // Once more, because somebody may have flushed all rules. Their wall matters more than this bot.
        await removeAll([plan])
        await this.repair()
        await create(plan)
      }
    })
    return found
  }

  /** As the bot sees it, since its network was made; undefined if there is none. */
  counters(index: number): { rxBytes: number; txBytes: number } | undefined {
    return readCounters(this.#plan(index).device)
  }

  async remove(index: number): Promise<void> {
    const plan = this.#plan(index)
    await Network.#lock.run(plan.device, async () => {
      await removeAll([plan])
      await removeRule(plan).catch(() => this.repair()) // it fails if somebody has flushed the rules
    })
  }

  /** Numbers of all that exist, half-made ones too. */
  list(): number[] {
    return this.#listAll().filter((index) => index !== trialIndex)
  }

  #listAll(): number[] {
    const found = [
      ...numbersIn('/sys/class/net', this.#names.prefix),
      ...numbersIn(namespaceFolder, this.#names.namespacePrefix),
    ]
    return [...new Set(found)].toSorted((a, b) => a - b)
  }

  /** Takes everything away that we made. The rules go last: while there is a way, there is a wall. */
  async destroy(): Promise<void> {
    const plans = this.#listAll().map((index) => this.#plan(index))
    // The kernel takes 30 ms for each, and a command has a time limit.
    for (let at = 0; at < plans.length; at += 100) await removeAll(plans.slice(at, at + 100))
    await tryIp([`link delete ${this.#names.bridge}`])
    await nft(removeTables(this.#names.table))
    await closeForwarding(this.#setup.guarded)
  }

  #plan(index: number): BotPlan {
    const { prefix, namespacePrefix, bridge, table } = this.#names
    return {
      device: `${prefix}${index}`,
      namespace: `${namespacePrefix}${index}`,
      bridge,
      table,
      gateway: this.gateway,
      address: addressAt(this.#setup.range, index + firstOffset),
      hardware: hardwareOf(this.#setup.tag, index + firstOffset),
      megabitsMax: this.#setup.megabitsMax,
    }
  }
}

/** The module of the kernel is there, and it is of no use to load it. */
class NetsTaken extends Error {
  readonly remedy = 'remove bridges of servers that are no more: ip link delete NAME, or restart this machine'
}

/** What the program said, without all that it was given. */
function reasonOf(error: unknown): string {
  if (error instanceof RunError && error.lines.length > 0) return error.lines.join(' ').slice(0, 500)
  return error instanceof Error ? error.message : String(error)
}

interface Names {
  readonly bridge: string
  readonly prefix: string
  readonly namespacePrefix: string
  readonly table: string
  readonly hardware: string
}

/** Devices have at most 15 characters: two, the tag, a dash and the number. */
function namesOf(tag: string): Names {
  return {
    bridge: `bb${tag}`,
    prefix: `bb${tag}-`,
    namespacePrefix: `botberth-${tag}-`,
    table: `botberth_${tag}`,
    hardware: hardwareOf(tag, 1),
  }
}

/** Of the kind that everyone may give out on a network of their own. */
function hardwareOf(tag: string, number: number): string {
  const bytes = [0x02, 0xbb, ...createHash('sha256').update(tag).digest().subarray(0, 2), number >> 8, number & 255]
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':')
}

function findMissing(): FoundNetwork | undefined {
  if (process.getuid?.() !== 0) {
    return { problem: 'networks for bots can only be made by root', remedy: 'start the server as root' }
  }
  const packages = { ip: 'iproute2', tc: 'iproute2', nft: 'nftables', nsenter: 'util-linux' }
  for (const [program, name] of Object.entries(packages)) {
    if (findProgram(program) === undefined)
      return { problem: `${program} is not installed`, remedy: `apt-get install ${name}` }
  }
  return undefined
}

/**
 * The bridge with its address; the net that it is of. An address that it has stays, or else that of bots which are there
 * still. The way to the net is what claims it: it can be added once, so two servers that start together get two nets.
 */
async function makeBridge({ bridge, prefix, hardware }: Names): Promise<string> {
  const folder = `/sys/class/net/${bridge}`
  if (existsSync(folder) && !existsSync(`${folder}/bridge`)) throw new Error(`${bridge} is there and is no bridge`)
  // A bridge without an address of its own takes one of its ports' and changes it when they come and go.
  if (!existsSync(folder)) await ip([`link add name ${bridge} address ${hardware} type bridge mcast_snooping 0`])
  if (existsSync('/proc/sys/net/ipv6')) writeKernel(`/proc/sys/net/ipv6/conf/${bridge}/disable_ipv6`, '1')
  await ip([`link set dev ${bridge} up`])

  const wanted = [...new Set([...(await formerNets(bridge, prefix)), ...ownNets])]
  for (const net of wanted) {
    if (chooseNet(await listRoutes(), bridge, [net]) === undefined) continue
    const [range, gateway] = [getRange(net), addressAt(getRange(net), 1)]
    // Only if it has another: with an address go the ways that begin at it.
    if (!(await addressesOf(bridge)).includes(gateway)) {
      await tryIp([`address flush dev ${bridge}`])
      await ip([`address add ${gateway}/16 dev ${bridge} noprefixroute`])
    }
    const isClaimed = ({ to, devices, isOut }: Route) =>
      isOut && to.first === range.first && to.last === range.last && devices.includes(bridge)
    try {
      if (!(await listRoutes()).some(isClaimed)) await ip([`route add ${net} dev ${bridge} src ${gateway}`])
      return net
    } catch (error) {
      if (!String(error).includes('File exists')) throw error // else somebody was faster: the next one
    }
  }
  const others = readdirSync('/sys/class/net').filter((name) => /^bb[a-z0-9]+$/.test(name) && name !== bridge)
  const taken = `all ${ownNets.length} nets that bots could have are taken`
  throw new NetsTaken(
    others.length === 0
      ? `${taken}: there are routes to all of ${ownNets.join(', ')}`
      : `${taken}, among others by the bridges of other servers: ${others.slice(0, 5).join(', ')}`,
  )
}

/** That of the bridge, and those of bots that are there. */
async function formerNets(bridge: string, prefix: string): Promise<string[]> {
  const bots = numbersIn('/sys/class/net', prefix).map((number) => labelledAddress(`${prefix}${number}`))
  const ranges = [...(await addressesOf(bridge)), ...bots].flatMap((address) => findRange(address ?? '') ?? [])
  return ownNets.filter((net) => ranges.some((range) => overlaps(range, getRange(net))))
}

async function addressesOf(device: string): Promise<string[]> {
  const all = await lines(['ip', '-oneline', '-4', 'address', 'show', 'dev', device])
  return all.flatMap((line) => / inet ([\d.]+)/.exec(line)?.[1] ?? [])
}

async function listRoutes(): Promise<Route[]> {
  const all = await lines(['ip', '-oneline', '-4', 'route', 'show', 'table', 'all'])
  return all.flatMap((line) => parseRoute(line) ?? [])
}

function getRange(net: string): Range {
  const range = findRange(net)
  if (!range) throw new Error(`${net} is no net`)
  return range
}

function hasAnything({ device, namespace }: BotPlan): boolean {
  return existsSync(`/sys/class/net/${device}`) || existsSync(`${namespaceFolder}/${namespace}`)
}

function numbersIn(folder: string, prefix: string): number[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => name.startsWith(prefix))
  return names
    .map((name) => name.slice(prefix.length))
    .filter((rest) => /^\d+$/.test(rest))
    .map(Number)
}
