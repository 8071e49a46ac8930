import type { Bot } from '@botberth/sdk'

interface Wishes {
  readonly q?: string | undefined
  readonly state?: string | undefined
  readonly sort?: string | undefined
}

/** The bots that match, in the order that was asked for; newest first otherwise, as they come. */
export function selectBots<T extends Pick<Bot, 'name' | 'expiresAt' | 'server'>>(
  bots: readonly T[],
  { q = '', state, sort }: Wishes,
): T[] {
  const wanted = q.trim().toLowerCase()
  const found = bots.filter(
    ({ name, server }) => name.toLowerCase().includes(wanted) && (state === undefined || server.state === state),
  )
  if (sort === 'name') return found.toSorted((a, b) => a.name.localeCompare(b.name))
  if (sort === 'expiry') return found.toSorted((a, b) => a.expiresAt.localeCompare(b.expiresAt))
  return found
}
