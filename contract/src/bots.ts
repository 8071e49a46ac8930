import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { Deleted, Input, List, Name, Nullable, OneOf, Page, PageQuery, Time } from './schema.ts'
import { serverState } from './servers.ts'

const limitFields = {
  memoryMb: Type.Integer({ minimum: 16, description: 'Memory in MB.' }),
  cpus: Type.Number({
    exclusiveMinimum: 0,
    description: 'CPU cores; 0.5 is half of one. While it starts, a bot may take up to two.',
  }),
  diskMb: Type.Integer({ minimum: 16, description: 'Disk in MB.' }),
}

export const Bot = Type.Object({
  id: Type.String(),
  name: Type.String(),
  type: OneOf(['custom', 'git', 'marketplace']),
  language: Nullable(Type.String({ description: 'As it was sent; null: found from the files.' })),
  status: OneOf(['new', 'active', 'expired'], { description: '`new`: never deployed.' }),
  identifier: Type.String({ description: 'Of its server.' }),
  gitUrl: Nullable(Type.String()),
  gitBranch: Nullable(Type.String()),
  autoDeployEnabled: Type.Boolean(),
  templateId: Nullable(Type.String()),
  repo: Nullable(
    Type.Object({
      installationId: Type.Integer(),
      repoId: Type.Integer(),
      fullName: Type.String(),
      problem: Nullable(
        OneOf(['suspended', 'removed', 'deleted', 'transferred'], {
          description:
            'Why it cannot be deployed from: the installation is suspended, or no longer holds the repository, which may be gone or somebody else’s. Null: all is well.',
        }),
      ),
    }),
  ),
  server: Type.Object({
    identifier: Type.String(),
    state: serverState,
    restartAt: Nullable(Time('When a crashed server is started again; null: not by itself.')),
  }),
  lastDeployment: Nullable(
    Type.Object({ id: Type.String(), status: Type.String(), createdAt: Time('When it was asked for.') }),
  ),
  limits: Type.Object(limitFields),
  startCommand: Nullable(Type.String()),
  buildCommand: Nullable(Type.String()),
  backups: Type.Object({ daily: Type.Boolean(), keep: Type.Integer() }),
  expiresAt: Time('When it stops unless it is renewed.'),
  createdAt: Time('When it was made.'),
  updatedAt: Time('When it was last changed.'),
})

const language = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]+$',
  'x-takes': '1 to 64 characters, no control characters',
})

const command = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f]+$',
  'x-takes': 'one line of 1 to 1024 characters, not only spaces',
})

const params = Type.Object({ id: Type.String() })
const tag = 'Bots'

export const bots = {
  listBots: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/bots',
    access: 'caller',
    tag,
    summary: 'List your bots, newest first',
    answers: { 200: List(Bot) },
  }),
  createBot: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/bots',
    access: 'caller',
    tag,
    summary: 'Create a bot',
    description: 'Contacts nothing and deploys nothing. A field that the type does not use is kept and has no effect.',
    creates: 'record',
    body: Input({
      name: Name(128),
      type: OneOf(['custom', 'git', 'marketplace'], {
        description: '`custom`: an empty project; `git`: from a repository; `marketplace`: from a template.',
      }),
      language: Type.Optional(language),
      gitUrl: Type.Optional(Type.String({ description: 'Required for the type `git`.' })),
      gitBranch: Type.Optional(Type.String({ description: 'Left out: the branch that the repository’s HEAD names.' })),
      autoDeployEnabled: Type.Optional(Type.Boolean({ default: false })),
      templateId: Type.Optional(
        Type.String({
          description:
            'For the type `marketplace`; left out: the first template of the language, else the first of all.',
        }),
      ),
    }),
    answers: { 201: Bot },
    errors: ['limit_reached'],
  }),
  getBot: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/bots/{id}',
    access: 'caller',
    tag,
    summary: 'One of your bots',
    params,
    answers: { 200: Bot },
  }),
  updateBot: endpoint({
    api: 'hosting',
    method: 'PATCH',
    path: '/bots/{id}',
    access: 'caller',
    tag,
    summary: 'Change a bot',
    params,
    body: Input({
      name: Type.Optional(Name(128)),
      autoDeployEnabled: Type.Optional(Type.Boolean()),
      gitBranch: Type.Optional(Type.String()),
      language: Type.Optional(language),
      startCommand: Type.Optional(command),
      buildCommand: Type.Optional(command),
      limits: Type.Optional(
        Input({
          memoryMb: Type.Optional(limitFields.memoryMb),
          cpus: Type.Optional(limitFields.cpus),
          diskMb: Type.Optional(limitFields.diskMb),
        }),
      ),
      backups: Type.Optional(
        Input({ daily: Type.Optional(Type.Boolean()), keep: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })) }),
      ),
    }),
    answers: { 200: Bot },
  }),
  deleteBot: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/bots/{id}',
    access: 'caller',
    tag,
    summary: 'Delete a bot and everything that belongs to it',
    params,
    answers: { 200: Deleted },
  }),
  renewBot: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/bots/{id}/renew',
    access: 'caller',
    tag,
    summary: 'Extend a bot by 7 days, from now or from its present end, whichever is later',
    params,
    answers: { 200: Bot },
  }),
  makeDeployKey: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/bots/{id}/deploy-key',
    access: 'caller',
    tag,
    summary: 'The key with which this bot’s repository is fetched over ssh; made when it is first asked for',
    description:
      'Add the public key to a private repository as a read-only deploy key. The private one never leaves the server. Host keys are pinned at the first fetch, and shown here from then on.',
    params,
    answers: {
      200: Type.Object({
        publicKey: Type.String({ description: 'ed25519, in the format of OpenSSH.' }),
        hostKeys: Type.Array(Type.String(), { description: 'Lines of a known_hosts file.' }),
      }),
    },
  }),
  listAllBots: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/operator/bots',
    access: 'operator',
    tag: 'Operator',
    summary: 'Everybody’s bots, newest first',
    query: PageQuery,
    answers: {
      200: Page(Type.Object({ ...Bot.properties, owner: Type.Object({ id: Type.String(), name: Type.String() }) })),
    },
  }),
  listLanguages: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/languages',
    access: 'caller',
    tag,
    summary: 'The languages that bots can be deployed in, and how people write them',
    answers: {
      200: List(Type.Object({ id: Type.String(), name: Type.String(), spellings: Type.Array(Type.String()) })),
    },
  }),
}
