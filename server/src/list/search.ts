import { type RawBuilder, sql } from 'kysely'
import type { App } from '../context.ts'
import { type CardRow, readCards } from './listings.ts'
import { searchFor } from './words.ts'

/** Where counting stops, and pages end. */
const countedMax = 10_000
// Up to so many are read and sorted. Of more than that, so many stand anywhere that the first ones are found soon by
// going through all in their order.
const fewMax = 1_000
const rememberedMs = 60_000
const rememberedMax = 1_000

export type Sort = 'votes' | 'servers' | 'newest'

export interface Wanted {
  readonly q?: string | undefined
  readonly tag?: string | undefined
  readonly sort?: Sort | undefined
  readonly certified?: boolean | undefined
}

interface Range {
  readonly limit: number
  readonly offset: number
}

const orders: Record<Sort, string> = {
  votes: 'heat desc, bot_id desc',
  servers: 'server_count desc nulls last, bot_id desc',
  newest: 'created_at desc, bot_id desc',
}

/**
 * Finds listings at a price that does not grow with their number. Planners cannot be relied on for that: whether to look
 * up all that match or to go through the list in its order depends on how many match, so that is counted first, up to
 * a bound. That count is the total too. Large counts are remembered for a minute, and those who ask the same at the
 * same time share one answer.
 */
export class Search {
  readonly #app: App
  readonly #counts = new Map<string, { count: number; until: number }>()
  readonly #asking = new Map<string, Promise<unknown>>()

  constructor(app: App) {
    this.#app = app
  }

  /** A page of ids in their order, and how many there are in all. */
  async find(wanted: Wanted, { limit, offset }: Range): Promise<{ botIds: string[]; total: number }> {
    const words = searchFor(wanted)
    if (words === null) return { botIds: [], total: 0 }
    const filter = { words, certifiedAt: wanted.certified ? this.#app.clock.now() : undefined }
    const { source, total } = await this.#choose(filter)
    const most = Math.min(limit, countedMax - offset)
    if (most <= 0 || offset >= total) return { botIds: [], total }
    const order = orders[wanted.sort ?? 'votes']
    const botIds = await this.#share(`${keyOf(source)} ${order} ${most} ${offset}`, async () => {
      const { rows } = await source.page(order, { limit: most, offset }).execute(this.#app.pool.db)
      return rows.map(({ bot_id: botId }) => botId)
    })
    return { botIds, total }
  }

  /** The same as cards, for pages. */
  async findCards(wanted: Wanted, range: Range): Promise<{ cards: CardRow[]; total: number }> {
    const { botIds, total } = await this.find(wanted, range)
    return { cards: await readCards(this.#app.pool, botIds, this.#app.clock.now()), total }
  }

  /** The first cards of a list, without a count. */
  async firstCards(sort: Sort, { certified = false, most }: { certified?: boolean; most: number }): Promise<CardRow[]> {
    const filter = { words: undefined, certifiedAt: certified ? this.#app.clock.now() : undefined }
    const source = certified ? badged(filter) : inOrder(filter)
    const { pool, clock } = this.#app
    const { rows } = await source.page(orders[sort], { limit: most, offset: 0 }).execute(pool.db)
    return readCards(
      pool,
      rows.map(({ bot_id: botId }) => botId),
      clock.now(),
    )
  }

  /** The cheapest way, and how many there are at its end: what was counted for the choice is not counted again. */
  async #choose(filter: Filter): Promise<{ source: Source; total: number }> {
    const { words, certifiedAt } = filter
    const counted: number[] = []
    if (words !== undefined) {
      const all = matching({ words, certifiedAt: undefined })
      counted.push(await this.#count(all))
      if (isFew(counted)) return this.#counted(matching(filter), certifiedAt ? [] : counted)
    }
    if (certifiedAt) {
      counted.push(await this.#count(badged({ words: undefined, certifiedAt })))
      if (isFew(counted)) return this.#counted(badged(filter), words === undefined ? counted : [])
    }
    // Of two counts neither is that of what fits both.
    return this.#counted(inOrder(filter), counted.length === 1 ? counted : [])
  }

  async #counted(source: Source, [known]: readonly number[]): Promise<{ source: Source; total: number }> {
    return { source, total: known ?? (await this.#count(source)) }
  }

  #count(source: Source): Promise<number> {
    const { name, filter, all } = source
    // What is remembered is of any moment, what is shared only of this one.
    const key = `${name} ${filter.words} ${filter.certifiedAt !== undefined}`
    const now = this.#app.clock.now().getTime()
    const known = this.#counts.get(key)
    if (known && known.until > now && known.until <= now + rememberedMs) return Promise.resolve(known.count)
    return this.#share(keyOf(source), async () => {
      const { rows } = await sql<{ count: number }>`select count(*)::integer as count
        from (${all} limit ${sql.lit(countedMax)}) as counted`.execute(this.#app.pool.db)
      const count = rows[0]?.count ?? 0
      if (this.#counts.size >= rememberedMax) this.#counts.clear()
      // Small ones are counted soon, and seen to be wrong soon; but not where the way to them is long.
      if (count > fewMax || isLong(source)) this.#counts.set(key, { count, until: now + rememberedMs })
      return count
    })
  }

  /** One question to the database for all who ask it while it is under way. */
  #share<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const asked = this.#asking.get(key) as Promise<T> | undefined
    if (asked) return asked
    const asking = ask().finally(() => this.#asking.delete(key))
    this.#asking.set(key, asking)
    return asking
  }
}

function isFew(counts: readonly number[]): boolean {
  return (counts.at(-1) ?? 0) <= fewMax
}

/** Many have the words, and many the badge, but those that have both may stand anywhere. */
function isLong({ name, filter: { words, certifiedAt } }: Source): boolean {
  return name === 'in order' && words !== undefined && certifiedAt !== undefined
}

/** Questions with the same key have the same answer. */
function keyOf({ name, filter: { words, certifiedAt } }: Source): string {
  return JSON.stringify([name, words, certifiedAt])
}

interface Filter {
  readonly words: string | undefined
  readonly certifiedAt: Date | undefined
}

/** A way to all that match. */
interface Source {
  readonly name: string
  readonly filter: Filter
  readonly all: RawBuilder<unknown>
  page(order: string, range: Range): RawBuilder<{ bot_id: string }>
}

const isCertified = ({ certifiedAt }: Filter, row: string) =>
  certifiedAt ? sql`and ${sql.raw(row)}.is_badged and ${sql.raw(row)}.certified_until > ${certifiedAt}` : sql``

/** One look for each row, so that rows stay in their order. */
const hasWords = ({ words }: Filter, row: string) =>
  words === undefined
    ? sql``
    : sql`and (select l.words @@ ${words}::tsquery from listings l where l.bot_id = ${sql.raw(row)}.bot_id)`

/** Through the index of words. Standings are looked up one by one: few match, and the planner would read all of them. */
function matching(filter: Filter): Source {
  const found = sql`select bot_id from listings where words @@ ${filter.words}::tsquery`
  const visible = sql`from found f cross join lateral (
      select * from standings where bot_id = f.bot_id offset 0
    ) as s where s.hidden_at is null ${isCertified(filter, 's')}`
  return {
    name: 'matching',
    filter,
    // Hidden ones have no words.
    all: filter.certifiedAt ? sql`with found as materialized (${found}) select ${visible}` : found,
    page: (order, { limit, offset }) => sql`with found as materialized (${found}) select s.bot_id ${visible}
      order by ${sql.raw(prefixed(order))} limit ${limit} offset ${offset}`,
  }
}

/** Through the index of those that have the badge. */
function badged(filter: Filter): Source {
  const all = sql`select s.bot_id, s.heat, s.server_count, s.created_at from standings s
    where s.hidden_at is null ${isCertified(filter, 's')} ${hasWords(filter, 's')}`
  return {
    name: 'badged',
    filter,
    all,
    page: (order, { limit, offset }) => sql`${all}
      order by ${sql.raw(prefixed(order))} limit ${limit} offset ${offset}`,
  }
}

/** Through all in their order. The inner `offset 0` keeps the planner from doing it any other way. */
function inOrder(filter: Filter): Source {
  const visible = sql`select s.bot_id from standings s where s.hidden_at is null ${isCertified(filter, 's')}`
  return {
    name: 'in order',
    filter,
    all: sql`select from (${visible} offset 0) as w where true ${hasWords(filter, 'w')}`,
    page: (order, { limit, offset }) => sql`select w.bot_id
      from (${visible} order by ${sql.raw(prefixed(order))} offset 0) as w where true ${hasWords(filter, 'w')}
      limit ${limit} offset ${offset}`,
  }
}

function prefixed(order: string): string {
  return order.replace(/(^|, )/g, '$1s.')
}
