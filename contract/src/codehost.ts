import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { Input, List, Nullable, OneOf, Time } from './schema.ts'

// What JavaScript can count.
const id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, 'x-takes': 'a whole number from 1' })
const repoFullName = Type.String({
  pattern: '^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$',
  description: '`<owner>/<repository>`',
  'x-takes': 'an owner and a repository, with a slash between them',
})

const Installation = Type.Object({
  id: Type.Integer(),
  account: Type.Object({
    login: Type.String(),
    type: Type.String({ description: '`User`, `Organization` or `Enterprise`.' }),
    avatarUrl: Nullable(Type.String()),
  }),
  repositorySelection: OneOf(['all', 'selected']),
  createdAt: Time('When the app was installed.'),
})

const Repository = Type.Object({
  id: Type.Integer(),
  fullName: Type.String(),
  private: Type.Boolean(),
  defaultBranch: Type.String(),
  url: Type.String({ description: 'Its page.' }),
  pushedAt: Nullable(Time('When somebody last pushed to it; null: never.')),
})

const tag = 'Code host'
const platform = ['platform_failed', 'platform_timeout'] as const

export const codehost = {
  listInstallations: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/codehost/installations',
    access: 'caller',
    tag,
    summary: 'Where our app is installed on the code host and you may use it',
    answers: {
      200: Type.Object({
        data: Type.Array(Installation),
        connected: Type.Boolean({ description: 'False: connect your account first.' }),
        installUrl: Nullable(
          Type.String({
            description:
              'Where to install the app on more repositories; null: no code host is set up, or it cannot be asked.',
          }),
        ),
      }),
    },
    errors: platform,
  }),
  listRepositories: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/codehost/installations/{id}/repos',
    access: 'caller',
    tag,
    summary: 'All repositories of an installation that you may use',
    params: Type.Object({ id: Type.String({ pattern: '^[1-9][0-9]{0,15}$' }) }),
    answers: { 200: List(Repository) },
    errors: platform,
  }),
  connectRepo: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/codehost/connect-repo',
    access: 'caller',
    tag,
    summary: 'Link a bot to a repository, from which it is deployed from then on',
    description:
      'A bot of any type. The code host is asked whether installation and repository are yours. With `autoDeployEnabled` each push to the branch (`gitBranch` of the bot, or the default one) is deployed.',
    body: Input({ installationId: id, repoFullName, repoId: id, botId: Type.String() }),
    answers: {
      200: Type.Object({
        botId: Type.String(),
        installationId: Type.Integer(),
        repoId: Type.Integer(),
        repoFullName: Type.String(),
        branch: Type.String({ description: 'Whose pushes are deployed.' }),
        connectedAt: Time('When it was linked.'),
      }),
    },
    errors: ['not_found', 'codehost_not_connected', ...platform],
  }),
  disconnectRepo: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/bots/{id}/repo',
    access: 'caller',
    tag,
    summary: 'End the link between a bot and its repository',
    description: 'What runs goes on running. The next deployment is made from what the bot had before it was linked.',
    params: Type.Object({ id: Type.String() }),
    answers: { 200: Type.Object({ botId: Type.String(), disconnected: Type.Literal(true) }) },
  }),
  receiveCodehostEvent: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/codehost/events',
    access: 'signed',
    tag,
    summary: 'Where the code host tells of pushes and of changes to installations',
    description:
      'Signed in `X-Hub-Signature-256`. A delivery that has come before (`X-GitHub-Delivery`) is answered alike, and nothing is done again.',
    rawBody: { bytesMax: 25 * 1024 * 1024, types: ['application/json'] },
    answers: { 202: Type.Object({ accepted: Type.Boolean({ description: 'False: it had come before.' }) }) },
    errors: ['invalid_json', 'validation_failed', 'signature_invalid'],
  }),
  getCodehostStatus: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/auth/codehost/status',
    access: 'caller',
    tag,
    summary: 'Whether your account on the code host is connected, and which one',
    answers: {
      200: Type.Object({
        connected: Type.Boolean(),
        login: Nullable(Type.String()),
        avatarUrl: Nullable(Type.String()),
        connectedAt: Nullable(Time('When it was connected.')),
      }),
    },
  }),
  connectCodehost: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/auth/codehost/connect',
    access: 'navigation',
    tag,
    summary: 'Connect your account on the code host (for browsers)',
    query: Type.Object({
      returnTo: Type.Optional(
        Type.String({ maxLength: 2048, description: 'A path of this server to go to afterwards.' }),
      ),
      login_hint: Type.Optional(
        Type.String({ maxLength: 100, description: 'The account that the code host suggests.' }),
      ),
      prompt: Type.Optional(OneOf(['none', 'consent', 'select_account'])),
    }),
    answers: { 302: Type.Null() },
    errors: ['codehost_not_configured'],
  }),
  finishCodehostConnect: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/auth/codehost/callback',
    access: 'open',
    tag,
    summary: 'Where the code host sends the browser back to',
    query: Type.Object({
      code: Type.Optional(Type.String({ maxLength: 2048 })),
      state: Type.Optional(Type.String({ maxLength: 200 })),
      error: Type.Optional(Type.String({ maxLength: 200 })),
    }),
    answers: { 302: Type.Null() },
    errors: ['account_suspended', 'invalid_state', 'codehost_not_configured', ...platform],
  }),
  disconnectCodehost: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/auth/codehost/disconnect',
    access: 'caller',
    tag,
    summary: 'Disconnect your account on the code host',
    description:
      'Its tokens are erased. Bots keep running and stay linked; pushes no longer deploy them (`autoDeployEnabled` becomes false).',
    answers: { 200: Type.Object({ disconnected: Type.Literal(true) }) },
  }),
}
