import { getOwner } from '../auth/owner.ts'
import type { Db } from '../db/pool.ts'
import { StartError } from '../lib/data-dir.ts'
import { sha256 } from '../lib/secret.ts'
import { issueListKey, putListKey } from './keys.ts'
import { findOwnerOf, insertListing } from './listings.ts'

/* Listings of the owner that come from the operator, who needs to prove nothing to this server. */

/** Lists the bot for the owner, with that key. */
export async function ensureListing(db: Db, { botId, key }: { botId: string; key: string }, now: Date): Promise<void> {
  await ensureOwnListing(db, botId, now)
  const known = await db.selectFrom('list_keys').select('bot_id').where('hash', '=', sha256(key)).executeTakeFirst()
  if (known && known.bot_id !== botId)
    throw new StartError('The key in BOOTSTRAP_LIST_KEY is that of another bot. Choose another one.')
  if (!known) await putListKey(db, { botId, key }, now)
}

/** Lists the bot for the owner, if nobody has yet, and makes a new key for it; the old one stops. */
export async function createListKey(
  db: Db,
  { botId, prefix }: { botId: string; prefix: string },
  now: Date,
): Promise<string> {
  const userId = await ensureOwnListing(db, botId, now)
  return (await issueListKey(db, { userId, botId, name: nameOf(botId), prefix }, now)).key
}

async function ensureOwnListing(db: Db, botId: string, now: Date): Promise<string> {
  const { id: userId } = await getOwner(db)
  const name = nameOf(botId)
  await insertListing(db, { botId, applicationId: botId, userId, name, avatarUrl: null, profileAt: null }, now)
  if ((await findOwnerOf(db, botId))?.user_id !== userId)
    throw new StartError(`The bot ${botId} is listed by somebody else than the owner.`)
  return userId
}

function nameOf(botId: string): string {
  return `Bot ${botId.slice(-4)}`
}
