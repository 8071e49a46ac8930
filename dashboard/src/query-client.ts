import type { Bot, StreamEvent } from '@botberth/sdk'
import { BotberthError } from '@botberth/sdk'
import { QueryCache, QueryClient, type QueryKey } from '@tanstack/react-query'
import { isSignedOut } from './api.ts'
import { askAgain } from './ask-again.ts'
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

/** The stream tells nothing of these: they do not change while one looks, or are asked for again now and then. */
const unfollowed = new Set<unknown>(['templates', 'file', 'history', 'crashes', 'backups', 'deliveries'])

/** What the stream tells goes straight into what is shown. */
export function followStream(): () => void {
  let isFirst = true
  return hub.watch(undefined, {
    onEvent: noteEvent,
    onCatchUp: () => {
      // What was just loaded is fresh.
      if (!isFirst) void queryClient.invalidateQueries({ predicate: ({ queryKey }) => !unfollowed.has(queryKey[0]) })
      isFirst = false
    },
  })
}

function noteEvent(event: StreamEvent): void {
  if (event.type === 'state') changeBot(event.botId, (bot) => ({ ...bot, server: event.server as Bot['server'] }))
  if (event.type === 'gone') void askAgain(queryClient, { queryKey: botsQuery.queryKey })
  if (event.type !== 'deployment') return
  const { deployment } = event
  const { id, status, createdAt, botId } = deployment
  queryClient.setQueryData(deploymentQuery(id).queryKey, deployment)
  checkAnswer(deploymentQuery(id).queryKey)
  changeBot(botId, (bot) => {
    const isNewer = !bot.lastDeployment || bot.lastDeployment.createdAt <= createdAt
    return isNewer ? { ...bot, lastDeployment: { id, status, createdAt } } : bot
  })
  void askAgain(queryClient, { queryKey: ['deployments', botId] })
  if (deployment.finishedAt !== null) void askAgain(queryClient, { queryKey: botQuery(botId).queryKey })
}

function changeBot(id: string, change: (bot: Bot) => Bot): void {
  queryClient.setQueryData(botQuery(id).queryKey, (bot) => bot && change(bot))
  queryClient.setQueryData(botsQuery.queryKey, (bots) => bots?.map((bot) => (bot.id === id ? change(bot) : bot)))
  checkAnswer(botQuery(id).queryKey)
  checkAnswer(botsQuery.queryKey)
}

/** One that is on its way may be older than what was just told, and would take its place for good. */
function checkAnswer(queryKey: QueryKey): void {
  const filters = { queryKey, exact: true }
  if (queryClient.isFetching(filters) > 0) void askAgain(queryClient, filters)
}
