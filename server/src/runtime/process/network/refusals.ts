import { lines } from './commands.ts'

/** A connection that a bot was not given. */
export interface RefusedConnection {
  /** The bot's. */
  readonly from: string
  readonly to: string
  readonly port: number
}

interface Listing {
  readonly nftables: readonly { readonly set?: { readonly elem?: readonly Element[] } }[]
}

interface Element {
  readonly elem?: { readonly val?: { readonly concat?: readonly [string, string, number] } }
}

/** The first of each bot in the last while: one command for all of them. */
export async function readRefused(table: string): Promise<RefusedConnection[]> {
  const listing = JSON.parse((await lines(['nft', '-j', 'list', 'set', 'inet', table, 'refused'])).join('')) as Listing
  const elements = listing.nftables.flatMap(({ set }) => set?.elem ?? [])
  return elements.flatMap(({ elem }) => {
    const [from, to, port] = elem?.val?.concat ?? []
    return from === undefined || to === undefined || port === undefined ? [] : [{ from, to, port }]
  })
}
