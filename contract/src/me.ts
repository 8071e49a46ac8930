import Type, { type Static } from 'typebox'
import { ApiKey, Session } from './auth.ts'
import { endpoint } from './endpoint.ts'
import { Template } from './info.ts'
import { List, Nullable, OneOf, Page, PageQuery, Time } from './schema.ts'

export const Limits = Type.Object({
  bots: Nullable(Type.Integer({ description: 'Bots that you may have; null: as many as you like.' })),
  apiKeys: Type.Integer(),
})

export const Me = Type.Object({
  id: Type.String(),
  name: Type.String(),
  avatarUrl: Nullable(Type.String()),
  chatUserId: Nullable(Type.String({ description: 'Id on the chat platform; null: never signed in through it.' })),
  role: OneOf(['owner', 'user']),
  limits: Limits,
})

export const AuditEvent = Type.Object({
  id: Type.String(),
  kind: OneOf([
    'login',
    'logout',
    'logout_everywhere',
    'key_created',
    'key_revoked',
    'device_approved',
    'device_denied',
    'codehost_connected',
    'codehost_disconnected',
    'suspended',
    'unsuspended',
    'listing_created',
    'listing_key_issued',
    'listing_given',
    'listing_taken',
    'listing_deleted',
  ]),
  details: Type.Record(Type.String(), Type.String()),
  ip: Nullable(Type.String()),
  createdAt: Time('When it happened.'),
})
export type AuditKind = Static<typeof AuditEvent>['kind']

const tag = 'Your account'

export const me = {
  getMe: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/me',
    access: 'caller',
    tag,
    summary: 'Who you are',
    answers: { 200: Me },
  }),
  listAuditEvents: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/me/audit',
    access: 'caller',
    tag,
    summary: 'What happened to your account: log-ins, keys, sign-outs',
    query: PageQuery,
    answers: { 200: Page(AuditEvent) },
  }),
  listMyTemplates: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/me/templates',
    access: 'caller',
    tag,
    summary: 'The templates, without spending the public limit',
    answers: { 200: List(Template) },
  }),
  exportMe: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/me/export',
    access: 'caller',
    tag,
    summary: 'Everything that is kept about you',
    answers: {
      200: Type.Object({
        exportedAt: Time('Now.'),
        me: Me,
        apiKeys: Type.Array(ApiKey),
        sessions: Type.Array(Session),
        bots: Type.Array(
          Type.Object({
            id: Type.String(),
            name: Type.String(),
            type: Type.String(),
            createdAt: Time('When it was made.'),
          }),
        ),
        webhooks: Type.Array(
          Type.Object({ id: Type.String(), url: Type.String(), createdAt: Time('When it was made.') }),
        ),
        codehost: Nullable(Type.Object({ login: Type.String(), connectedAt: Time('When it was connected.') })),
        listings: Type.Array(
          Type.Object({ botId: Type.String(), name: Type.String(), createdAt: Time('When it was listed.') }),
        ),
        votes: Type.Array(
          Type.Object({ botId: Type.String(), votedAt: Time('When you voted for it; kept for 90 days.') }),
        ),
        audit: Type.Array(AuditEvent),
      }),
    },
  }),
  deleteMe: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/me',
    access: 'caller',
    tag,
    summary: 'Delete your account and everything in it',
    answers: { 200: Type.Object({ id: Type.String(), deleted: Type.Literal(true) }) },
    errors: ['invalid_state'],
  }),
}
