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

/** What this process may still hand out of a client's window, and how much of the window is spoken for by all. */
interface Share {
  left: number
  taken: number
  readonly expiresAt: number
}

// Enough for every client that a limit is likely to meet at a time; past it the oldest are forgotten.
const rememberedMax = 10_000
const sweepIntervalMs = 5 * 60_000

/**
 * A limit that all servers count together, in a window that opens with a client's first request. Each takes a
 * hundredth of a window at a time, so that a busy client costs the database one statement in many; limits up to 100
 * are exact.
 */
export class RateLimit {
  readonly #options: Options
  readonly #shares = new Map<string, Share>()
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
    const { name, limit, windowMs, clock } = this.#options
    const now = clock.now().getTime()
    const share = await this.#share(clientOf(), now)
    const isAllowed = share.left > 0
    if (isAllowed) share.left--
    const remaining = Math.max(0, limit - share.taken) + share.left
    const seconds = Math.max(1, Math.ceil((share.expiresAt - now) / 1000))
    reply.headers({
      'ratelimit-policy': `"${name}";q=${limit};w=${windowMs / 1000}`,
      ratelimit: `"${name}";r=${remaining};t=${seconds}`,
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
      'x-ratelimit-reset': Math.ceil(share.expiresAt / 1000),
    })
    if (!isAllowed) throw new AppError('rate_limited', { headers: { 'retry-after': String(seconds) } })
  }

  /** A client that has used up its window is refused without asking the database: a flood costs it nothing. */
  async #share(client: string, now: number): Promise<Share> {
    const known = this.#shares.get(client)
    if (known && this.#isOpen(known, now) && (known.left > 0 || known.taken >= this.#options.limit)) return known
    const share = await this.#takeTogether(client, now)
    // Another request of the same client may have fetched a share meanwhile: what is left of it must not be lost.
    const other = this.#shares.get(client)
    if (other && other !== known && other.expiresAt === share.expiresAt) {
      share.left += other.left
      other.left = 0
      share.taken = Math.max(share.taken, other.taken)
    }
    remember(this.#shares, client, share)
    return share
  }

  async #takeTogether(client: string, now: number): Promise<Share> {
    const { name, pool, windowMs, limit } = this.#options
    try {
      const [row] = await pool.query<{ hits: number; expires_at: Date }>(
        `insert into rate_limits as r (key, hits, expires_at) values ($1, $4, $3)
         on conflict (key) do update set
           hits = case when r.expires_at <= $2 or r.expires_at > $3 then excluded.hits else least(r.hits, $5) + excluded.hits end,
           expires_at = case when r.expires_at <= $2 or r.expires_at > $3 then excluded.expires_at else r.expires_at end
         returning hits, expires_at`,
        [`${name}:${client}`, new Date(now), new Date(now + windowMs), this.#chunk, limit],
      )
      if (!row) throw new Error('the counting statement returned nothing')
      const before = row.hits - this.#chunk
      return {
        left: Math.max(0, Math.min(this.#chunk, limit - before)),
        taken: row.hits,
        expiresAt: row.expires_at.getTime(),
      }
    } catch (error) {
      // Also when the database is there but cannot count, as a read-only standby: a limit is no reason to refuse.
      if (!(error instanceof DatabaseAway))
        this.#options.log.warn({ err: error }, 'a limit is counted by this process alone')
      return this.#takeAlone(client, now)
    }
  }

  /** Not one that ends later than a window can: then the clock was set back, and the client would wait for it. */
  #isOpen({ expiresAt }: Share, now: number): boolean {
    return expiresAt > now && expiresAt <= now + this.#options.windowMs
  }

  /** While the database is away each process counts for itself. */
  #takeAlone(client: string, now: number): Share {
    const known = this.#shares.get(client)
    if (known && this.#isOpen(known, now))
      return { ...known, left: known.taken < this.#options.limit ? 1 : 0, taken: known.taken + 1 }
    return { left: 1, taken: 1, expiresAt: now + this.#options.windowMs }
  }

  async #forgetExpired(): Promise<void> {
    const now = this.#options.clock.now()
    for (const [client, share] of this.#shares) if (share.expiresAt <= now.getTime()) this.#shares.delete(client)
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

/** Maps keep the order of insertion: the first key is the one that was set longest ago. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  const oldest = map.size > rememberedMax ? map.keys().next().value : undefined
  if (oldest !== undefined) map.delete(oldest)
}
