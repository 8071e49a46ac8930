import { randomInt } from 'node:crypto'
import type { Selectable } from 'kysely'
import { insertAuditEvent, lockUser } from '../auth/queries.ts'
import { type BotProfile, type ChatPlatform, fetchBotProfile } from '../chat/client.ts'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import type { Tables } from '../db/tables.ts'
import { tx } from '../db/tx.ts'
import { AppError } from '../lib/app-error.ts'
import { newId } from '../lib/ids.ts'
import { issueListKey } from './keys.ts'
import { countOwn, findOwnerOf, insertListing } from './listings.ts'

const codeMs = 24 * 60 * 60_000
const pendingMax = 20
export const listingsMax = 100
// No vowels, so that no code is a word; nothing that looks like something else.
const codeLetters = 'bcdfghjkmnpqrstvwxz23456789'
const codeLength = 12

export type RegistrationRow = Selectable<Tables['registrations']>

interface Wanted {
  readonly userId: string
  readonly botId: string
  readonly applicationId: string
}

/** Begins a registration. One of the same bot by the same person before it is gone. */
export async function createRegistration(
  db: Db,
  { userId, botId, applicationId }: Wanted,
  now: Date,
): Promise<RegistrationRow> {
  await lockUser(db, userId)
  await checkNotListed(db, { userId, botId })
  await checkRoom(db, userId)
  await db.deleteFrom('registrations').where('user_id', '=', userId).where('bot_id', '=', botId).execute()
  await db.deleteFrom('registrations').where('user_id', '=', userId).where('expires_at', '<=', now).execute()
  if ((await listRegistrations(db, userId, now)).length >= pendingMax)
    throw new AppError('limit_reached', {
      detail: `${pendingMax} of your registrations wait for their verification. Finish one first; they expire after a day.`,
    })
  return db
    .insertInto('registrations')
    .values({
      id: newId('reg', now),
      user_id: userId,
      bot_id: botId,
      application_id: applicationId,
      code: `botberth-${Array.from({ length: codeLength }, () => codeLetters[randomInt(codeLetters.length)]).join('')}`,
      created_at: now,
      expires_at: new Date(now.getTime() + codeMs),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function checkNotListed(db: Db, { userId, botId }: { userId: string; botId: string }): Promise<void> {
  const owner = await findOwnerOf(db, botId)
  if (!owner) return
  const whose = owner.user_id === userId ? 'It is yours: look at My Bots.' : 'Its owner can transfer it to you.'
  throw new AppError('already_listed', { detail: `This bot is on the list already. ${whose}` })
}

async function checkRoom(db: Db, userId: string): Promise<void> {
  if ((await countOwn(db, userId)) >= listingsMax)
    throw new AppError('limit_reached', { detail: `You have ${listingsMax} bots on the list, which is the most.` })
}

/** Newest first; those that have expired are gone. */
export function listRegistrations(db: Db, userId: string, now: Date): Promise<RegistrationRow[]> {
  return db
    .selectFrom('registrations')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('id', 'desc')
    .execute()
}

/** An expired one too, for as long as it is kept. */
export async function getRegistration(
  db: Db,
  { userId, id }: { userId: string; id: string },
): Promise<RegistrationRow> {
  const row = await db
    .selectFrom('registrations')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (!row) throw new AppError('not_found')
  return row
}

interface Verify {
  readonly platform: Pick<ChatPlatform, 'apiUrl'>
  readonly userId: string
  readonly id: string
  readonly ip: string
}

/**
 * Reads the bot's About Me and lists the bot if the code stands there. The key is in the return value and nowhere else.
 * The platform is asked outside of any transaction; who verifies at the same time is stopped by the rows.
 */
export async function verifyRegistration(
  app: App,
  { platform, userId, id, ip }: Verify,
): Promise<{ botId: string; key: string }> {
  const { pool, clock, config } = app
  const registration = await getRegistration(pool.db, { userId, id })
  const {
    bot_id: botId,
    application_id: applicationId,
    name,
    avatarUrl,
  } = {
    ...registration,
    ...(await readProof(platform, registration, clock.now())),
  }
  return tx(pool.db, async (db) => {
    const now = clock.now()
    await lockUser(db, userId)
    await checkNotListed(db, { userId, botId })
    await checkRoom(db, userId)
    await takeRegistration(db, id)
    if (!(await insertListing(db, { botId, applicationId, userId, name, avatarUrl, profileAt: now }, now)))
      throw new AppError('already_listed')
    await insertAuditEvent(db, { userId, kind: 'listing_created', details: { botId, name }, ip }, now)
    const { key } = await issueListKey(db, { userId, botId, name, prefix: config.keyPrefix, ip }, now)
    return { botId, key }
  })
}

async function takeRegistration(db: Db, id: string): Promise<void> {
  const { numDeletedRows } = await db.deleteFrom('registrations').where('id', '=', id).executeTakeFirst()
  if (numDeletedRows === 0n) throw new AppError('not_found') // begun anew meanwhile
}

/** The profile with the code in it, or throws what is in the way. */
async function readProof(platform: Verify['platform'], registration: RegistrationRow, now: Date): Promise<BotProfile> {
  const { application_id: applicationId, code, expires_at: expiresAt } = registration
  if (expiresAt <= now) throw new AppError('code_expired')
  const profile = await fetchBotProfile(platform, applicationId)
  if (!profile)
    throw new AppError('code_not_found', {
      detail: `The chat platform knows no application ${applicationId}. An old bot’s application has another id than its user: register it with that one as applicationId.`,
      members: { aboutMe: null },
    })
  if (!profile.aboutMe.includes(code))
    throw new AppError('code_not_found', {
      detail: `The code ${code} does not stand in the About Me of ${profile.name}.`,
      members: { aboutMe: profile.aboutMe },
    })
  if (!(await isItsApplication(platform, registration, profile)))
    throw new AppError('invalid_state', {
      detail: `The application ${applicationId} is not that of the bot ${registration.bot_id}.`,
    })
  return profile
}

/**
 * Or somebody could list a bot that is not theirs by the profile of one that is. The two ids are the same but for bots
 * of the platform's first years; where it does not say which user an application has, only those are believed, and
 * only if no application has the user's id.
 */
async function isItsApplication(
  platform: Verify['platform'],
  { bot_id: botId, application_id: applicationId }: RegistrationRow,
  { botId: named }: BotProfile,
): Promise<boolean> {
  if (named !== undefined) return named === botId
  if (botId === applicationId) return true
  return isOld(botId) && isOld(applicationId) && (await fetchBotProfile(platform, botId)) === undefined
}

const platformEpochMs = 1_420_070_400_000
const oneIdSince = Date.parse('2017-01-01T00:00:00Z')

/** Ids of the platform carry the time at which they were made. */
function isOld(snowflake: string): boolean {
  return Number(BigInt(snowflake) >> 22n) + platformEpochMs < oneIdSince
}
