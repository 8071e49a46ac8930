import { sql } from 'kysely'
import type { Db, Pool } from '../db/pool.ts'
import { AppError } from '../lib/app-error.ts'
import { dayOf, monthOf, newBotHeat } from './heat.ts'
import { wordsOf } from './words.ts'

/** What a card in a list needs. */
export interface CardRow {
  readonly bot_id: string
  readonly name: string
  readonly avatar_url: string | null
  readonly short_description: string
  readonly tags: string[]
  readonly invite_url: string | null
  readonly server_count: number | null
  readonly stats_at: Date | null
  readonly votes_month: number
  readonly votes_total: number
  /** At the moment of asking. */
  readonly is_certified: boolean
  readonly created_at: Date
}

export interface ListingRow extends CardRow {
  readonly application_id: string
  readonly description: string
  readonly support_url: string | null
  readonly website_url: string | null
  readonly user_id: string
  readonly owner_name: string
  readonly owner_avatar_url: string | null
  readonly certified_until: Date | null
  readonly hidden_at: Date | null
  /** When the chat platform was last asked for its name and picture. */
  readonly profile_at: Date | null
}

export interface OwnRow extends ListingRow {
  readonly votes_today: number
  readonly key_last4: string | null
  readonly key_created_at: Date | null
  readonly key_last_used_at: Date | null
}

const cardColumns = `l.bot_id, l.name, l.avatar_url, l.short_description, l.tags, l.invite_url, s.server_count, s.stats_at,
  case when s.month = $2 then s.votes_month else 0 end as votes_month, s.votes_total,
  coalesce(s.certified_until > $3, false) as is_certified, l.created_at`
const columns = `${cardColumns}, l.application_id, l.description, l.support_url, l.website_url, l.user_id,
  u.name as owner_name, u.avatar_url as owner_avatar_url, s.certified_until, s.hidden_at, s.profile_at`
const cardTables = 'listings l join standings s on s.bot_id = l.bot_id'
const tables = `${cardTables} join users u on u.id = l.user_id`

/** Undefined: there is none, or it is hidden. */
export async function findListing(pool: Pool, botId: string, now: Date): Promise<ListingRow | undefined> {
  const [row] = await pool.query<ListingRow>(
    `select ${columns} from ${tables} where l.bot_id = $1 and s.hidden_at is null`,
    [botId, monthOf(now), now],
  )
  return row
}

export async function getListing(pool: Pool, botId: string, now: Date): Promise<ListingRow> {
  const row = await findListing(pool, botId, now)
  if (!row) throw new AppError('not_found')
  return row
}

/** In the order of the ids; those that have gone meanwhile are left out. */
export async function readListings(pool: Pool, botIds: readonly string[], now: Date): Promise<ListingRow[]> {
  const text = `select ${columns} from ${tables} where l.bot_id = any($1)`
  return inOrder(botIds, botIds.length > 0 ? await pool.query<ListingRow>(text, [botIds, monthOf(now), now]) : [])
}

/** The same without what only the page of a bot shows: descriptions are long. */
export async function readCards(pool: Pool, botIds: readonly string[], now: Date): Promise<CardRow[]> {
  const text = `select ${cardColumns} from ${cardTables} where l.bot_id = any($1)`
  return inOrder(botIds, botIds.length > 0 ? await pool.query<CardRow>(text, [botIds, monthOf(now), now]) : [])
}

function inOrder<T extends { bot_id: string }>(botIds: readonly string[], rows: readonly T[]): T[] {
  const byId = new Map(rows.map((row) => [row.bot_id, row]))
  return botIds.flatMap((id) => byId.get(id) ?? [])
}

const ownTables = `${tables} left join list_keys k on k.bot_id = l.bot_id
  left join listing_days d on d.bot_id = l.bot_id and d.day = $4`
const ownColumns = `${columns}, coalesce(d.votes, 0) as votes_today,
  k.last4 as key_last4, k.created_at as key_created_at, k.last_used_at as key_last_used_at`

/** Somebody's own, hidden ones too, newest first. */
export function listOwn(pool: Pool, userId: string, now: Date): Promise<OwnRow[]> {
  return pool.query<OwnRow>(
    `select ${ownColumns} from ${ownTables} where l.user_id = $1 order by l.created_at desc, l.bot_id desc`,
    [userId, monthOf(now), now, dayOf(now)],
  )
}

/** For whoever may see all of it: its owner, or the operator. */
export async function getWhole(pool: Pool, botId: string, now: Date): Promise<OwnRow> {
  const [row] = await pool.query<OwnRow>(`select ${ownColumns} from ${ownTables} where l.bot_id = $1`, [
    botId,
    monthOf(now),
    now,
    dayOf(now),
  ])
  if (!row) throw new AppError('not_found')
  return row
}

export interface Mine {
  readonly userId: string
  readonly botId: string
}

/** Nobody else's, and nobody changes it until the transaction ends. */
export async function lockOwn(db: Db, { userId, botId }: Mine): Promise<{ name: string }> {
  if (await isOwn(db, { userId, botId })) await lockStanding(db, botId)
  const row = await db
    .selectFrom('listings')
    .select('name')
    .where('bot_id', '=', botId)
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst()
  if (!row) throw new AppError('not_found')
  return row
}

/** Before the listing itself, as all do. */
async function lockStanding(db: Db, botId: string): Promise<void> {
  await db.selectFrom('standings').select('bot_id').where('bot_id', '=', botId).forUpdate().execute()
}

export async function isOwn(db: Db, { userId, botId }: Mine): Promise<boolean> {
  const row = await db
    .selectFrom('listings')
    .select('bot_id')
    .where('bot_id', '=', botId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row !== undefined
}

/** Whose it is; undefined: nobody's. */
export function findOwnerOf(db: Db, botId: string): Promise<{ user_id: string } | undefined> {
  return db.selectFrom('listings').select('user_id').where('bot_id', '=', botId).executeTakeFirst()
}

export async function countOwn(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('listings')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

interface NewListing {
  readonly botId: string
  readonly applicationId: string
  readonly userId: string
  readonly name: string
  readonly avatarUrl: string | null
  /** When the platform said so; null: it did not. */
  readonly profileAt: Date | null
}

/** False: it, or its application, is on the list already. One that the operator has hidden before is hidden again. */
export async function insertListing(db: Db, listing: NewListing, now: Date): Promise<boolean> {
  const { botId, applicationId, userId, name, avatarUrl, profileAt } = listing
  const inserted = await db
    .insertInto('listings')
    .values({
      bot_id: botId,
      application_id: applicationId,
      user_id: userId,
      name,
      avatar_url: avatarUrl,
      words: toVector([]),
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('bot_id')
    .executeTakeFirst()
  if (!inserted) return false
  await db
    .insertInto('standings')
    .values({
      bot_id: botId,
      month: monthOf(now),
      heat: newBotHeat(now),
      hidden_at: sql<Date | null>`(select hidden_at from hidden_bots where application_id = ${applicationId})`,
      profile_at: profileAt,
      created_at: now,
    })
    .execute()
  await writeWords(db, botId)
  return true
}

export interface ListingChanges {
  readonly short_description?: string
  readonly description?: string
  readonly tags?: string[]
  readonly invite_url?: string | null
  readonly support_url?: string | null
  readonly website_url?: string | null
}

/** Of a listing that is locked, with the words that it is found by. */
export async function updateListing(db: Db, botId: string, changes: ListingChanges, now: Date): Promise<void> {
  await db
    .updateTable('listings')
    .set({ ...changes, updated_at: now })
    .where('bot_id', '=', botId)
    .execute()
  await writeWords(db, botId)
}

/** As the chat platform has it now. */
export async function updateProfile(
  db: Db,
  botId: string,
  { name, avatarUrl }: { name: string; avatarUrl: string | null },
  now: Date,
): Promise<void> {
  const changed = await db
    .updateTable('listings')
    .set({ name, avatar_url: avatarUrl, updated_at: now })
    .where('bot_id', '=', botId)
    .where(sql<boolean>`(name, avatar_url) is distinct from (${name}, ${avatarUrl})`)
    .returning('bot_id')
    .executeTakeFirst()
  if (changed) await writeWords(db, botId)
}

/** None while it is hidden. */
async function writeWords(db: Db, botId: string): Promise<void> {
  const row = await db
    .selectFrom('listings')
    .innerJoin('standings', 'standings.bot_id', 'listings.bot_id')
    .select(['name', 'short_description', 'description', 'tags', 'hidden_at'])
    .where('listings.bot_id', '=', botId)
    .executeTakeFirstOrThrow()
  const { name, short_description: shortDescription, description, tags, hidden_at: hiddenAt } = row
  const words = hiddenAt ? [] : wordsOf({ name, shortDescription, description, tags })
  await db
    .updateTable('listings')
    .set({ words: toVector(words) })
    .where('bot_id', '=', botId)
    .execute()
}

function toVector(words: readonly string[]) {
  return sql<string>`array_to_tsvector(${words}::text[])`
}

/** Hidden ones keep when they were hidden, even beyond the listing. */
export async function setHidden(db: Db, botId: string, { hidden, now }: { hidden: boolean; now: Date }): Promise<void> {
  await lockStanding(db, botId)
  const found = await db
    .selectFrom('listings')
    .select('application_id')
    .where('bot_id', '=', botId)
    .forUpdate()
    .executeTakeFirst()
  if (!found) throw new AppError('not_found')
  await db
    .updateTable('standings')
    .set({ hidden_at: hidden ? sql<Date>`coalesce(hidden_at, ${now})` : null })
    .where('bot_id', '=', botId)
    .execute()
  await writeHidden(db, { application_id: found.application_id, bot_id: botId }, hidden ? now : undefined)
  await writeWords(db, botId)
}

async function writeHidden(
  db: Db,
  bot: { application_id: string; bot_id: string },
  hiddenAt: Date | undefined,
): Promise<void> {
  if (hiddenAt)
    await db
      .insertInto('hidden_bots')
      .values({ ...bot, hidden_at: hiddenAt })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  else await db.deleteFrom('hidden_bots').where('application_id', '=', bot.application_id).execute()
}

export async function deleteListing(db: Db, botId: string): Promise<void> {
  await db.deleteFrom('listings').where('bot_id', '=', botId).execute()
}

export async function setOwner(db: Db, botId: string, { userId, now }: { userId: string; now: Date }): Promise<void> {
  await db.updateTable('listings').set({ user_id: userId, updated_at: now }).where('bot_id', '=', botId).execute()
}

// Beyond it nobody counts places.
const rankMax = 100

/** Its place by recent votes, from 1; undefined: too far down to count. */
export async function findRank(pool: Pool, botId: string): Promise<number | undefined> {
  const [row] = await pool.query<{ rank: number }>(
    `select (select count(*)::integer from (
        select from standings b where b.hidden_at is null and (b.heat, b.bot_id) > (s.heat, s.bot_id) limit ${rankMax}
      ) as before) + 1 as rank
     from standings s where s.bot_id = $1 and s.hidden_at is null`,
    [botId],
  )
  return row && row.rank <= rankMax ? row.rank : undefined
}
