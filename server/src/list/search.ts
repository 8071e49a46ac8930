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
 * a bound. Large counts are remembered for a minute.
 */
export class Search {
  readonly #app: App
  readonly #counts = new Map<string, { count: number; until: number }>()

  constructor(app: App) {
    this.#app = app
  }

  /** A page of ids in their order, and how many there are in all. */
  async find(wanted: Wanted, { limit, offset }: Range): Promise<{ botIds: string[]; total: number }> {
    const words = searchFor(wanted)
    if (words === null) return { botIds: [], total: 0 }
    const now = this.#app.clock.now()
    const filter = { words, certifiedAt: wanted.certified ? now : undefined }
    const source = await this.#choose(filter)
    const total = await this.#count(`${source.name} ${words} ${wanted.certified}`, source.all)
    const most = Math.min(limit, countedMax - offset)
    if (most <= 0 || offset >= total) return { botIds: [], total }
    const { rows } = await source
      .page(orders[wanted.sort ?? 'votes'], { limit: most, offset })
      .execute(this.#app.pool.db)
    return { botIds: rows.map(({ bot_id: botId }) => botId), total }
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

  async #choose(filter: Filter): Promise<Source> {
    const byWords = filter.words !== undefined && (await this.#isFew(matching({ ...filter, certifiedAt: undefined })))
    if (byWords) return matching(filter)
    const byBadge = filter.certifiedAt && (await this.#isFew(badged({ ...filter, words: undefined })))
    return byBadge ? badged(filter) : inOrder(filter)
  }

  async #isFew({ name, all, filter }: Source): Promise<boolean> {
    return (await this.#count(`${name} ${filter.words} ${filter.certifiedAt !== undefined}`, all)) <= fewMax
  }

  async #count(key: string, all: RawBuilder<unknown>): Promise<number> {
    const now = this.#app.clock.now().getTime()
    const known = this.#counts.get(key)
    if (known && known.until > now && known.until <= now + rememberedMs) return known.count
    const { rows } = await sql<{ count: number }>`select count(*)::integer as count
      from (${all} limit ${sql.lit(countedMax)}) as counted`.execute(this.#app.pool.db)
    const count = rows[0]?.count ?? 0
    if (this.#counts.size >= rememberedMax) this.#counts.clear()
    // Small ones are counted soon, and seen to be wrong soon.
    if (count > fewMax) this.#counts.set(key, { count, until: now + rememberedMs })
    return count
  }
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
  const conditions = sql`${isCertified(filter, 'w')} ${hasWords(filter, 'w')}`
  const columns = sql`bot_id, is_badged, certified_until`
  const visible = sql`select ${columns} from standings where hidden_at is null`
  return {
    name: 'in order',
    filter,
    all: sql`select from (${visible} offset 0) as w where true ${conditions}`,
    page: (order, { limit, offset }) => sql`select w.bot_id
      from (${visible} order by ${sql.raw(order)} offset 0) as w where true ${conditions}
      limit ${limit} offset ${offset}`,
  }
}

function prefixed(order: string): string {
  return order.replace(/(^|, )/g, '$1s.')
}
