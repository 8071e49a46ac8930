import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { type EventName, events } from './events.ts'
import { Deleted, Input, List, Nullable, OneOf, Page, PageQuery, Time } from './schema.ts'

const eventNames = Object.keys(events) as EventName[]

export const subscriptionFields = {
  id: Type.String(),
  url: Type.String(),
  events: Type.Array(OneOf(eventNames)),
  status: OneOf(['active', 'disabled']),
  consecutiveFailures: Type.Integer({ description: 'Deliveries in a row that failed for good. At 10 it is disabled.' }),
  disabledAt: Nullable(Time('Since when it is disabled.')),
  disabledReason: Nullable(
    OneOf(['consecutive_failures', 'owner'], { description: '`owner`: you did it. Null: it is active.' }),
  ),
  lastDeliveryAt: Nullable(Time('When an attempt was last made; null: never.')),
  createdAt: Time('When it was made.'),
}

export const Subscription = Type.Object(subscriptionFields)

const Attempt = Type.Object({
  number: Type.Integer({ description: '1 to 4, as in `X-Service-Attempt`.' }),
  trigger: OneOf(['schedule', 'test', 'redelivery']),
  at: Time('When it began.'),
  durationMs: Nullable(Type.Integer({ description: 'Null: nobody was there to see its end.' })),
  outcome: OneOf(['succeeded', 'failed', 'interrupted'], {
    description: '`interrupted`: this server stopped in the middle of it; it is made again under the same number.',
  }),
  statusCode: Nullable(Type.Integer({ description: 'Null: there was no answer.' })),
  error: Nullable(
    OneOf(
      [
        'timeout',
        'dns',
        'connection',
        'tls',
        'http_status',
        'protocol',
        'blocked_address',
        'secret_unreadable',
        'interrupted',
      ],
      { description: 'Null: it succeeded.' },
    ),
  ),
  answer: Nullable(Type.String({ description: 'The first bytes of the answer’s body, at most 4 KiB.' })),
})

export const deliveryFields = {
  id: Type.String({ description: 'As in `X-Service-Delivery`: the same for all attempts.' }),
  eventId: Type.String(),
  event: OneOf([...eventNames, 'ping']),
  status: OneOf(['pending', 'delivered', 'failed', 'canceled', 'dropped']),
  reason: Nullable(
    OneOf(['attempts_failed', 'subscription_disabled', 'backlog_full', 'interrupted_repeatedly'], {
      description: 'Why it ended without being delivered.',
    }),
  ),
  nextAttemptAt: Nullable(Time('When it is tried next; null: not again, or this very moment.')),
  createdAt: Time('When it happened.'),
  finishedAt: Nullable(Time('When it ended; null: it has not yet.')),
  attempts: Type.Array(Attempt, { description: 'The oldest first; the last 20.' }),
}

export const Delivery = Type.Object(deliveryFields)

export const receiver = {
  url: Type.String({
    minLength: 1,
    maxLength: 2048,
    'x-takes': 'an http or https URL of up to 2048 characters, without a user name or password',
  }),
  events: Type.Array(OneOf(eventNames), { minItems: 1, maxItems: 100 }),
}

export const secret = Nullable(
  Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'The key of the signature, as UTF-8. Use 24 random characters or more.',
    'x-takes': '1 to 256 bytes of text',
  }),
)

const tag = 'Webhooks'
const one = Type.Object({ id: Type.String() })
const oneDelivery = Type.Object({ id: Type.String(), deliveryId: Type.String() })

export const webhooks = {
  createSubscription: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/webhooks/subscriptions',
    access: 'caller',
    tag,
    summary: 'Subscribe a URL to events of your bots',
    description:
      'Its secret is answered this once; one is made if you send none. Deliveries are signed with it, tried up to four times, and the subscription is disabled after ten that failed in a row.',
    body: Input({ ...receiver, secret: Type.Optional(secret) }),
    creates: 'withSecret',
    answers: {
      201: Type.Object({ ...subscriptionFields, secret: Type.String({ description: 'Shown this once.' }) }),
    },
    errors: ['limit_reached', 'url_not_allowed'],
  }),
  listSubscriptions: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/webhooks/subscriptions',
    access: 'caller',
    tag,
    summary: 'List your subscriptions, newest first',
    answers: { 200: List(Subscription) },
  }),
  getSubscription: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/webhooks/subscriptions/{id}',
    access: 'caller',
    tag,
    summary: 'One subscription',
    params: one,
    answers: { 200: Subscription },
  }),
  updateSubscription: endpoint({
    api: 'hosting',
    method: 'PATCH',
    path: '/webhooks/subscriptions/{id}',
    access: 'caller',
    tag,
    summary: 'Change a subscription, or enable it again',
    description:
      'What is left out stays. `status: "active"` sets the count of failures to 0; deliveries that were canceled stay canceled. `status: "disabled"` cancels those that wait. A new secret signs every attempt from then on.',
    params: one,
    body: Input({
      url: Type.Optional(receiver.url),
      events: Type.Optional(receiver.events),
      secret: Type.Optional(secret),
      status: Type.Optional(OneOf(['active', 'disabled'])),
    }),
    answers: { 200: Subscription },
    errors: ['url_not_allowed'],
  }),
  deleteSubscription: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/webhooks/subscriptions/{id}',
    access: 'caller',
    tag,
    summary: 'Remove a subscription with its deliveries; no further attempt is made',
    params: one,
    answers: { 200: Deleted },
  }),
  testSubscription: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/webhooks/subscriptions/{id}/test',
    access: 'caller',
    tag,
    summary: 'Send the event `ping`',
    description:
      'One attempt, which is not retried and whose failure does not count. Works while the subscription is disabled too. What came of it is in the delivery.',
    params: one,
    answers: { 202: Delivery },
    errors: ['limit_reached'],
  }),
  listDeliveries: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/webhooks/subscriptions/{id}/deliveries',
    access: 'caller',
    tag,
    summary: 'What was sent to a subscription, newest first, and what came of it',
    description: 'Kept for 14 days.',
    params: one,
    query: PageQuery,
    answers: { 200: Page(Delivery) },
  }),
  getDelivery: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/webhooks/subscriptions/{id}/deliveries/{deliveryId}',
    access: 'caller',
    tag,
    summary: 'One delivery, with the body that is sent',
    params: oneDelivery,
    answers: { 200: Type.Object({ ...deliveryFields, body: Type.String({ description: 'Byte for byte.' }) }) },
  }),
  redeliver: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/webhooks/subscriptions/{id}/deliveries/{deliveryId}/redeliver',
    access: 'caller',
    tag,
    summary: 'Send a delivery that has ended once more',
    description: 'One attempt with the same `X-Service-Delivery`, not retried; its failure does not count.',
    params: oneDelivery,
    answers: { 202: Delivery },
    errors: ['invalid_state'],
  }),
}
