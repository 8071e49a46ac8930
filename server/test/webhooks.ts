import assert from 'node:assert/strict'
import { tx } from '../src/db/tx.ts'
import { recordEvent } from '../src/webhooks/events.ts'
import type { TestServer } from './api.ts'
import { call, data } from './call.ts'
import type { Person } from './people.ts'
import { noteSecret } from './secrets.ts'
import { until } from './until.ts'

type Json = Record<string, unknown>

export interface TestSubscription {
  readonly id: string
  readonly secret: string
  get(): Promise<Json>
  /** Newest first. */
  deliveries(): Promise<Json[]>
  patch(body: Json): Promise<Json>
}

export async function subscribe(
  server: TestServer,
  as: Person,
  body: { url: string; events?: string[]; secret?: string },
): Promise<TestSubscription> {
  const made = await call(server, 'POST /webhooks/subscriptions', { as, body: { events: ['server.crashed'], ...body } })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { id, secret } = made.body as { id: string; secret: string }
  noteSecret(secret)
  const path = `/webhooks/subscriptions/${id}`
  return {
    id,
    secret,
    get: async () => (await call(server, `GET ${path}`, { as })).body,
    deliveries: async () => data(await call(server, `GET ${path}/deliveries?limit=100`, { as })),
    patch: async (change) => (await call(server, `PATCH ${path}`, { as, body: change })).body,
  }
}

/** Something happens to a bot of that person. */
export async function crash(server: TestServer, { id }: { id: string }, lastLog = 'gone'): Promise<void> {
  const bot = { bot_id: 'bot_x', name: 'x', user_id: id }
  await tx(server.pool.db, (db) =>
    recordEvent(db, 'server.crashed', { bot, fields: { lastLog }, at: server.clock.now() }),
  )
}

/** Moves the clock whenever nothing but a wait is left, until every delivery has ended. */
export async function untilAllEnded(server: TestServer): Promise<void> {
  await until('all deliveries to end', async () => {
    const [row] = await server.pool.query<{ open: number; under_way: number; next_at: Date | null }>(
      `select count(*)::integer as open, count(claim_id)::integer as under_way, min(next_at) as next_at
       from webhook_deliveries where status = 'pending'`,
    )
    if (row?.open === 0) return true
    const waitMs = (row?.next_at?.getTime() ?? 0) - server.clock.now().getTime()
    if (row?.under_way === 0 && waitMs > 0) server.clock.advance(waitMs)
    return false
  })
}
