import type { FastifyInstance } from 'fastify'
import type { Credentials } from '../auth/credentials.ts'
import { OpenCallers } from '../auth/open-callers.ts'
import type { App } from '../context.ts'
import type { Pool } from '../db/pool.ts'
import type { DeploymentLogs } from '../deployments/logs.ts'
import type { Api } from '../http/endpoint.ts'
import { EventStreams } from '../http/stream.ts'
import type { Wakes } from '../jobs/wake.ts'
import { AppError } from '../lib/app-error.ts'
import type { Output } from '../servers/output.ts'
import type { Resources } from '../servers/resources.ts'
import { readCursor, writeCursor } from './cursor.ts'
import { LogFeeds, type LogSource } from './log-feed.ts'
import { ResourceFeed } from './resource-feed.ts'
import { StateFeed } from './state-feed.ts'
import { type Feeds, Subscription, startCursor } from './subscription.ts'
import { parseTopics, type Topic } from './topics.ts'

const streamsMax = 20

interface Sources {
  readonly server: FastifyInstance
  readonly credentials: Credentials
  readonly wakes: Wakes
  readonly output: Output
  readonly logs: DeploymentLogs
  readonly resources: Resources
}

/** One stream of events for everything that somebody looks at. */
export function streamRoutes(api: Api, app: App, { server, credentials, wakes, ...sources }: Sources): void {
  const streams = new EventStreams(server)
  const callers = new OpenCallers(app, credentials)
  const resources = new ResourceFeed(app, sources.resources)
  const feeds: Feeds = { logs: new LogFeeds(), states: new StateFeed(app, wakes), resources, log: app.log }
  const counts = new Map<string, number>()
  server.addHook('onClose', () => {
    callers.close()
    resources.close()
  })

  api.handle('openStream', async ({ caller, query, request, reply }) => {
    const topics = parseTopics(query.topics)
    const botIds = await getOwnedTopics(app.pool, caller.userId, topics)
    // From here on nothing waits, so that two requests cannot take the last place.
    const count = counts.get(caller.credential) ?? 0
    if (count >= streamsMax)
      throw new AppError('limit_reached', { detail: `${streamsMax} streams are open with this credential.` })
    const header = request.headers['last-event-id']
    const cursor = readCursor(typeof header === 'string' && header !== '' ? header : query.lastEventId)
    const wanted = topics.map((topic) => {
      const botId = 'id' in topic ? (botIds.get(topic.id) ?? '') : ''
      return { topic, botId, source: logSource(topic, botId) }
    })
    const start = startCursor(wanted, cursor, query.tail)
    const stream = streams.open(request, reply, writeCursor(start))
    const subscription = new Subscription(stream, feeds, start)
    const unwatch = callers.watch(caller, () => stream.finish())
    counts.set(caller.credential, count + 1)
    stream.once('close', () => {
      subscription.close()
      unwatch()
      const left = (counts.get(caller.credential) ?? 1) - 1
      if (left > 0) counts.set(caller.credential, left)
      else counts.delete(caller.credential)
    })
    for (const one of wanted) {
      if (one.topic.kind === 'me') subscription.addUser(caller.userId, { isResumed: cursor.has('me') })
      else subscription.add(one)
    }
    return stream
  })

  function logSource(topic: Topic, botId: string): LogSource | undefined {
    const { name } = topic
    const { output, logs } = sources
    if (topic.kind === 'logs')
      return {
        topic: name,
        read: (query) => output.read(botId, query),
        watch: (listener) => output.watch(botId, listener),
      }
    if (topic.kind !== 'deployment') return undefined
    const ref = { id: topic.id, bot_id: botId }
    return { topic: name, read: (query) => logs.read(ref, query), watch: (listener) => logs.watch(ref, listener) }
  }
}

/** The bot of each id. Somebody else's does not exist. */
async function getOwnedTopics(pool: Pool, userId: string, topics: readonly Topic[]): Promise<Map<string, string>> {
  const ids = [...new Set(topics.flatMap((topic) => ('id' in topic ? [topic.id] : [])))]
  if (ids.length === 0) return new Map()
  const rows = await pool.query<{ id: string; bot_id: string }>(
    `select id, id as bot_id from bots where user_id = $1 and id = any($2)
     union all
     select d.id, d.bot_id from deployments d join bots b on b.id = d.bot_id where b.user_id = $1 and d.id = any($2)`,
    [userId, ids],
  )
  const botIds = new Map(rows.map(({ id, bot_id }) => [id, bot_id]))
  for (const topic of topics) {
    if (!('id' in topic)) continue
    // `deployment:` with a bot's id is the topic of nothing.
    const isOther = (topic.kind === 'deployment') === (botIds.get(topic.id) === topic.id)
    if (!botIds.has(topic.id) || isOther) throw new AppError('not_found')
  }
  return botIds
}
