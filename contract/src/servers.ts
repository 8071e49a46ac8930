import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { LogLines, LogsQuery } from './logs.ts'
import { Deleted, Input, List, Nullable, OneOf, Time } from './schema.ts'

export const serverState = OneOf(['offline', 'starting', 'running', 'stopping', 'crashed'])

const params = Type.Object({ identifier: Type.String({ description: 'Of the server, or the id of its bot.' }) })
const tag = 'Servers'

const power = { identifier: Type.String(), state: serverState }

export const Resources = Type.Object({
  identifier: Type.String(),
  state: serverState,
  cpuPercent: Type.Number({ description: '100 is one core.' }),
  memoryBytes: Type.Integer(),
  memoryLimitBytes: Type.Integer(),
  diskBytes: Type.Integer(),
  diskLimitBytes: Type.Integer(),
  networkRxBytes: Type.Integer(),
  networkTxBytes: Type.Integer(),
  processes: Type.Integer(),
  uptimeMs: Type.Integer(),
  restarts: Type.Integer({ description: 'Since it was last started by hand or deployed.' }),
  restartAt: Nullable(Time('When a crashed server is started again; null: not by itself.')),
  lastExit: Nullable(
    Type.Object({
      code: Nullable(Type.Integer()),
      signal: Nullable(Type.String()),
      oomKilled: Type.Boolean({ description: 'Whether it ran out of memory.' }),
      diskFull: Type.Optional(Type.Boolean({ description: 'Whether it was stopped because its disk is full.' })),
      at: Time('When it ended.'),
    }),
  ),
  sampledAt: Time('When the numbers were taken.'),
})

const key = Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$', 'x-takes': 'letters, digits and _, up to 128' })
const value = Type.String({ maxLength: 32_768, pattern: '^[^\\u0000]*$', 'x-takes': 'up to 32 KiB, without NUL' })
const secret = Type.Boolean({ description: 'Never answered again. As it was unless given; false at first.' })

const Variable = Type.Object({
  key: Type.String(),
  value: Nullable(Type.String({ description: 'Null if it is secret.' })),
  secret: Type.Boolean(),
  updatedAt: Time('When it was last set.'),
})

const Startup = Type.Object({
  startCommand: Nullable(Type.String({ description: 'Null: found from the project.' })),
  variables: Type.Array(Variable),
})

export const servers = {
  setPower: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/servers/{identifier}/power',
    access: 'caller',
    tag,
    summary: 'Start, stop or restart a server',
    description:
      'To ask twice is to ask once. A server that was never deployed is deployed by `start` and `restart`. `stop` sends SIGTERM and, after 10 seconds, SIGKILL.',
    params,
    body: Input({ signal: OneOf(['start', 'stop', 'restart']) }),
    answers: { 202: Type.Object({ ...power, signal: OneOf(['start', 'stop', 'restart']) }) },
    errors: ['bot_expired'],
  }),
  killServer: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/servers/{identifier}/kill',
    access: 'caller',
    tag,
    summary: 'Stop a server at once, without letting it finish',
    params,
    answers: { 202: Type.Object({ ...power, signal: OneOf(['kill']) }) },
  }),
  getResources: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/servers/{identifier}/resources',
    access: 'caller',
    tag,
    summary: 'What a server uses right now',
    params,
    answers: { 200: Resources },
  }),
  listResourceHistory: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/servers/{identifier}/resources/history',
    access: 'caller',
    tag,
    summary: 'What a server used, by the minute, oldest first',
    description: 'Kept for 7 days; of what is older than a day, one minute of ten.',
    params,
    query: Type.Object({
      minutes: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 10_080, default: 60, 'x-takes': 'a whole number from 1 to 10080' }),
      ),
    }),
    answers: {
      200: List(
        Type.Object({
          at: Time('The minute.'),
          cpuPercent: Type.Number(),
          memoryBytes: Type.Integer(),
          networkRxBytes: Type.Integer(),
          networkTxBytes: Type.Integer(),
          diskBytes: Nullable(Type.Integer({ description: 'Null: it was not looked at.' })),
        }),
      ),
    },
  }),
  readServerLogs: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/servers/{identifier}/logs',
    access: 'caller',
    tag,
    summary: 'What a server wrote',
    description: 'Kept over restarts and deployments; the oldest lines go first.',
    params,
    query: LogsQuery,
    answers: { 200: LogLines },
  }),
  getStartup: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/servers/{identifier}/startup',
    access: 'caller',
    tag,
    summary: 'The start command and the environment variables',
    params,
    answers: { 200: Startup },
  }),
  setStartup: endpoint({
    api: 'hosting',
    method: 'PUT',
    path: '/servers/{identifier}/startup',
    access: 'caller',
    tag,
    summary: 'Replace all environment variables at once',
    description: 'A secret one that is sent without a value keeps the value it has.',
    params,
    body: Input({
      variables: Type.Array(Input({ key, value: Type.Optional(value), secret: Type.Optional(secret) }), {
        maxItems: 256,
      }),
    }),
    answers: { 200: Type.Object({ ...Startup.properties, restartRequired: Type.Boolean() }) },
    errors: ['limit_reached'],
  }),
  setVariable: endpoint({
    api: 'hosting',
    method: 'PUT',
    path: '/servers/{identifier}/startup/variable',
    access: 'caller',
    tag,
    summary: 'Create or replace an environment variable',
    description: 'The bot sees exactly these bytes from its next start on.',
    params,
    body: Input({ key, value, secret: Type.Optional(secret) }),
    answers: {
      200: Type.Object({
        key: Type.String(),
        value: Nullable(Type.String({ description: 'Null if it is secret.' })),
        updatedAt: Time('When it was set.'),
        restartRequired: Type.Boolean({ description: 'Whether the running bot still has the old one.' }),
      }),
    },
    errors: ['limit_reached'],
  }),
  deleteVariable: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/servers/{identifier}/startup/variable/{key}',
    access: 'caller',
    tag,
    summary: 'Remove an environment variable',
    params: Type.Object({ ...params.properties, key: Type.String() }),
    answers: { 200: Deleted },
  }),
}
