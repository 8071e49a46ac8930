import { lookup } from 'node:dns/promises'

// Machines without a way to the internet have their mirror of it on a private address.
const mirrors = await lookup('registry.npmjs.org', { all: true, family: 4 }).catch(() => [])

/** For a server's environment: what builds may reach beside the public internet. */
export function openTo(...nets: readonly string[]): Record<string, string> {
  const all = [...mirrors.map(({ address }) => `${address}/32:443`), ...nets]
  return all.length === 0 ? {} : { BOT_ALLOWED_NETS: all.join(',') }
}
