import type { Db } from '../db/pool.ts'
import { StartError } from '../lib/data-dir.ts'
import { randomToken, sha256 } from '../lib/secret.ts'
import { createApiKey } from './keys.ts'
import {
  announceChange,
  findOwner,
  insertOneTimeCode,
  insertUser,
  putBootstrapKey,
  takeOneTimeCode,
  type UserRow,
} from './queries.ts'

const linkMs = 10 * 60_000

interface FirstStart {
  readonly keyPrefix: string
  readonly bootstrapApiKey: string | undefined
}

/** What the first start prints, once: the code of a sign-in link, and a key unless the operator brought one. */
export interface Welcome {
  readonly linkCode: string
  readonly key: string | undefined
}

/** Makes the owner if there is none, in one transaction. Undefined: there was one. */
export async function ensureOwner(
  db: Db,
  { keyPrefix, bootstrapApiKey }: FirstStart,
  now: Date,
): Promise<Welcome | undefined> {
  const made = await insertUser(db, { chatUserId: null, name: 'Owner', avatarUrl: null, role: 'owner' }, now)
  const owner = made ?? (await getOwner(db))
  if (bootstrapApiKey !== undefined) {
    const key = { userId: owner.id, hash: sha256(bootstrapApiKey), last4: bootstrapApiKey.slice(-4) }
    const isOurs = await putBootstrapKey(db, key, now)
    await announceChange(db)
    if (!isOurs) throw new StartError('BOOTSTRAP_API_KEY is a key of somebody else than the owner. Choose another one.')
  }
  if (!made) return undefined
  const linkCode = await createOwnerLink(db, now)
  if (bootstrapApiKey !== undefined) return { linkCode, key: undefined }
  const { key } = await createApiKey(db, { userId: owner.id, name: 'First start', prefix: keyPrefix }, now)
  return { linkCode, key }
}

/** Good for one sign-in as the owner within ten minutes. */
export async function createOwnerLink(db: Db, now: Date): Promise<string> {
  const code = randomToken()
  await insertOneTimeCode(db, {
    kind: 'owner',
    hash: sha256(code),
    data: {},
    expiresAt: new Date(now.getTime() + linkMs),
  })
  return code
}

export async function useOwnerLink(db: Db, code: string, now: Date): Promise<UserRow | undefined> {
  return (await takeOneTimeCode(db, 'owner', sha256(code), now)) ? getOwner(db) : undefined
}

export async function getOwner(db: Db): Promise<UserRow> {
  const owner = await findOwner(db)
  if (!owner) throw new Error('there is no owner yet: start the server first')
  return owner
}
