import { randomBytes } from 'node:crypto'
import type { AnswerOf } from '@botberth/contract/endpoints.ts'
import type { Db } from '../db/pool.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import { AppError, validationError } from '../lib/app-error.ts'
import { recordTest } from './events.ts'
import { countManual, type DeliveryRow, getDelivery, type SubscriptionRow } from './queries.ts'
import { readReceiverUrl } from './url.ts'

/* What subscriptions of the hosting API and those to the votes of a listed bot have in common. */

const secretBytesMax = 256
// Whoever presses the button again and again is told to wait.
const testsMax = 10

/** Enabling begins anew: what failed before does not count. Enabling what is active changes nothing. */
export function statusChange(before: SubscriptionRow, wanted: 'active' | 'disabled' | undefined, now: Date) {
  if (wanted === undefined || wanted === before.status) return {}
  if (wanted === 'disabled') return { status: wanted, disabled_at: now, disabled_reason: 'owner' as const }
  return {
    status: wanted,
    disabled_at: null,
    disabled_reason: null,
    consecutive_failures: 0,
    is_slow: false,
    epoch: before.epoch + 1,
  }
}

export function checkUrl(text: string, guard: AddressGuard): string {
  const read = readReceiverUrl(text)
  if ('problem' in read) throw validationError([{ pointer: '/url', detail: read.problem }])
  guard.checkLiteral(read.url)
  return read.url
}

export function checkSecret(secret: string | null | undefined): string | undefined {
  if (secret === null || secret === undefined) return undefined
  if (Buffer.byteLength(secret) > secretBytesMax)
    throw validationError([{ pointer: '/secret', detail: `takes up to ${secretBytesMax} bytes of UTF-8` }])
  return secret
}

export function makeSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** The event `ping` for a subscription that is locked. */
export async function testOnce(
  db: Db,
  { userId, subscription }: { userId: string; subscription: SubscriptionRow },
  now: Date,
): Promise<DeliveryRow> {
  if ((await countManual(db, subscription.id)) >= testsMax)
    throw new AppError('limit_reached', {
      detail: `${testsMax} tests and redeliveries of this subscription are waiting. Wait for what comes of them.`,
    })
  const id = await recordTest(db, { userId, subscription }, now)
  return getDelivery(db, subscription.id, id)
}

export function subscriptionJson(row: SubscriptionRow): AnswerOf<'getSubscription'> {
  return {
    id: row.id,
    url: row.url,
    events: row.events as AnswerOf<'getSubscription'>['events'],
    status: row.status,
    consecutiveFailures: row.consecutive_failures,
    disabledAt: row.disabled_at?.toISOString() ?? null,
    disabledReason: row.disabled_reason,
    lastDeliveryAt: row.last_delivery_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
  }
}

export function deliveryJson(row: DeliveryRow): AnswerOf<'redeliver'> {
  return {
    id: row.id,
    eventId: row.event_id,
    event: row.event as AnswerOf<'redeliver'>['event'],
    status: row.status,
    reason: row.reason as AnswerOf<'redeliver'>['reason'],
    nextAttemptAt: row.next_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
    attempts: row.attempts as AnswerOf<'redeliver'>['attempts'],
  }
}
