import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { listingFields } from './list.ts'
import { Deleted, Input, List, Nullable, OneOf, Page, PageQuery, Time } from './schema.ts'
import { deliveryFields, receiver, secret, subscriptionFields } from './webhooks.ts'

/** What the owner sees of a listed bot. */
export const OwnListing = Type.Object({
  ...listingFields,
  applicationId: Type.String(),
  isHidden: Type.Boolean({ description: 'The operator has taken it from the list.' }),
  certifiedUntil: Nullable(
    Time('When the certification ends, or has ended, unless statistics arrive; null: never had it.'),
  ),
  votesToday: Type.Integer(),
  key: Nullable(
    Type.Object(
      {
        last4: Type.String(),
        createdAt: Time('When it was issued.'),
        lastUsedAt: Nullable(Time('To the minute; null: never.')),
      },
      { description: 'Null: it has none; issue one.' },
    ),
  ),
})

export const Registration = Type.Object({
  id: Type.String(),
  botId: Type.String(),
  applicationId: Type.String(),
  verificationCode: Type.String({ description: 'To be put into the bot’s About Me.' }),
  expiresAt: Time('Until when it can be verified.'),
  createdAt: Time('When it was begun.'),
})

const VoteWebhook = Type.Object({ ...subscriptionFields, events: Type.Array(OneOf(['vote'])) })
const VoteDelivery = Type.Object({ ...deliveryFields, event: OneOf(['vote', 'ping']) })

const snowflake = Type.String({ pattern: '^[0-9]{17,20}$', 'x-takes': 'an id of 17 to 20 digits' })
const link = Nullable(
  Type.String({
    maxLength: 512,
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://',
    'x-takes': 'an http or https URL of up to 512 characters, or null',
  }),
)

const tag = 'My bots'
const one = Type.Object({ id: Type.String() })
const mine = Type.Object({ botId: Type.String() })
const shownOnce = Type.String({ description: 'Shown this once.' })

export const myBots = {
  createRegistration: endpoint({
    api: 'list',
    method: 'POST',
    path: '/registrations',
    access: 'session',
    tag,
    summary: 'Register a bot: get a code that proves that it is yours',
    description:
      'The code goes into the bot’s About Me on the chat platform. A new registration of the same bot replaces the one before. Old bots whose application has another id than their user need `applicationId` too.',
    body: Input({ botId: snowflake, applicationId: Type.Optional(snowflake) }),
    creates: 'record',
    answers: { 201: Registration },
    errors: ['already_listed', 'limit_reached'],
  }),
  listRegistrations: endpoint({
    api: 'list',
    method: 'GET',
    path: '/registrations',
    access: 'session',
    tag,
    summary: 'Your registrations that wait for their verification, newest first',
    answers: { 200: List(Registration) },
  }),
  getRegistration: endpoint({
    api: 'list',
    method: 'GET',
    path: '/registrations/{id}',
    access: 'session',
    tag,
    summary: 'One registration',
    params: one,
    answers: { 200: Registration },
  }),
  verifyRegistration: endpoint({
    api: 'list',
    method: 'POST',
    path: '/registrations/{id}/verify',
    access: 'session',
    tag,
    summary: 'List the bot, if the code stands in its About Me; its key is answered this once',
    params: one,
    answers: { 200: Type.Object({ ...listingFields, key: shownOnce }) },
    errors: [
      'code_not_found',
      'code_expired',
      'already_listed',
      'limit_reached',
      'login_not_configured',
      'platform_failed',
      'platform_timeout',
    ],
  }),
  listMyListings: endpoint({
    api: 'list',
    method: 'GET',
    path: '/my/bots',
    access: 'session',
    tag,
    summary: 'Your listed bots, newest first',
    answers: { 200: List(OwnListing) },
  }),
  updateMyListing: endpoint({
    api: 'list',
    method: 'PATCH',
    path: '/my/bots/{botId}',
    access: 'session',
    tag,
    summary: 'Change what the list says of your bot',
    description: 'What is left out stays; a URL that is null is taken away.',
    params: mine,
    body: Input({
      shortDescription: Type.Optional(
        Type.String({
          maxLength: 160,
          pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]*$',
          'x-takes': 'up to 160 characters on one line, no control or direction characters',
        }),
      ),
      description: Type.Optional(
        Type.String({
          maxLength: 20_000,
          pattern: '^[^\\u0000]*$',
          'x-takes': 'up to 20000 characters of Markdown',
        }),
      ),
      tags: Type.Optional(
        Type.Array(
          Type.String({
            minLength: 1,
            maxLength: 24,
            pattern: '^[\\p{L}\\p{N}]([\\p{L}\\p{N}\\p{M}-]*[\\p{L}\\p{N}\\p{M}])?$',
            'x-takes': '1 to 24 letters and digits, with hyphens between them',
          }),
          { maxItems: 8 },
        ),
      ),
      inviteUrl: Type.Optional(link),
      supportUrl: Type.Optional(link),
      websiteUrl: Type.Optional(link),
    }),
    answers: { 200: OwnListing },
  }),
  deleteMyListing: endpoint({
    api: 'list',
    method: 'DELETE',
    path: '/my/bots/{botId}',
    access: 'session',
    tag,
    summary: 'Take your bot from the list; its key stops at once',
    params: mine,
    answers: { 200: Deleted },
  }),
  reissueListKey: endpoint({
    api: 'list',
    method: 'POST',
    path: '/my/bots/{botId}/key',
    access: 'session',
    tag,
    summary: 'Issue a new key for your bot; the old one stops at once',
    params: mine,
    answers: { 200: Type.Object({ botId: Type.String(), key: shownOnce, last4: Type.String() }) },
  }),
  transferListing: endpoint({
    api: 'list',
    method: 'POST',
    path: '/my/bots/{botId}/transfer',
    access: 'session',
    tag,
    summary: 'Give your listing to somebody else who has an account here',
    description: 'Its key and its vote webhook end; the new owner makes their own.',
    params: mine,
    body: Input({ chatUserId: snowflake }),
    answers: { 200: Type.Object({ botId: Type.String(), owner: listingFields.owner }) },
    errors: ['invalid_state', 'limit_reached'],
  }),
  putVoteWebhook: endpoint({
    api: 'list',
    method: 'PUT',
    path: '/my/bots/{botId}/vote-webhook',
    access: 'session',
    tag,
    summary: 'Have each vote for your bot sent to a URL',
    description:
      'The event is `vote` with `botId`, `userId` (on the chat platform) and `votedAt`; it is signed and tried again as events of the hosting API are. Replaces the one before and enables it again. Without a `secret` one is made, and answered this once; an existing one is kept.',
    params: mine,
    body: Input({ url: receiver.url, secret: Type.Optional(secret) }),
    answers: {
      200: Type.Object({
        ...VoteWebhook.properties,
        secret: Nullable(Type.String({ description: 'Shown this once; null: as before.' })),
      }),
    },
    errors: ['url_not_allowed'],
  }),
  getVoteWebhook: endpoint({
    api: 'list',
    method: 'GET',
    path: '/my/bots/{botId}/vote-webhook',
    access: 'session',
    tag,
    summary: 'Where the votes for your bot are sent to',
    params: mine,
    answers: { 200: VoteWebhook },
  }),
  deleteVoteWebhook: endpoint({
    api: 'list',
    method: 'DELETE',
    path: '/my/bots/{botId}/vote-webhook',
    access: 'session',
    tag,
    summary: 'Send votes nowhere; no further attempt is made',
    params: mine,
    answers: { 200: Deleted },
  }),
  testVoteWebhook: endpoint({
    api: 'list',
    method: 'POST',
    path: '/my/bots/{botId}/vote-webhook/test',
    access: 'session',
    tag,
    summary: 'Send the event `ping`',
    params: mine,
    answers: { 202: VoteDelivery },
    errors: ['limit_reached'],
  }),
  listVoteDeliveries: endpoint({
    api: 'list',
    method: 'GET',
    path: '/my/bots/{botId}/vote-webhook/deliveries',
    access: 'session',
    tag,
    summary: 'What was sent to your vote webhook, newest first, and what came of it',
    description: 'Kept for 14 days.',
    params: mine,
    query: PageQuery,
    answers: { 200: Page(VoteDelivery) },
  }),
}
