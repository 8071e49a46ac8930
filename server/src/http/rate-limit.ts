import type { FastifyReply } from 'fastify'
import type { Pool } from '../db/pool.ts'
import { DatabaseAway } from '../db/pool.ts'
import { clientNet } from '../lib/address.ts'
import { AppError } from '../lib/app-error.ts'
import type { Clock } from '../lib/clock.ts'

interface Options {
  /** Stands in the answer's fields and in the rows' keys. */
  readonly name: string
  /** Requests in one window; 0: no limit. */
  readonly limit: number
  readonly windowMs: number
  readonly pool: Pool
  readonly clock: Clock
}

interface Count {
  hits: number
  expiresAt: number
}

// Enough for every client that a limit is likely to meet at a time; past it the oldest are forgotten.
const rememberedMax = 10_000
const sweepIntervalMs = 5 * 60_000

/** A limit that all replicas count together. A window opens with a client's first request. */
export class RateLimit {
  readonly #options: Options
  /** Clients over the limit: refused without asking the database, so that a flood costs it nothing. */
  readonly #refused = new Map<string, number>()
  /** Used while the database is away. */
  readonly #ownCounts = new Map<string, Count>()
  readonly #sweep: NodeJS.Timeout | undefined

  constructor(options: Options) {
    this.#options = options
    if (options.limit > 0) this.#sweep = setInterval(() => void this.#forgetExpired(), sweepIntervalMs).unref()
  }

  /** Counts one request and writes the limit's fields on the answer; throws `rate_limited` past the limit. */
  async spend(address: string, reply: FastifyReply): Promise<void> {
    const { name, limit, windowMs, clock } = this.#options
    if (limit === 0) return
    const client = clientNet(address)
    const now = clock.now().getTime()
    const { hits, expiresAt } = await this.#count(client, now)
    const remaining = Math.max(0, limit - hits)
    const seconds = Math.max(1, Math.ceil((expiresAt - now) / 1000))
    reply.headers({
      'ratelimit-policy': `"${name}";q=${limit};w=${windowMs / 1000}`,
      ratelimit: `"${name}";r=${remaining};t=${seconds}`,
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
      'x-ratelimit-reset': Math.ceil(expiresAt / 1000),
    })
    if (hits > limit) throw new AppError('rate_limited', { headers: { 'retry-after': String(seconds) } })
  }

  async #count(client: string, now: number): Promise<Count> {
    const refusedUntil = this.#refused.get(client)
    if (refusedUntil !== undefined && refusedUntil > now)
      return { hits: this.#options.limit + 1, expiresAt: refusedUntil }
    const count = await this.#countTogether(client, now)
    if (count.hits > this.#options.limit) remember(this.#refused, client, count.expiresAt)
    return count
  }

  async #countTogether(client: string, now: number): Promise<Count> {
    const { name, pool, windowMs } = this.#options
    try {
      const [row] = await pool.query<{ hits: number; expires_at: Date }>(
        `insert into rate_limits as r (key, hits, expires_at) values ($1, 1, $3)
         on conflict (key) do update set
           hits = case when r.expires_at <= $2 then 1 else r.hits + 1 end,
           expires_at = case when r.expires_at <= $2 then excluded.expires_at else r.expires_at end
         returning hits, expires_at`,
        [`${name}:${client}`, new Date(now), new Date(now + windowMs)],
      )
      if (!row) throw new Error('the counting statement returned nothing')
      return { hits: row.hits, expiresAt: row.expires_at.getTime() }
    } catch (error) {
      if (!(error instanceof DatabaseAway)) throw error
      return this.#countAlone(client, now)
    }
  }

  #countAlone(client: string, now: number): Count {
    const known = this.#ownCounts.get(client)
    const count = known && known.expiresAt > now ? known : { hits: 0, expiresAt: now + this.#options.windowMs }
    count.hits++
    remember(this.#ownCounts, client, count)
    return count
  }

  async #forgetExpired(): Promise<void> {
    const now = this.#options.clock.now()
    for (const [client, until] of this.#refused) if (until <= now.getTime()) this.#refused.delete(client)
    for (const [client, count] of this.#ownCounts) if (count.expiresAt <= now.getTime()) this.#ownCounts.delete(client)
    try {
      await this.#options.pool.query('delete from rate_limits where expires_at <= $1', [now])
    } catch (error) {
      if (!(error instanceof DatabaseAway)) throw error // away: the next sweep takes them
    }
  }

  close(): void {
    clearInterval(this.#sweep)
  }
}

/** Maps keep the order of insertion: the first key is the one that was set longest ago. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  const oldest = map.size > rememberedMax ? map.keys().next().value : undefined
  if (oldest !== undefined) map.delete(oldest)
}
