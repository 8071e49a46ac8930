import type { Deployment } from '@botberth/sdk'
import { useQuery } from '@tanstack/react-query'
import { deploymentsQuery } from '../../queries.ts'

/** The id of the one whose release the bot has: the newest that succeeded. Undefined: not known, or none. */
export function useCurrentDeployment(botId: string): string | undefined {
  const { data, isPlaceholderData: isOfAnother } = useQuery(deploymentsQuery(botId, 1))
  return isOfAnother ? undefined : findCurrent(data?.data ?? [])
}

function findCurrent(newestFirst: readonly Deployment[]): string | undefined {
  return newestFirst.find(({ status }) => status === 'succeeded')?.id
}
