import { findProgram } from '../toolchain.ts'
import { execute, lines, readKernel } from './commands.ts'

interface Obstacle {
  readonly problem: string
  readonly remedy: string
}

interface Chain {
  readonly family: string
  readonly table: string
  readonly name: string
  readonly hook?: string
  readonly policy?: string
}

/**
 * Another firewall that lets nothing through that it does not know, as Docker's and ufw's do. A packet has to please
 * all tables, so no rule of ours helps; and we do not write into others' tables, because their owners rewrite them.
 */
export async function findObstacle(bridge: string): Promise<Obstacle | undefined> {
  const { nftables } = JSON.parse(await execute(['nft', '-j', 'list', 'chains'])) as {
    nftables: readonly { chain?: Chain }[]
  }
  for (const { chain } of nftables) {
    if (chain?.hook !== 'forward' || chain.policy !== 'drop' || !['ip', 'inet'].includes(chain.family)) continue
    const where = [chain.family, chain.table]
    if ((await lines(['nft', 'list', 'table', ...where])).some((line) => line.includes(`"${bridge}"`))) continue
    const isDocker = nftables.some((other) => other.chain?.name === 'DOCKER-USER')
    const isIptables = chain.name === 'FORWARD'
    const rule = `nft insert rule ${where.join(' ')} ${chain.name}`
    return {
      problem: `bots cannot get out: the firewall's chain ${[...where, chain.name].join(' ')} drops what it does not know`,
      remedy: isIptables
        ? iptablesRemedy('iptables', isDocker ? 'DOCKER-USER' : 'FORWARD', bridge)
        : `${rule} iifname ${bridge} accept && ${rule} oifname ${bridge} accept`,
    }
  }
  return findLegacyObstacle(bridge)
}

/** The old kind of iptables, which nft does not see. */
async function findLegacyObstacle(bridge: string): Promise<Obstacle | undefined> {
  const tables = readKernel('/proc/net/ip_tables_names')?.split('\n') ?? []
  if (!tables.includes('filter') || findProgram('iptables-legacy') === undefined) return undefined
  const rules = await lines(['iptables-legacy', '-S'])
  if (!rules.includes('-P FORWARD DROP') || rules.some((rule) => rule.includes(` ${bridge} `))) return undefined
  return {
    problem: "bots cannot get out: the firewall's chain FORWARD drops what it does not know",
    remedy: iptablesRemedy('iptables-legacy', rules.includes('-N DOCKER-USER') ? 'DOCKER-USER' : 'FORWARD', bridge),
  }
}

function iptablesRemedy(program: string, chain: string, bridge: string): string {
  return `${program} -I ${chain} -i ${bridge} -j ACCEPT && ${program} -I ${chain} -o ${bridge} -j ACCEPT`
}
