import type { Resources } from '@botberth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { hub } from '../../live/hub.ts'
import { resourcesQuery } from '../../queries.ts'
import { queryClient } from '../../query-client.ts'

/** What a bot uses, every two seconds while it runs. */
export function useLiveResources(botId: string): Resources | undefined {
  const { data } = useQuery(resourcesQuery(botId))
  useEffect(
    () =>
      hub.watch(`bot:${botId}:resources`, {
        onEvent: (event) => {
          if (event.type !== 'resources') return
          const { type: _type, topic: _topic, ...resources } = event
          queryClient.setQueryData(resourcesQuery(botId).queryKey, resources)
        },
      }),
    [botId],
  )
  return data
}
