import type { Deployment } from '@botberth/sdk'
import { useQuery } from '@tanstack/react-query'
import { deploymentsQuery } from '../../queries.ts'

/** The one whose release the bot has: the newest that succeeded. Undefined: not known, or none. */
export function useCurrentDeployment(botId: string): Deployment | undefined {
  const { data, isPlaceholderData: isOfAnother } = useQuery(deploymentsQuery(botId, 1))
  return isOfAnother ? undefined : findCurrent(data?.data ?? [])
}

function findCurrent(newestFirst: readonly Deployment[]): Deployment | undefined {
  return newestFirst.find(({ status }) => status === 'succeeded')
}
