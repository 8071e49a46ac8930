import type { FastifyReply } from 'fastify'
import type { Pool } from '../db/pool.ts'
import { DatabaseAway } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'

interface Options {
  /** Stands in the answer's fields and in the rows' keys. */
  readonly name: string
  /** Requests in one window; 0: no limit. */
  readonly limit: number
  readonly windowMs: number
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
}

/** A client's window as this process knows it. */
interface Window {
  /** What this process may still hand out. */
  left: number
  /** How much of the window is spoken for, by all servers. */
  taken: number
  expiresAt: number
  /** Requests that wait for a share, and the one question to the database that they wait for. */
  waiting: number
  asking: Promise<void> | undefined
}

// Enough for every client that a limit is likely to meet at a time; past it the oldest are forgotten.
const rememberedMax = 10_000
const sweepIntervalMs = 5 * 60_000
// Clocks of servers that count together differ a little.
const skewMs = 60_000

/**
 * A limit that all servers count together, in a window that opens with a client's first request. Each takes a
 * hundredth of a window at a time, so that a busy client costs the database one statement in many; limits up to 100
 * are exact.
 */
export class RateLimit {
  readonly #options: Options
  readonly #windows = new Map<string, Window>()
  readonly #chunk: number
  readonly #sweep: NodeJS.Timeout | undefined

  constructor(options: Options) {
    this.#options = options
    this.#chunk = Math.max(1, Math.floor(options.limit / 100))
    if (options.limit > 0) this.#sweep = setInterval(() => void this.#forgetExpired(), sweepIntervalMs).unref()
  }

  get isOff(): boolean {
    return this.#options.limit === 0
  }

  /** Counts one request and writes the limit's fields on the answer; throws `rate_limited` past the limit. */
  async spend(clientOf: () => string, reply: FastifyReply): Promise<void> {
    if (this.isOff) return
    const client = clientOf()
    const window = this.#windows.get(client) ?? this.#remember(client)
    // What is tested and what is taken must be one step: other requests of this client run between any two.
    let isAllowed = this.#takeOne(window)
    while (!isAllowed && !this.#isSpent(window)) {
      window.waiting++
      window.asking ??= this.#ask(client, window).finally(() => {
        window.asking = undefined
        window.waiting = 0 // whoever got nothing counts itself again
      })
      await window.asking
      isAllowed = this.#takeOne(window)
    }
    const retryAfter = this.#writeFields(window, reply)
    if (!isAllowed) throw new AppError('rate_limited', { headers: { 'retry-after': retryAfter } })
  }

  /** Whether this process knows that nothing is left; counts nothing. */
  isSpent(client: string): boolean {
    const window = this.#windows.get(client)
    return window !== undefined && this.#isSpent(window)
  }

  #takeOne(window: Window): boolean {
    if (!this.#isOpen(window) || window.left === 0) return false
    window.left--
    return true
  }

  /** Refused without asking the database: a flood costs it nothing. */
  #isSpent(window: Window): boolean {
    return this.#isOpen(window) && window.left === 0 && window.taken > this.#options.limit
  }

  /** Not one that ends much later than a window can: then the clock was set back, and the client would wait for it. */
  #isOpen({ expiresAt }: Window): boolean {
    const now = this.#options.clock.now().getTime()
    return expiresAt > now && expiresAt <= now + this.#options.windowMs + skewMs
  }

  /** Returns the seconds until the window ends. */
  #writeFields(window: Window, reply: FastifyReply): string {
    const { name, limit, windowMs, clock } = this.#options
    const remaining = Math.max(0, limit - window.taken) + window.left
    const seconds = Math.max(1, Math.ceil((window.expiresAt - clock.now().getTime()) / 1000))
    void reply.headers({
      'ratelimit-policy': `"${name}";q=${limit};w=${windowMs / 1000}`,
      ratelimit: `"${name}";r=${remaining};t=${seconds}`,
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
      'x-ratelimit-reset': Math.ceil(window.expiresAt / 1000),
    })
    return String(seconds)
  }

  /** One question for everybody who waits: as much as they need, and at least a chunk. */
  async #ask(client: string, window: Window): Promise<void> {
    await Promise.resolve() // whoever comes in this same moment waits along
    const { name, pool, clock, windowMs, limit, log } = this.#options
    const amount = Math.max(this.#chunk, window.waiting)
    const now = clock.now().getTime()
    try {
      const [row] = await pool.query<{ hits: number; expires_at: Date }>(
        `insert into rate_limits as r (key, hits, expires_at) values ($1, $4, $3)
         on conflict (key) do update set
           hits = case when r.expires_at <= $2 or r.expires_at > $6 then excluded.hits else least(r.hits, $5) + excluded.hits end,
           expires_at = case when r.expires_at <= $2 or r.expires_at > $6 then excluded.expires_at else r.expires_at end
         returning hits, expires_at`,
        [
          `${name}:${client}`,
          new Date(now),
          new Date(now + windowMs),
          amount,
          limit,
          new Date(now + windowMs + skewMs),
        ],
      )
      if (!row) throw new Error('the counting statement returned nothing')
      this.#grant(window, { amount, taken: row.hits, expiresAt: row.expires_at.getTime() })
    } catch (error) {
      // Also when the database is there but cannot count, as a read-only standby: a limit is no reason to refuse.
      if (!(error instanceof DatabaseAway)) log.warn({ err: error }, 'a limit is counted by this process alone')
      const isOpen = this.#isOpen(window)
      const taken = Math.min(isOpen ? window.taken : 0, limit) + amount
      this.#grant(window, { amount, taken, expiresAt: isOpen ? window.expiresAt : now + windowMs })
    }
  }

  #grant(window: Window, { amount, taken, expiresAt }: { amount: number; taken: number; expiresAt: number }): void {
    if (window.expiresAt !== expiresAt) window.left = 0 // what was left of the window before
    window.left += Math.max(0, Math.min(amount, this.#options.limit - (taken - amount)))
    window.taken = taken
    window.expiresAt = expiresAt
  }

  /** Maps keep the order of insertion: the first key is the one that was set longest ago. */
  #remember(client: string): Window {
    const window: Window = { left: 0, taken: 0, expiresAt: 0, waiting: 0, asking: undefined }
    this.#windows.set(client, window)
    const oldest = this.#windows.size > rememberedMax ? this.#windows.keys().next().value : undefined
    if (oldest !== undefined) this.#windows.delete(oldest)
    return window
  }

  async #forgetExpired(): Promise<void> {
    const now = this.#options.clock.now()
    for (const [client, window] of this.#windows) if (window.expiresAt <= now.getTime()) this.#windows.delete(client)
    try {
      await this.#options.pool.query('delete from rate_limits where expires_at <= $1', [now])
    } catch (error) {
      this.#options.log.debug({ err: error }, 'expired counts could not be removed; the next sweep takes them')
    }
  }

  close(): void {
    clearInterval(this.#sweep)
  }
}
