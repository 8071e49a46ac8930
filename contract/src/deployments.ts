import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { LogLines, LogsQuery } from './logs.ts'
import { Input, List, Nullable, OneOf, Page, PageQuery, Time } from './schema.ts'

export const Deployment = Type.Object({
  id: Type.String(),
  botId: Type.String(),
  source: Type.String({ description: 'Who asked for it, in a short word.' }),
  status: OneOf([
    'queued',
    'fetching',
    'installing',
    'building',
    'starting',
    'succeeded',
    'failed',
    'canceled',
    'superseded',
  ]),
  branch: Nullable(Type.String()),
  commitSha: Nullable(Type.String()),
  commitMsg: Nullable(Type.String()),
  rollbackOf: Nullable(
    Type.String({ description: 'The deployment whose release it started again; null: it built one.' }),
  ),
  error: Nullable(
    Type.Object({
      code: Type.String({ description: 'Stable, in snake_case.' }),
      message: Type.String(),
      lastLog: Type.String({ description: 'The last lines of the log, at most 8 KiB.' }),
    }),
  ),
  steps: Type.Array(
    Type.Object({
      name: OneOf(['fetching', 'installing', 'building', 'starting']),
      status: OneOf(['running', 'waiting', 'succeeded', 'failed', 'canceled', 'skipped']),
      startedAt: Time('When the step began.'),
      durationMs: Nullable(Type.Integer()),
    }),
  ),
  createdAt: Time('When it was asked for.'),
  startedAt: Nullable(Time('When its turn came.')),
  finishedAt: Nullable(Time('When it ended.')),
  durationMs: Nullable(Type.Integer({ description: 'From its turn to its end.' })),
})

export const VariableChange = Type.Object({
  key: Type.String(),
  change: OneOf(['added', 'changed', 'removed']),
})

const params = Type.Object({ id: Type.String() })
const tag = 'Deployments'

const source = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$',
  default: 'api',
  description: 'Who asks, in a short word; answered as sent.',
  'x-takes': '1 to 64 characters, no control characters',
})

export const deployments = {
  createDeployment: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/deployments',
    access: 'caller',
    tag,
    summary: 'Deploy a bot',
    description:
      'Builds a release beside the running one, then swaps them. Deployments of one bot run one after the other, in the order in which they were asked for.',
    creates: 'record',
    body: Input({ botId: Type.String(), source: Type.Optional(source) }),
    answers: { 202: Deployment },
    errors: ['not_found', 'bot_expired', 'limit_reached'],
  }),
  listDeployments: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/bots/{id}/deployments',
    access: 'caller',
    tag,
    summary: 'The deployments of a bot, newest first',
    params,
    query: PageQuery,
    answers: { 200: Page(Deployment) },
  }),
  getDeployment: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/deployments/{id}',
    access: 'caller',
    tag,
    summary: 'One deployment',
    params,
    answers: { 200: Deployment },
  }),
  readDeploymentLogs: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/deployments/{id}/logs',
    access: 'caller',
    tag,
    summary: 'The log of a deployment',
    params,
    query: LogsQuery,
    answers: { 200: LogLines },
  }),
  listVariableChanges: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/deployments/{id}/variables',
    access: 'caller',
    tag,
    summary: 'What became of the variables since a deployment was started',
    description: 'A rollback starts with the variables as they are now. A value that was set again counts as changed.',
    params,
    answers: { 200: List(VariableChange) },
    errors: ['invalid_state'],
  }),
  cancelDeployment: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/deployments/{id}/cancel',
    access: 'caller',
    tag,
    summary: 'Cancel a deployment that waits or is being built',
    description: 'Once the new release is being started it is too late. Canceling a canceled one changes nothing.',
    params,
    answers: { 202: Deployment },
    errors: ['invalid_state'],
  }),
  rollBack: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/bots/{id}/rollback',
    access: 'caller',
    tag,
    summary: 'Start the release of an earlier deployment again',
    description: 'Nothing is built. The last five releases of a bot are kept.',
    params,
    body: Input({ deploymentId: Type.String(), source: Type.Optional(source) }),
    answers: { 202: Deployment },
    errors: ['bot_expired', 'invalid_state', 'limit_reached'],
  }),
}
