import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { Me } from './me.ts'
import { OwnListing } from './my-bots.ts'
import { Input, Nullable, OneOf, Page, PageQuery, Time } from './schema.ts'

const tag = 'Operator'

export const OperatorUser = Type.Object({
  ...Me.properties,
  suspended: Type.Boolean(),
  createdAt: Time('First sign-in.'),
})

export const Wall = Type.Object({
  name: OneOf(['files', 'users', 'calls', 'limits', 'network', 'disk']),
  state: OneOf(['on', 'soft', 'off'], {
    description: '`soft`: it holds mistakes, and a hostile bot only in part.',
  }),
  detail: Type.String({ description: 'What it is made of, or what is missing.' }),
  remedy: Nullable(Type.String({ description: 'What mends it, unless it is on.' })),
})

export const Report = Type.Object({
  id: Type.String(),
  botId: Type.String(),
  botName: Type.String(),
  isHidden: Type.Boolean(),
  reason: Type.String(),
  reporter: Nullable(
    Type.Object({ id: Type.String(), name: Type.String() }, { description: 'Null: had not signed in, or has left.' }),
  ),
  createdAt: Time('When it was reported.'),
})

export const operator = {
  getHost: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/operator/host',
    access: 'operator',
    tag,
    summary: 'The machine and the version that runs on it',
    answers: {
      200: Type.Object({
        version: Type.String(),
        node: Type.String(),
        publicUrl: Type.String(),
        addresses: Type.Array(Type.String({ description: 'IP addresses of this machine.' })),
        disk: Type.Object({ totalBytes: Type.Integer(), freeBytes: Type.Integer() }),
        signups: Type.String(),
        isLocal: Type.Boolean({ description: 'Whether only this machine can reach the server.' }),
        walls: Type.Array(Wall, { description: 'What keeps bots from each other and from this machine.' }),
      }),
    },
  }),
  listUsers: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/operator/users',
    access: 'operator',
    tag,
    summary: 'Everybody who has an account, newest first',
    query: PageQuery,
    answers: { 200: Page(OperatorUser) },
  }),
  updateUser: endpoint({
    api: 'hosting',
    method: 'PATCH',
    path: '/operator/users/{id}',
    access: 'operator',
    tag,
    summary: 'Suspend somebody, or change their limits',
    params: Type.Object({ id: Type.String() }),
    body: Input({
      suspended: Type.Optional(Type.Boolean()),
      limits: Type.Optional(
        Input({
          bots: Type.Optional(
            Type.Unsafe<number | null>({
              type: ['integer', 'null'],
              minimum: 0,
              maximum: 1_000_000,
              description: 'null: the default of this server.',
            }),
          ),
        }),
      ),
    }),
    answers: { 200: OperatorUser },
    errors: ['invalid_state'],
  }),
  listReports: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/operator/reports',
    access: 'operator',
    tag,
    summary: 'What people reported about listed bots, newest first',
    query: PageQuery,
    answers: { 200: Page(Report) },
  }),
  updateListing: endpoint({
    api: 'hosting',
    method: 'PATCH',
    path: '/operator/listings/{botId}',
    access: 'operator',
    tag,
    summary: 'Hide a bot from the list, or show it again',
    description: 'Nobody but its owner sees a hidden bot, and nobody can vote for it.',
    params: Type.Object({ botId: Type.String() }),
    body: Input({ hidden: Type.Boolean() }),
    answers: { 200: OwnListing },
  }),
  createInvite: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/operator/invites',
    access: 'operator',
    tag,
    summary: 'Make a link with which one person can sign up, within 7 days',
    creates: 'withSecret',
    answers: { 201: Type.Object({ id: Type.String(), url: Type.String(), expiresAt: Time('Until when it works.') }) },
  }),
}
