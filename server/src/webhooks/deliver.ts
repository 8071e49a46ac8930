import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from 'undici'
import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import type { Attempt } from '../db/tables.ts'
import type { Wakes } from '../jobs/wake.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import { newId } from '../lib/ids.ts'
import { makeOutgoingAgent } from '../lib/outgoing.ts'
import { type Claimed, claimDeliveries, listWaiting, releaseAbandoned } from './claims.ts'
import type { WebhookMetrics } from './metrics.ts'
import { Schedule } from './schedule.ts'
import { NoConnectionLeft, type Outcome, send } from './send.ts'
import { type Result, settle, settleSuccesses } from './settle.ts'
import { sign } from './sign.ts'

// The longest attempt takes 12 s; the rest is for a database that is away when it ends.
const leaseMs = 27_000
// Later than that after it was claimed an attempt is not begun: somebody else may have it by now.
const beginMs = 12_000
const sweepMs = 5_000
const retryMs = 500
const busyMs = 20
const settledAtOnce = 500
const secretsMax = 10_000
const closeMs = 15_000

interface Options {
  readonly app: App
  readonly guard: AddressGuard
  readonly nodeId: string
  readonly metrics: WebhookMetrics
}

/**
 * Sends what is due, from the table that is both queue and log. Any number of servers may do so side by side: a
 * delivery is claimed, committed, sent and settled; who dies in between is followed by whoever sweeps next.
 */
export class Deliverer {
  readonly #app: App
  readonly #nodeId: string
  readonly #metrics: WebhookMetrics
  readonly #agent: Agent
  readonly #schedule = new Schedule()
  /** Claims whose attempts are not settled. */
  readonly #live = new Map<string, number>()
  readonly #results: Result[] = []
  readonly #secrets = new Map<string, { sealed: Buffer; secret: string }>()
  #pumping: Promise<void> | undefined
  #isDirty = false
  #isSettling = false
  #timer: NodeJS.Timeout | undefined
  #sweeps: NodeJS.Timeout | undefined
  #sweeping: Promise<void> | undefined
  #isClosed = false
  #idle: (() => void) | undefined

  constructor({ app, guard, nodeId, metrics }: Options) {
    this.#app = app
    this.#nodeId = nodeId
    this.#metrics = metrics
    this.#agent = makeOutgoingAgent(guard)
  }

  /** What this node had in hand when it ended is taken up at once. */
  start(wakes: Wakes): void {
    wakes.on('delivery', (subscriptionId) => {
      if (subscriptionId === undefined) this.#sweepSoon()
      else this.#lookAt(subscriptionId)
    })
    this.#sweepSoon()
    this.#sweeps = setInterval(() => this.#sweepSoon(), this.#app.clock.pollMs ?? sweepMs).unref()
  }

  get underWay(): number {
    return this.#schedule.underWay
  }

  /**
   * Begins nothing more and waits for what is under way, which takes 12 seconds at most. What cannot be written down in a
   * while, because the database is away, is made again by whoever sweeps next.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearInterval(this.#sweeps)
    await this.#sweeping
    await this.#pumping
    const idle = new Promise<void>((resolve) => (this.#idle = resolve))
    if (this.#schedule.underWay > 0) await Promise.race([idle, sleep(closeMs, undefined, { ref: false })])
    await this.#agent.destroy()
  }

  #lookAt(subscriptionId: string): void {
    this.#schedule.look(subscriptionId)
    this.#pump()
  }

  #sweepSoon(): void {
    this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined))
  }

  async #sweep(): Promise<void> {
    const { pool, clock, log } = this.#app
    try {
      if (this.#isClosed) return
      const now = clock.now()
      const before = newId('clm', now)
      const live = [...this.#live.keys()]
      const lost = await releaseAbandoned(pool, { nodeId: this.#nodeId, live, now, before })
      if (lost > 0) log.warn({ deliveries: lost }, 'webhook deliveries were interrupted and are made again')
      for (const { subscription_id, next_at } of await listWaiting(pool, clock.now()))
        this.#schedule.lookAt(subscription_id, next_at)
      this.#pump()
    } catch (error) {
      this.#report(error, 'waiting webhook deliveries could not be read')
    }
  }

  #pump(): void {
    this.#isDirty = true
    if (this.#isClosed) return
    this.#pumping ??= this.#run().finally(() => {
      this.#pumping = undefined
      // Somebody may have called after the last look, and before this.
      if (this.#isDirty) this.#pump()
      else this.#arm()
    })
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      this.#isDirty = false
      const wanted = this.#schedule.take(this.#app.clock.now())
      if (wanted.length === 0) return
      try {
        await this.#claim(wanted)
      } catch (error) {
        for (const id of wanted) this.#schedule.look(id)
        this.#report(error, 'webhook deliveries could not be claimed')
        await sleep(retryMs)
      }
    }
  }

  async #claim(subscriptionIds: readonly string[]): Promise<void> {
    const { pool, clock } = this.#app
    const now = clock.now()
    const claimId = newId('clm', now)
    const most = this.#schedule.room
    const since = performance.now()
    // Before it is committed: from then on a sweep would take it for somebody else's.
    this.#live.set(claimId, 1)
    try {
      const leaseUntil = new Date(now.getTime() + leaseMs)
      const claim = { subscriptionIds, most, claimId, nodeId: this.#nodeId, now, leaseUntil }
      const { claimed, busy } = await claimDeliveries(pool, claim)
      for (const delivery of claimed) this.#begin(delivery, { claimId, since })
      if (claimed.length === most) for (const id of subscriptionIds) this.#schedule.look(id)
      if (busy.length > 0) this.#lookSoon(busy)
    } finally {
      this.#letGo(claimId)
    }
  }

  #lookSoon(subscriptionIds: readonly string[]): void {
    setTimeout(() => {
      for (const id of subscriptionIds) this.#schedule.look(id)
      this.#pump()
    }, busyMs).unref()
  }

  #begin(delivery: Claimed, { claimId, since }: { claimId: string; since: number }): void {
    this.#live.set(claimId, (this.#live.get(claimId) ?? 0) + 1)
    this.#schedule.begin(delivery.subscription_id, delivery.user_id)
    // Not begun, or broken off: it stays claimed until a sweep finds that nobody works on it.
    const giveUp = () => this.#end(delivery.subscription_id, claimId)
    const beginUntil = since + beginMs
    if (performance.now() > beginUntil) giveUp()
    else
      this.#deliver(delivery, { claimId, beginUntil }).catch((error: unknown) => {
        this.#report(error, 'a webhook delivery broke off')
        giveUp()
      })
  }

  async #deliver(delivery: Claimed, { claimId, beginUntil }: { claimId: string; beginUntil: number }): Promise<void> {
    const { clock } = this.#app
    const at = clock.now()
    if (delivery.number === 1 && !delivery.is_manual)
      this.#metrics.observeWait(at.getTime() - delivery.created_at.getTime())
    const outcome = await this.#attemptUntil(beginUntil, delivery)
    this.#results.push({
      id: delivery.delivery_id,
      claimId,
      subscriptionId: delivery.subscription_id,
      isManual: delivery.is_manual,
      attempt: attemptOf(delivery, outcome, at),
      endedAt: clock.now(),
    })
    if (!this.#isSettling) void this.#settleAll()
  }

  async #attemptUntil(beginUntil: number, delivery: Claimed): Promise<Outcome | Pick<Attempt, 'error'>> {
    for (;;) {
      try {
        return await this.#attempt(delivery)
      } catch (error) {
        if (!(error instanceof NoConnectionLeft) || performance.now() > beginUntil) throw error
        await sleep(retryMs, undefined, { ref: false })
      }
    }
  }

  async #attempt(delivery: Claimed): Promise<Outcome | Pick<Attempt, 'error'>> {
    const secret = this.#secretOf(delivery)
    // SECRET_KEY is another one than when it was stored.
    if (secret === undefined) return { error: 'secret_unreadable' }
    const body = Buffer.from(delivery.body)
    const headers = {
      'content-type': 'application/json',
      'user-agent': `Botberth/${this.#app.version}`,
      accept: '*/*',
      'accept-encoding': 'identity',
      'x-service-event': delivery.event,
      'x-service-event-id': delivery.event_id,
      'x-service-delivery': delivery.delivery_id,
      'x-service-attempt': String(delivery.number),
      'x-service-timestamp': String(Math.floor(this.#app.clock.now().getTime() / 1000)),
      'x-service-signature': sign(body, secret),
    }
    return send(this.#agent, { url: delivery.url, headers, body })
  }

  /** Opening it costs more than signing does. */
  #secretOf({ subscription_id: id, secret: sealed }: Claimed): string | undefined {
    const known = this.#secrets.get(id)
    if (known?.sealed.equals(sealed)) return known.secret
    const secret = this.#app.secrets.open(sealed, 'webhook')
    if (this.#secrets.size >= secretsMax) this.#secrets.clear()
    if (secret !== undefined) this.#secrets.set(id, { sealed, secret })
    return secret
  }

  /** Until all are written down, however long the database is away: nobody else knows of them. */
  async #settleAll(): Promise<void> {
    this.#isSettling = true
    for (let most = settledAtOnce; this.#results.length > 0; ) {
      const batch = this.#results.slice(0, most)
      try {
        await this.#settle(batch)
        most = settledAtOnce
      } catch (error) {
        this.#report(error, 'results of webhook deliveries could not be written down')
        const isTheirFault = !(error instanceof DatabaseAway)
        if (!isTheirFault || batch.length > 1) {
          // One by one, so that a single one that cannot be written down holds up no others.
          if (isTheirFault) most = 1
          else await sleep(retryMs, undefined, { ref: false })
          continue
        }
      }
      this.#results.splice(0, batch.length)
      for (const { subscriptionId, claimId } of batch) this.#end(subscriptionId, claimId)
      this.#pump()
    }
    this.#isSettling = false
  }

  async #settle(batch: readonly Result[]): Promise<void> {
    const { pool } = this.#app
    const delivered = await settleSuccesses(pool, batch)
    const others = batch.filter(({ id }) => !delivered.has(id))
    const settled = await settle(pool.db, others)
    for (const { attempt } of batch) this.#metrics.countAttempt(attempt)
    for (const _ of delivered) this.#metrics.countDelivery('delivered')
    for (const { id } of others) {
      const one = settled.get(id)
      if (!one) continue
      if (one.status !== 'pending') this.#metrics.countDelivery(one.status)
      if (one.isDisabling) {
        this.#metrics.countDisabled()
        this.#app.log.info({ subscription: one.subscriptionId }, 'a webhook subscription was disabled')
      }
      this.#schedule.setSlow(one.subscriptionId, one.isSlow)
      if (one.nextAt) this.#schedule.lookAt(one.subscriptionId, one.nextAt)
    }
  }

  #end(subscriptionId: string, claimId: string): void {
    this.#schedule.end(subscriptionId)
    this.#letGo(claimId)
    if (this.#schedule.underWay === 0) this.#idle?.()
  }

  #letGo(claimId: string): void {
    const left = (this.#live.get(claimId) ?? 1) - 1
    if (left > 0) this.#live.set(claimId, left)
    else this.#live.delete(claimId)
  }

  /** To the next that waits for its time. */
  #arm(): void {
    clearTimeout(this.#timer)
    const { nextAt } = this.#schedule
    if (this.#isClosed || nextAt === undefined) return
    const { clock } = this.#app
    const ms = Math.max(0, nextAt - clock.now().getTime())
    this.#timer = setTimeout(() => this.#pump(), Math.min(ms, clock.pollMs ?? sweepMs)).unref()
  }

  #report(error: unknown, message: string): void {
    if (!(error instanceof DatabaseAway)) this.#app.log.error({ err: error }, message)
  }
}

function attemptOf(
  { number, is_manual: isManual, event }: Claimed,
  outcome: Outcome | Pick<Attempt, 'error'>,
  at: Date,
): Attempt {
  return {
    number,
    trigger: !isManual ? 'schedule' : event === 'ping' ? 'test' : 'redelivery',
    at: at.toISOString(),
    durationMs: 0,
    statusCode: null,
    answer: null,
    ...outcome,
    outcome: outcome.error === null ? 'succeeded' : 'failed',
  }
}
