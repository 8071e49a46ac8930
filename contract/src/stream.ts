import Type from 'typebox'
import { endpoint } from './endpoint.ts'

export const stream = {
  openStream: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/stream',
    access: 'caller',
    tag: 'Servers',
    summary: 'Logs, states, deployments and resources as they happen, in one stream of server-sent events',
    description:
      'The `data` of every event is one JSON object with the `topic` that it belongs to. `logs`: `lines` as in the logs of a server or a deployment. `state`: `botId` and `server` with `identifier`, `state` and `restartAt`. `resources`: as in the resources of a server. `deployment`: `deployment` as a deployment is answered. `gap`: the lines before `firstSeq` are no longer kept. `gone`: the topic has ended because its bot was deleted.',
    query: Type.Object({
      topics: Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'Up to 50, separated by commas: `bot:ID:logs`, `bot:ID:state`, `bot:ID:resources`, `deployment:ID`, `me` (every state and deployment of yours).',
        'x-takes': 'up to 50 topics, separated by commas',
      }),
      tail: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: 'How many lines of each log to begin with; otherwise logs begin with the next line.',
          'x-takes': 'a whole number from 1 to 1000',
        }),
      ),
      lastEventId: Type.Optional(
        Type.String({
          maxLength: 8192,
          description: 'The `id` of the last event that was received, if it cannot be sent as `Last-Event-ID`.',
        }),
      ),
    }),
    streams: true,
    answers: { 200: Type.String({ description: 'Events without end.' }) },
    errors: ['not_found', 'limit_reached'],
  }),
}
