import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { namespaceFolder } from './bot-network.ts'
import { lines, nft, readKernel, tryIp } from './commands.ts'
import { closeForwarding, readGuarded } from './forwarding.ts'
import { removeTables } from './rules.ts'

/*
 * A server that is killed leaves its networks to its bots, and the next one on the same data directory finds them. Where
 * that directory was deleted nobody comes back for them, and there are only so many nets for all servers of a machine. So
 * whose a bridge is stands beside it, as the path of a file that goes with the data directory.
 */

const label = (device: string) => `/sys/class/net/${device}/ifalias`
// The kernel's limit.
const labelBytesMax = 255

/** Without a label, as one whose path is too long for it, a bridge is never taken for left over. */
export function labelBridge(bridge: string, owner: string): void {
  const text = `botberth ${owner}`
  if (Buffer.byteLength(text) <= labelBytesMax && readKernel(label(bridge)) !== text) writeFileSync(label(bridge), text)
}

/** Networks of instances that are no more: nobody has their data directory, and nothing runs in them. */
export async function removeLeftovers(): Promise<void> {
  for (const bridge of readdirSync('/sys/class/net').filter(isLeftOver)) await removeOne(bridge.slice(2))
}

function isLeftOver(device: string): boolean {
  if (!/^bb[a-z0-9]{1,7}$/.test(device) || !existsSync(`/sys/class/net/${device}/bridge`)) return false
  const owner = /^botberth (\/.+)$/.exec(readKernel(label(device)) ?? '')?.[1]
  return owner !== undefined && !hasOwner(owner, device.slice(2)) && !isInhabited(device.slice(2))
}

function hasOwner(file: string, tag: string): boolean {
  try {
    return readFileSync(file, 'utf8').startsWith(`${tag} `)
  } catch (error) {
    // Whatever else keeps us from reading it, it may be there.
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}

function namespacesOf(tag: string): string[] {
  if (!existsSync(namespaceFolder)) return []
  return readdirSync(namespaceFolder).filter((name) => name.startsWith(`botberth-${tag}-`))
}

/** Whether a process is in one of its namespaces. Looks through all processes, so it is asked last. */
function isInhabited(tag: string): boolean {
  const inodes = new Set(
    namespacesOf(tag).map((name) => statSync(`${namespaceFolder}/${name}`, { throwIfNoEntry: false })?.ino),
  )
  if (inodes.size === 0) return false
  return readdirSync('/proc').some((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return inodes.has(Number(/\d+/.exec(readlinkSync(`/proc/${pid}/ns/net`))?.[0]))
    } catch {
      return false // it has ended
    }
  })
}

/** The rules go last, as always: while there is a way, there is a wall. */
async function removeOne(tag: string): Promise<void> {
  const devices = readdirSync('/sys/class/net').filter((name) => name.startsWith(`bb${tag}-`))
  const commands = [
    ...devices.map((name) => `link delete ${name}`),
    ...namespacesOf(tag).map((name) => `netns delete ${name}`),
  ]
  for (let at = 0; at < commands.length; at += 100) await tryIp(commands.slice(at, at + 100))
  await tryIp([`link delete bb${tag}`])
  const table = `botberth_${tag}`
  const tables = await lines(['nft', 'list', 'tables', 'inet'])
  const guarded = tables.includes(`table inet ${table}`) ? await readGuarded(table) : []
  await nft(removeTables(table))
  await closeForwarding(guarded)
}
