import { sql } from 'kysely'
import { findUser } from '../auth/queries.ts'
import type { App } from '../context.ts'
import type { Db, Pool } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { AppError } from '../lib/app-error.ts'
import { recordVotes } from '../webhooks/events.ts'
import { dayHeat, dayOf, monthOf, nextVoteAt } from './heat.ts'

const atOnce = 500

export interface Vote {
  readonly botId: string
  /** Of the chat platform. */
  readonly chatUserId: string
}

interface Waiting extends Vote {
  resolve(votedAt: Date): void
  reject(error: unknown): void
}

/**
 * Counts votes. All that come while some are being written down are written together, in one transaction: a bot that
 * thousands vote for at once costs one change of its row and one connection at a time, not thousands that wait for it.
 */
export class Votes {
  readonly #app: App
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(app: App) {
    this.#app = app
  }

  /** Resolves with the time of the vote when it is counted. Throws `already_voted`, or `not_found` for the bot. */
  vote(vote: Vote): Promise<Date> {
    return new Promise<Date>((resolve, reject) => {
      this.#waiting.push({ ...vote, resolve, reject })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  /** The same for somebody who signed in. Bots know people by their id on the chat platform, so one is needed. */
  async voteAs(userId: string, botId: string): Promise<Date> {
    const user = await findUser(this.#app.pool.db, userId)
    if (!user) throw new AppError('unauthenticated') // deleted a moment ago
    if (user.chat_user_id === null)
      throw new AppError('invalid_state', {
        detail: 'Sign in through the chat platform to vote: bots know people by it.',
      })
    return this.vote({ botId, chatUserId: user.chat_user_id })
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, atOnce)
      try {
        await this.#write(batch)
      } catch (error) {
        for (const { reject } of batch) reject(error) // none of them was counted, and each asker is told why
      }
    }
    this.#isWriting = false
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const now = this.#app.clock.now()
    const count = () => tx(this.#app.pool.db, (db) => countVotes(db, batch, now))
    // Our own locks have an order; whoever else holds some, hundreds of votes are not lost to it.
    const { known, counted } = await count().catch((error: unknown) => {
      if (isDeadlock(error)) return count()
      throw error
    })
    for (const { botId, chatUserId, resolve, reject } of batch) {
      // Of those that are the same the first one is it.
      if (counted.delete(`${botId} ${chatUserId}`)) resolve(now)
      else if (known.has(botId)) reject(alreadyVoted(now))
      else reject(new AppError('not_found'))
    }
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '40P01'
}

function alreadyVoted(now: Date): AppError {
  return new AppError('already_voted', { members: { nextVoteAt: nextVoteAt(now).toISOString() } })
}

/** Which bots there are, and which votes were the first of their day. */
async function countVotes(
  db: Db,
  votes: readonly Vote[],
  now: Date,
): Promise<{ known: Set<string>; counted: Set<string> }> {
  const known = await lockListed(db, [...new Set(votes.map(({ botId }) => botId))])
  const inserted = await insertVotes(
    db,
    votes.filter(({ botId }) => known.has(botId)),
    now,
  )
  if (inserted.length > 0) {
    await addToStandings(db, inserted, now)
    await recordVotes(db, inserted, now)
  }
  return { known, counted: new Set(inserted.map(({ botId, chatUserId }) => `${botId} ${chatUserId}`)) }
}

/** In the order of their ids: two servers that count for the same bots cannot wait for each other. */
async function lockListed(db: Db, botIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ bot_id: string }>`select bot_id from standings
    where bot_id = any(${botIds}::text[]) and hidden_at is null order by bot_id for no key update`.execute(db)
  return new Set(rows.map(({ bot_id: botId }) => botId))
}

async function insertVotes(db: Db, votes: readonly Vote[], now: Date): Promise<Vote[]> {
  if (votes.length === 0) return []
  const { rows } = await sql<Vote>`insert into votes (day, bot_id, chat_user_id, voted_at)
    select ${dayOf(now)}::date, bot_id, chat_user_id, ${now}
    from unnest(${votes.map(({ botId }) => botId)}::text[], ${votes.map(({ chatUserId }) => chatUserId)}::text[])
      as v (bot_id, chat_user_id)
    order by bot_id, chat_user_id
    on conflict do nothing
    returning bot_id as "botId", chat_user_id as "chatUserId"`.execute(db)
  return rows
}

async function addToStandings(db: Db, votes: readonly Vote[], now: Date): Promise<void> {
  const counts = new Map<string, number>()
  for (const { botId } of votes) counts.set(botId, (counts.get(botId) ?? 0) + 1)
  const added = [...counts].map(([bot_id, count]) => ({ bot_id, count, heat: dayHeat(now) + Math.log2(count) }))
  const rows = sql`jsonb_to_recordset(${JSON.stringify(added)}::jsonb) as a (bot_id text, count integer, heat double precision)`
  // The logarithm of the sum of two numbers whose logarithms are known; far apart, the smaller one is nothing.
  const sum = sql`greatest(s.heat, a.heat) + ln(1 + power(2::double precision, -least(abs(s.heat - a.heat), 100))) / ln(2)`
  await sql`with days as (
      insert into listing_days as d (bot_id, day, votes) select bot_id, ${dayOf(now)}::date, count from ${rows} order by bot_id
      on conflict (bot_id, day) do update set votes = d.votes + excluded.votes
    )
    update standings s set
      votes_total = s.votes_total + a.count,
      votes_month = case when s.month = ${monthOf(now)}::date then s.votes_month else 0 end + a.count,
      month = ${monthOf(now)}::date,
      heat = ${sum}
    from ${rows} where s.bot_id = a.bot_id`.execute(db)
}

export const voteText = 'select voted_at from votes where day = $1 and bot_id = $2 and chat_user_id = $3'

/** When somebody voted for a bot today, by UTC; undefined: not today. */
export async function findVote(pool: Pool, { botId, chatUserId }: Vote, now: Date): Promise<Date | undefined> {
  const [row] = await pool.query<{ voted_at: Date }>(voteText, [dayOf(now), botId, chatUserId])
  return row?.voted_at
}
