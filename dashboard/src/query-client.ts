import type { Bot, StreamEvent } from '@botberth/sdk'
import { BotberthError } from '@botberth/sdk'
import { QueryCache, QueryClient } from '@tanstack/react-query'
import { isSignedOut } from './api.ts'
import { hub } from './live/hub.ts'
import { botQuery, botsQuery, deploymentQuery, meQuery } from './queries.ts'
import { renewSession } from './session.ts'

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      // Who has never been signed in is sent to sign in; who was is asked to do so again.
      const wasSignedIn = queryClient.getQueryData(meQuery.queryKey) !== undefined
      if (!isSignedOut(error) || !wasSignedIn) return
      void renewSession().then(() => queryClient.refetchQueries({ queryKey: query.queryKey }))
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The SDK has tried again where that helps.
      retry: (count, error) => count < 1 && !(error instanceof BotberthError),
      refetchOnWindowFocus: true,
    },
  },
})

/** What the stream tells goes straight into what is shown. */
export function followStream(): () => void {
  let isFirst = true
  return hub.watch(undefined, {
    onEvent: noteEvent,
    onCatchUp: () => {
      // What was just loaded is fresh.
      if (!isFirst) void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'templates' })
      isFirst = false
    },
  })
}

function noteEvent(event: StreamEvent): void {
  if (event.type === 'state') changeBot(event.botId, (bot) => ({ ...bot, server: event.server as Bot['server'] }))
  if (event.type === 'gone') void queryClient.invalidateQueries({ queryKey: botsQuery.queryKey })
  if (event.type !== 'deployment') return
  const { deployment } = event
  const { id, status, createdAt, botId } = deployment
  queryClient.setQueryData(deploymentQuery(id).queryKey, deployment)
  changeBot(botId, (bot) => {
    const isNewer = !bot.lastDeployment || bot.lastDeployment.createdAt <= createdAt
    return isNewer ? { ...bot, lastDeployment: { id, status, createdAt } } : bot
  })
  void queryClient.invalidateQueries({ queryKey: ['deployments', botId] })
  if (deployment.finishedAt !== null) void queryClient.invalidateQueries({ queryKey: botQuery(botId).queryKey })
}

function changeBot(id: string, change: (bot: Bot) => Bot): void {
  queryClient.setQueryData(botQuery(id).queryKey, (bot) => bot && change(bot))
  queryClient.setQueryData(botsQuery.queryKey, (bots) => bots?.map((bot) => (bot.id === id ? change(bot) : bot)))
  // An answer that is on its way may be older than this, and would take its place for good.
  for (const { queryKey } of [botQuery(id), botsQuery])
    if (queryClient.isFetching({ queryKey, exact: true }) > 0)
      void queryClient.invalidateQueries({ queryKey, exact: true })
}
