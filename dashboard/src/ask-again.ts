import type { QueryClient, QueryKey } from '@tanstack/react-query'

interface Filters {
  readonly queryKey: QueryKey
  readonly exact?: boolean
}

/**
 * Asks for what has changed. An answer that is on its way may be older than the change and would stand for good: it is not
 * waited for, not even the first one, to which `invalidateQueries` alone would hold on.
 */
export async function askAgain(client: QueryClient, filters: Filters): Promise<void> {
  await client.cancelQueries(filters)
  await client.invalidateQueries(filters)
}
