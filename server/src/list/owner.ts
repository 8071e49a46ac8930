import type { Credentials } from '../auth/credentials.ts'
import { announceChange, findUser, insertAuditEvent } from '../auth/queries.ts'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { AppError, validationError } from '../lib/app-error.ts'
import { deleteVoteSubscription } from '../webhooks/queries.ts'
import { deleteListKey, issueListKey } from './keys.ts'
import {
  countOwn,
  deleteListing,
  type ListingChanges,
  lockOwn,
  type Mine,
  setOwner,
  updateListing,
} from './listings.ts'
import { listingsMax } from './registrations.ts'
import { normalTag } from './words.ts'

/* What the owner of a listing does with it. All throw `not_found` for somebody else's. */

interface Parts {
  readonly app: App
  readonly credentials: Credentials
}

interface Own extends Mine {
  readonly ip: string
}

/** The old key stops at once; the new one is in the return value and nowhere else. */
export async function reissueKey(
  { app, credentials }: Parts,
  { userId, botId, ip }: Own,
): Promise<{ key: string; last4: string }> {
  const issued = await tx(app.pool.db, async (db) => {
    const { name } = await lockOwn(db, { userId, botId })
    return issueListKey(db, { userId, botId, name, prefix: app.config.keyPrefix, ip }, app.clock.now())
  })
  credentials.forget()
  return issued
}

export interface Texts {
  readonly shortDescription?: string | undefined
  readonly description?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly inviteUrl?: string | null | undefined
  readonly supportUrl?: string | null | undefined
  readonly websiteUrl?: string | null | undefined
}

/** What is undefined stays; a URL that is null is taken away. */
export async function editListing({ pool, clock }: App, mine: Mine, texts: Texts): Promise<void> {
  await tx(pool.db, async (db) => {
    await lockOwn(db, mine)
    await updateListing(db, mine.botId, readTexts(texts), clock.now())
  })
}

function readTexts(texts: Texts): ListingChanges {
  const { shortDescription, description, tags, inviteUrl, supportUrl, websiteUrl } = texts
  return {
    ...(shortDescription !== undefined && { short_description: shortDescription.trim() }),
    ...(description !== undefined && { description }),
    ...(tags !== undefined && { tags: [...new Set(tags.map(normalTag))] }),
    ...(inviteUrl !== undefined && { invite_url: readLink('/inviteUrl', inviteUrl) }),
    ...(supportUrl !== undefined && { support_url: readLink('/supportUrl', supportUrl) }),
    ...(websiteUrl !== undefined && { website_url: readLink('/websiteUrl', websiteUrl) }),
  }
}

/** In one spelling. It is shown as a link, so that nothing but http and https may come through. */
function readLink(pointer: string, link: string | null): string | null {
  if (link === null) return null
  const url = URL.canParse(link) ? new URL(link) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw validationError([{ pointer, detail: 'takes an http or https URL without a user name or password' }])
  return url.href
}

/** With its key, its statistics and its vote webhook. */
export async function removeListing({ app, credentials }: Parts, { userId, botId, ip }: Own): Promise<void> {
  await tx(app.pool.db, async (db) => {
    const { name } = await lockOwn(db, { userId, botId })
    await announceChange(db)
    await deleteListing(db, botId)
    await insertAuditEvent(db, { userId, kind: 'listing_deleted', details: { botId, name }, ip }, app.clock.now())
  })
  credentials.forget()
}

/** To somebody who has signed in here before. What the old owner knows or set up ends: the key, the vote webhook. */
export async function transferListing(
  { app, credentials }: Parts,
  { userId, botId, ip }: Own,
  chatUserId: string,
): Promise<{ name: string; avatarUrl: string | null }> {
  const receiver = await tx(app.pool.db, async (db) => {
    const { name } = await lockOwn(db, { userId, botId })
    const found = await lockReceiver(db, chatUserId)
    if (!found || found.suspended_at)
      throw new AppError('invalid_state', { detail: `Nobody with the id ${chatUserId} has signed in here.` })
    if (found.id === userId) throw new AppError('invalid_state', { detail: 'It is yours already.' })
    if ((await countOwn(db, found.id)) >= listingsMax)
      throw new AppError('limit_reached', { detail: `They have ${listingsMax} bots on the list, which is the most.` })
    const now = app.clock.now()
    await deleteListKey(db, botId)
    await deleteVoteSubscription(db, botId)
    await setOwner(db, botId, { userId: found.id, now })
    const from = (await findUser(db, userId))?.name ?? ''
    await insertAuditEvent(db, { userId, kind: 'listing_given', details: { botId, name, to: found.name }, ip }, now)
    await insertAuditEvent(db, { userId: found.id, kind: 'listing_taken', details: { botId, name, from } }, now)
    return found
  })
  credentials.forget()
  return { name: receiver.name, avatarUrl: receiver.avatar_url }
}

/** So that two transfers do not pass the limit together. No stronger lock: or two people who give each other a bot wait for ever. */
function lockReceiver(
  db: Db,
  chatUserId: string,
): Promise<{ id: string; name: string; avatar_url: string | null; suspended_at: Date | null } | undefined> {
  return db
    .selectFrom('users')
    .select(['id', 'name', 'avatar_url', 'suspended_at'])
    .where('chat_user_id', '=', chatUserId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}
