import { lines, readKernel, writeKernel } from './commands.ts'

const setting = (device: string, name = 'forwarding') => `/proc/sys/net/ipv4/conf/${device}/${name}`

/*
 * The kernel asks the device on which a packet comes in whether it may go on to another. A bot's packet comes in on the
 * bridge. The answer comes in on the uplink, where the masquerade is undone before the way is chosen, so it is no packet
 * for this machine any more. Hence both, and no other: `ip_forward` would be all devices. With the uplink open,
 * neighbours could use this machine as their router, so rules of ours drop what they send on through it: the uplink is
 * "guarded". Where somebody else has made this machine a router, that is theirs to guard, and nothing is changed.
 */

/** Which of the uplinks we open, and so have to guard; to be asked before they are opened. */
export async function findGuarded(uplinks: readonly string[]): Promise<string[]> {
  if (readKernel('/proc/sys/net/ipv4/ip_forward') === '1') return []
  const before = await guardedByAnyone()
  return uplinks.filter((name) => readKernel(setting(name)) === '0' || before.has(name))
}

/** The rules have to be there first. */
export function openForwarding(bridge: string, guarded: readonly string[]): void {
  writeKernel(setting(bridge, 'rp_filter'), '1')
  for (const name of [bridge, ...guarded]) writeKernel(setting(name), '1')
}

/** After our rules are gone. Leaves open what another server of ours still guards. */
export async function closeForwarding(guarded: readonly string[]): Promise<void> {
  const needed = await guardedByAnyone()
  for (const name of guarded) {
    if (!needed.has(name) && readKernel(setting(name)) !== undefined) writeKernel(setting(name), '0')
  }
}

/** What the tables of all our servers on this machine say; the kernel keeps it when we are killed. */
async function guardedByAnyone(): Promise<Set<string>> {
  const names = new Set<string>()
  for (const line of await lines(['nft', 'list', 'tables', 'inet'])) {
    const table = /^table inet (botberth_\w+)$/.exec(line)?.[1]
    if (table === undefined) continue
    for (const name of await readGuarded(table)) names.add(name)
  }
  return names
}

export async function readGuarded(table: string): Promise<string[]> {
  const set = await lines(['nft', 'list', 'set', 'inet', table, 'guarded']).catch(() => []) // gone meanwhile
  return [...set.join('\n').matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? '')
}
