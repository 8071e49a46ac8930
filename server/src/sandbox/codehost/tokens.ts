import { randomInt, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { sha256 } from '../../lib/secret.ts'
import type { Host } from './host.ts'

const codeMs = 600_000
export const userMs = 28_800_000
export const refreshMs = 15_897_600_000
const installationMs = 3_600_000

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}

type Kept = Pick<Host, 'pool' | 'clock'>

function expiry({ clock }: Kept, ms: number): Date {
  return new Date(clock.now().getTime() + ms)
}

const nothing = {
  login: null,
  pair: null,
  installation_id: null,
  repository_ids: null,
  permissions: null,
  redirect_uri: null,
  challenge: null,
}

/** A code for somebody who has agreed. It works once, for ten minutes, and only for whoever answers its challenge. */
export async function issueCode(
  host: Kept,
  kind: 'code' | 'manifest',
  { login, redirectUri, challenge }: { login: string; redirectUri: string; challenge: string | null },
): Promise<string> {
  const code = randomText(20).toLowerCase()
  const { db } = host.pool
  await db.deleteFrom('sandbox_tokens').where('expires_at', '<', host.clock.now()).execute()
  const given = { login, redirect_uri: redirectUri, challenge, expires_at: expiry(host, codeMs) }
  await db
    .insertInto('sandbox_tokens')
    .values({ ...nothing, ...given, kind, hash: sha256(code) })
    .execute()
  return code
}

/** What a code or a refresh token stood for: it is gone with this. */
export async function redeem(
  host: Kept,
  kind: 'code' | 'manifest' | 'refresh',
  secret: string,
): Promise<{ login: string; redirectUri: string | null; challenge: string | null } | undefined> {
  const row = await host.pool.db
    .deleteFrom('sandbox_tokens')
    .where('hash', '=', sha256(secret))
    .where('kind', '=', kind)
    .where('expires_at', '>', host.clock.now())
    .returningAll()
    .executeTakeFirst()
  if (!row?.login) return undefined
  // With a refresh token goes the access token that came with it.
  if (row.pair !== null) await host.pool.db.deleteFrom('sandbox_tokens').where('pair', '=', row.pair).execute()
  return { login: row.login, redirectUri: row.redirect_uri, challenge: row.challenge }
}

export interface UserTokens {
  readonly accessToken: string
  readonly refreshToken: string
}

export async function issueUserTokens(host: Kept, login: string): Promise<UserTokens> {
  const [accessToken, refreshToken] = [`ghu_${randomText(36)}`, `ghr_${randomText(76)}`]
  const both = { ...nothing, login, pair: randomUUID() }
  await host.pool.db
    .insertInto('sandbox_tokens')
    .values([
      { ...both, kind: 'user', hash: sha256(accessToken), expires_at: expiry(host, userMs) },
      { ...both, kind: 'refresh', hash: sha256(refreshToken), expires_at: expiry(host, refreshMs) },
    ])
    .execute()
  return { accessToken, refreshToken }
}

export interface Narrowing {
  /** Null: all that the installation holds, later ones too. */
  readonly repositoryIds: readonly number[] | null
  readonly permissions: Readonly<Record<string, string>>
}

export async function issueInstallationToken(
  host: Kept,
  installationId: number,
  { repositoryIds, permissions }: Narrowing,
): Promise<{ token: string; expiresAt: Date }> {
  const [token, expiresAt] = [`ghs_${randomText(36)}`, expiry(host, installationMs)]
  await host.pool.db
    .insertInto('sandbox_tokens')
    .values({
      ...nothing,
      kind: 'installation',
      hash: sha256(token),
      installation_id: installationId,
      repository_ids: repositoryIds === null ? null : [...repositoryIds],
      permissions: JSON.stringify(permissions),
      expires_at: expiresAt,
    })
    .execute()
  return { token, expiresAt }
}

export type KnownToken =
  | { readonly kind: 'user'; readonly login: string; readonly expiresAt: Date }
  | ({ readonly kind: 'installation'; readonly installationId: number } & Narrowing)

/** Undefined: none of ours, or not any more. */
export async function findToken(host: Kept, token: string): Promise<KnownToken | undefined> {
  if (!/^gh[us]_\w{36}$/.test(token)) return undefined
  const row = await host.pool.db
    .selectFrom('sandbox_tokens')
    .selectAll()
    .where('hash', '=', sha256(token))
    .where('kind', 'in', ['user', 'installation'])
    .where('expires_at', '>', host.clock.now())
    .executeTakeFirst()
  if (row?.login) return { kind: 'user', login: row.login, expiresAt: row.expires_at }
  if (row?.installation_id === undefined || row.installation_id === null) return undefined
  return {
    kind: 'installation',
    installationId: row.installation_id,
    repositoryIds: row.repository_ids,
    permissions: row.permissions ?? {},
  }
}

/** False: there is no such token. With `isWhole`, all tokens of its person go, as when they take the app's access away. */
export async function revokeUserToken(host: Kept, token: string, { isWhole }: { isWhole: boolean }): Promise<boolean> {
  const known = await findToken(host, token)
  if (known?.kind !== 'user') return false
  const revoked = host.pool.db.deleteFrom('sandbox_tokens')
  await (isWhole
    ? revoked.where(sql<boolean>`lower(login) = ${known.login.toLowerCase()}`)
    : revoked.where('hash', '=', sha256(token))
  ).execute()
  return true
}
