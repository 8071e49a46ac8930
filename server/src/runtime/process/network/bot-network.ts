import { readlinkSync, statSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { execute, nft, readKernel, tryIp } from './commands.ts'
import { addBot, type BotAddress, removeBot } from './rules.ts'

/** One bot's cable and namespace, all of it known from its number. */
export interface BotPlan extends BotAddress {
  readonly namespace: string
  readonly bridge: string
  readonly table: string
  readonly gateway: string
  /** Of the bot's end. Always the same, so that no neighbour remembers a wrong one when it is made anew. */
  readonly hardware: string
  readonly megabitsMax: number
}

/** So much of what the cap lets through may come at once: an installation, after which a bot is quiet. */
export const downloadSeconds = 5
// The kernel hands some of it over as one packet.
const uploadSeconds = 0.02
const queueSeconds = 0.07

const device = (name: string, file: string) => `/sys/class/net/${name}/${file}`
export const namespaceFolder = '/run/netns'
const namespacePath = ({ namespace }: BotPlan) => `${namespaceFolder}/${namespace}`

/** `capped`: all is well but the cap, which was another when it was made. */
export type BotState = 'whole' | 'capped' | 'broken'

/** Reads a few small files; no process. */
export function look(plan: BotPlan): BotState {
  const label = readKernel(device(plan.device, 'ifalias'))
  const inode = namespaceInode(plan)
  if (label === undefined || inode === undefined || !isPlugged(plan)) return 'broken'
  if (readKernel(device(plan.device, 'operstate')) !== 'up') return 'broken'
  if (label === labelOf(plan, inode)) return 'whole'
  return withoutCap(label) === withoutCap(labelOf(plan, inode)) ? 'capped' : 'broken'
}

/** Whether it hangs on the bridge, and apart from all others. */
export function isPlugged(plan: BotPlan): boolean {
  try {
    return (
      basename(readlinkSync(device(plan.device, 'master'))) === plan.bridge &&
      readKernel(device(plan.device, 'brport/isolated')) === '1'
    )
  } catch {
    return false // no such device, or no bridge above it
  }
}

/** Moves one that lives to a bridge that was made anew. Down meanwhile: never a port that is not isolated. */
export function plugCommands(plan: BotPlan): string[] {
  const link = `link set dev ${plan.device}`
  return [`${link} down`, `${link} master ${plan.bridge}`, `${link} type bridge_slave isolated on`, `${link} up`]
}

// What is the same for all bots is a fixed text; it runs inside the new namespace. No IPv6 there, because nothing of ours
// would filter it, and no redirects, because a bot that takes one waits for a neighbour that never answers.
const settle = `
cd /proc/sys/net
for name in all default; do
  [ ! -d ipv6 ] || echo 1 >ipv6/conf/$name/disable_ipv6
  echo 0 >ipv4/conf/$name/accept_redirects
done
echo 0 >ipv4/conf/eth0/accept_redirects
ip -batch - || exit
[ -z "$1" ] || exec tc qdisc replace dev eth0 root $1`

// The host's tc lists all devices before it does anything, so it is the one step that takes longer the more bots there
// are. It runs beside the others.
const make = `
set -e
settle=$1 namespace=$2 device=$3 outside=$4 inside=$5 rule=$6 down=$7 up=$8
printf '%s\\n' "$outside" | ip -batch -
if [ -z "$down" ]; then cap=; else tc qdisc replace dev "$device" root $down & cap=$!; fi
printf '%s' "$rule" | nft -f - &
rule=$!
printf '%s\\n' "$inside" | nsenter --net="$namespace" sh -c "$settle" sh "$up"
wait "$rule"
[ -z "$cap" ] || wait "$cap"`

/** From nothing. Killed or failed half-way it has no label, and what there is of it is seen as broken. */
export async function create(plan: BotPlan): Promise<void> {
  const outside = [
    `netns add ${plan.namespace}`,
    `link add name ${plan.device} type veth peer name eth0 address ${plan.hardware} netns ${plan.namespace}`,
    `link set dev ${plan.device} addrgenmode none`,
    ...plugCommands(plan),
  ]
  // With no net of its own it sends everything to the gateway, also what is for another bot, and is refused there at
  // once. It would wait for seconds for a neighbour that cannot hear it.
  const inside = [
    'link set dev lo up',
    `address add ${plan.address}/32 dev eth0`,
    'link set dev eth0 up',
    `route add ${plan.gateway} dev eth0 scope link`,
    `route add default via ${plan.gateway} dev eth0`,
  ]
  const cap = plan.megabitsMax === 0 ? ['', ''] : capsOf(plan)
  const texts = [settle, namespacePath(plan), plan.device, outside.join('\n'), inside.join('\n')]
  await execute(['sh', '-c', make, 'sh', ...texts, addBot(plan.table, plan), ...cap])
  label(plan)
}

const recap = `
set -e
namespace=$1 device=$2 down=$3 up=$4
tc qdisc replace dev "$device" root $down
exec nsenter --net="$namespace" tc qdisc replace dev eth0 root $up`

/** Gives one that lives another cap. */
export async function changeCap(plan: BotPlan): Promise<void> {
  await execute(['sh', '-c', recap, 'sh', namespacePath(plan), plan.device, ...capsOf(plan)])
  label(plan)
}

/** Whatever there is of it. Processes that still run inside keep a namespace without a name and without a cable. */
export async function removeAll(plans: readonly BotPlan[]): Promise<void> {
  await tryIp(plans.flatMap((plan) => [`link delete ${plan.device}`, `netns delete ${plan.namespace}`]))
  const left = plans.find((plan) => readKernel(device(plan.device, 'ifindex')) || statOf(namespacePath(plan)))
  if (left) throw new Error(`the network of a bot cannot be removed: ${left.namespace}`)
}

export async function removeRule(plan: BotPlan): Promise<void> {
  await nft(removeBot(plan.table, plan))
}

/** Words for tc, down and up. What may come at once needs no queue, and what waits in one is late, and memory. */
function capsOf({ megabitsMax }: BotPlan): [down: string, up: string] {
  if (megabitsMax === 0) return ['noqueue', 'noqueue']
  const bytes = (seconds: number) => Math.max(128 * 1024, Math.round(megabitsMax * 125_000 * seconds))
  const cap = (seconds: number) =>
    `tbf rate ${Math.round(megabitsMax * 1_000_000)}bit burst ${bytes(seconds)}b limit ${bytes(queueSeconds)}b`
  return [cap(downloadSeconds), cap(uploadSeconds)]
}

/** The last step: who has it is whole, and made for this address, this cap and this very namespace. */
function label(plan: BotPlan): void {
  writeFileSync(device(plan.device, 'ifalias'), labelOf(plan, namespaceInode(plan) ?? 0))
}

function labelOf({ address, megabitsMax }: BotPlan, inode: number): string {
  return `botberth ${address} ${inode} ${megabitsMax}+${downloadSeconds}+${queueSeconds}`
}

function withoutCap(text: string): string {
  return text.slice(0, text.lastIndexOf(' '))
}

/** The address that one got when it was made. */
export function labelledAddress(name: string): string | undefined {
  return /^botberth (\S+) /.exec(readKernel(device(name, 'ifalias')) ?? '')?.[1]
}

/** Undefined also for the empty file that is left of a namespace when its making is interrupted. */
function namespaceInode(plan: BotPlan): number | undefined {
  const found = statOf(namespacePath(plan))
  return found?.dev === statOf('/proc/self/ns/net')?.dev ? found?.ino : undefined
}

function statOf(path: string) {
  return statSync(path, { throwIfNoEntry: false })
}

export function readCounters(name: string): { rxBytes: number; txBytes: number } | undefined {
  // What the host's end sends is what the bot receives.
  const rx = readKernel(device(name, 'statistics/tx_bytes'))
  const tx = readKernel(device(name, 'statistics/rx_bytes'))
  return rx === undefined || tx === undefined ? undefined : { rxBytes: Number(rx), txBytes: Number(tx) }
}
