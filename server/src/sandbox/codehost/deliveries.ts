import { createHmac, randomUUID } from 'node:crypto'
import { DatabaseAway, type Db } from '../../db/pool.ts'
import type { Host } from './host.ts'
import type { SandboxApp } from './identity.ts'

// The platform itself waits as long.
const timeoutMs = 10_000
// A stop waits as long for the answer to what has been sent already: else it would be sent again after the next start.
const closeTimeoutMs = 2_000
const retryDelaysMs = [1_000, 5_000, 25_000]
const awayRetryMs = 5_000
const keptMax = 500
const answerMax = 1_000

export interface Delivery {
  readonly id: number
  readonly guid: string
  readonly event: string
  readonly action: string | null
  readonly body: string
  readonly status: 'waiting' | 'delivered' | 'failed'
  /** Since somebody last asked for it. */
  readonly attempts: number
  /** Somebody did ask for it. */
  readonly is_repeat: boolean
  readonly answer_status: number | null
  readonly answer: string | null
  readonly attempted_at: Date | null
  readonly created_at: Date
}

/** Written in the transaction of what happened; `Deliveries.wake` sends it. */
export async function insertDelivery(
  db: Db,
  { event, body, now }: { event: string; body: object; now: Date },
): Promise<void> {
  const { action = null } = body as { action?: string }
  const { id } = await db
    .insertInto('sandbox_deliveries')
    .values({
      guid: randomUUID(),
      event,
      action,
      body: JSON.stringify(body),
      answer_status: null,
      answer: null,
      created_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .deleteFrom('sandbox_deliveries')
    .where('id', '<=', id - keptMax)
    .where('status', '<>', 'waiting')
    .execute()
}

export function listDeliveries(db: Db, most: number): Promise<Delivery[]> {
  return db.selectFrom('sandbox_deliveries').selectAll().orderBy('id', 'desc').limit(most).execute()
}

export function findDelivery(db: Db, id: number): Promise<Delivery | undefined> {
  return db.selectFrom('sandbox_deliveries').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The fields that tell a receiver what it got, and from whom. */
export function deliveryHeaders({ guid, event, body }: Delivery, app: SandboxApp): Record<string, string> {
  const sign = (algorithm: string) => createHmac(algorithm, app.webhookSecret).update(body).digest('hex')
  return {
    accept: '*/*',
    'content-type': 'application/json',
    'user-agent': 'GitHub-Hookshot/sandbox',
    'x-github-delivery': guid,
    'x-github-event': event,
    'x-github-hook-id': String(app.appId),
    'x-github-hook-installation-target-id': String(app.appId),
    'x-github-hook-installation-target-type': 'integration',
    'x-hub-signature': `sha1=${sign('sha1')}`,
    'x-hub-signature-256': `sha256=${sign('sha256')}`,
  }
}

/** Sends events one after the other, in the order in which they came, and those that failed again, a few times. */
export class Deliveries {
  readonly #host: Pick<Host, 'pool' | 'log' | 'clock' | 'identity'>
  readonly #eventsUrl: () => string
  readonly #closing = new AbortController()
  readonly #sending = new AbortController()
  /** Not before their time. */
  readonly #later = new Map<number, NodeJS.Timeout>()
  #run: Promise<void> | undefined
  #isWanted = false

  constructor(host: Pick<Host, 'pool' | 'log' | 'clock' | 'identity'>, eventsUrl: () => string) {
    this.#host = host
    this.#eventsUrl = eventsUrl
  }

  /** There is something to send, or there may be. */
  wake(): void {
    this.#isWanted = true
    if (this.#closing.signal.aborted) return
    this.#run ??= this.#sendAll().finally(() => {
      this.#run = undefined
      if (this.#isWanted) this.wake()
    })
  }

  /** The same bytes under the same id, as often as somebody asks for it. False: there is no such delivery. */
  async redeliver(id: number): Promise<boolean> {
    const found = await this.#host.pool.db
      .updateTable('sandbox_deliveries')
      .set({ status: 'waiting', attempts: 0, is_repeat: true })
      .where('id', '=', id)
      .returning('id')
      .executeTakeFirst()
    clearTimeout(this.#later.get(id))
    this.#later.delete(id)
    this.wake()
    return found !== undefined
  }

  /** What was not sent, or not answered soon, is sent after the next start. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const timer of this.#later.values()) clearTimeout(timer)
    const timer = setTimeout(() => this.#sending.abort(), closeTimeoutMs)
    await this.#run
    clearTimeout(timer)
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#isWanted && !this.#closing.signal.aborted) {
        this.#isWanted = false
        for (let next = await this.#findNext(); next; next = await this.#findNext()) await this.#attempt(next)
      }
    } catch (error) {
      if (this.#closing.signal.aborted) return
      if (!(error instanceof DatabaseAway)) this.#host.log.error({ err: error }, 'sandbox: an event could not be sent')
      setTimeout(() => this.wake(), awayRetryMs).unref()
    }
  }

  #findNext(): Promise<Delivery | undefined> {
    if (this.#closing.signal.aborted) return Promise.resolve(undefined)
    const waiting = this.#host.pool.db.selectFrom('sandbox_deliveries').selectAll().where('status', '=', 'waiting')
    const later = [...this.#later.keys()]
    return (later.length > 0 ? waiting.where('id', 'not in', later) : waiting).orderBy('id').limit(1).executeTakeFirst()
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const { status, text } = await this.#send(delivery)
    if (this.#sending.signal.aborted) return
    const attempts = delivery.attempts + 1
    const isDelivered = status !== null && status >= 200 && status < 300
    const delayMs = isWorthRetrying(status) ? retryDelaysMs[delivery.attempts] : undefined
    const outcome = isDelivered ? 'delivered' : delayMs === undefined ? 'failed' : 'waiting'
    // Before it is written down that it waits: nobody may take it in between.
    if (outcome === 'waiting' && !this.#closing.signal.aborted) this.#again(delivery.id, delayMs ?? 0)
    await this.#host.pool.db
      .updateTable('sandbox_deliveries')
      .set({ status: outcome, attempts, answer_status: status, answer: text, attempted_at: this.#host.clock.now() })
      .where('id', '=', delivery.id)
      .execute()
  }

  #again(id: number, delayMs: number): void {
    const timer = setTimeout(() => {
      this.#later.delete(id)
      this.wake()
    }, delayMs).unref()
    this.#later.set(id, timer)
  }

  /** `status` null: nobody answered, and the text says why. */
  async #send(delivery: Delivery): Promise<{ status: number | null; text: string }> {
    const headers = deliveryHeaders(delivery, await this.#host.identity())
    const signal = AbortSignal.any([this.#sending.signal, AbortSignal.timeout(timeoutMs)])
    try {
      const { body } = delivery
      const answer = await fetch(this.#eventsUrl(), { method: 'POST', headers, body, signal, redirect: 'manual' })
      return { status: answer.status, text: clean((await answer.text()).slice(0, answerMax)) }
    } catch (error) {
      const { message, cause } = error as Error
      return { status: null, text: clean(cause instanceof Error ? `${message}: ${cause.message}` : message) }
    }
  }
}

/** A receiver that says no will say no again; one that is not there or not well may mend. */
function isWorthRetrying(status: number | null): boolean {
  return status === null || status === 429 || status >= 500
}

/** PostgreSQL keeps no NUL. */
function clean(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}
