import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import type { Attempt, DeliveryStatus } from '../db/tables.ts'

/** What the operator sees of deliveries. */
export class WebhookMetrics {
  readonly #attempts: Counter<'outcome'>
  readonly #deliveries: Counter<'status'>
  readonly #disabled: Counter
  readonly #waits: Histogram
  readonly #durations: Histogram

  constructor(registry: Registry, { pool, clock }: App, underWay: () => number) {
    const registers = [registry]
    this.#attempts = new Counter({
      name: 'botberth_webhook_attempts_total',
      help: 'Attempts to deliver an event, by what came of them.',
      labelNames: ['outcome'],
      registers,
    })
    this.#deliveries = new Counter({
      name: 'botberth_webhook_deliveries_total',
      help: 'Deliveries that have ended, by how.',
      labelNames: ['status'],
      registers,
    })
    this.#disabled = new Counter({
      name: 'botberth_webhook_subscriptions_disabled_total',
      help: 'Subscriptions that were disabled after ten failed deliveries in a row.',
      registers,
    })
    this.#waits = new Histogram({
      name: 'botberth_webhook_first_attempt_seconds',
      help: 'From an event to the first attempt to deliver it.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120],
      registers,
    })
    this.#durations = new Histogram({
      name: 'botberth_webhook_attempt_seconds',
      help: 'How long attempts took, up to the header of the answer.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    })
    const now: Gauge = new Gauge({
      name: 'botberth_webhook_attempts_under_way',
      help: 'Attempts under way on this server.',
      registers,
      collect: () => now.set(underWay()),
    })
    const oldest = new Gauge({
      name: 'botberth_webhook_oldest_due_seconds',
      help: 'For how long the oldest delivery that is due has been waiting.',
      registers,
    })
    const waiting: Gauge = new Gauge({
      name: 'botberth_webhook_deliveries_waiting',
      help: 'Deliveries that wait for an attempt, on all servers together.',
      registers,
      collect: async () => {
        const [row] = await pool
          .query<{ count: string; first: Date | null }>(
            `select count(*) as count, min(next_at) as first from webhook_deliveries
             where status = 'pending' and claim_id is null`,
          )
          .catch((error: unknown) => {
            if (error instanceof DatabaseAway) return [] // the gauges keep what they last knew
            throw error
          })
        if (!row) return
        waiting.set(Number(row.count))
        oldest.set(row.first ? Math.max(0, clock.now().getTime() - row.first.getTime()) / 1000 : 0)
      },
    })
  }

  countAttempt({ error, durationMs }: Attempt): void {
    this.#attempts.inc({ outcome: error ?? 'succeeded' })
    if (durationMs !== null) this.#durations.observe(durationMs / 1000)
  }

  countDelivery(status: DeliveryStatus): void {
    this.#deliveries.inc({ status })
  }

  countDisabled(): void {
    this.#disabled.inc()
  }

  observeWait(ms: number): void {
    this.#waits.observe(Math.max(0, ms) / 1000)
  }
}
