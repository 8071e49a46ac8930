import { createPublicKey } from 'node:crypto'
import { errors, jwtVerify } from 'jose'
import { belongsTo } from './accounts.ts'
import type { Host } from './host.ts'
import { findInstallation, findInstallationOf, type Installation, isHeld } from './installations.ts'
import type { Repository } from './repositories.ts'
import { findToken, type Narrowing } from './tokens.ts'
import { badCredentials, notAccessible, notFound, suspended, WireError } from './wire-error.ts'

/** Who asks. */
export type Caller =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'app' }
  | { readonly kind: 'user'; readonly login: string }
  | ({ readonly kind: 'installation'; readonly installation: Installation } & Narrowing)

// The platform's own limit on how long an app may vouch for itself.
const jwtSecondsMax = 600
const leewaySeconds = 60

/** By the `Authorization` field, as `Bearer` or, as older clients write it, `token`. */
export async function readCaller(host: Host, authorization: string | undefined): Promise<Caller> {
  if (!authorization) return { kind: 'nobody' }
  const token = /^(?:bearer|token) +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined) throw badCredentials()
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return readApp(host, token)
  const caller = await callerOf(host, token)
  if (!caller) throw badCredentials()
  return caller
}

/** Undefined: the token is not good, or not any more. */
export async function callerOf(host: Host, token: string): Promise<Caller | undefined> {
  const known = await findToken(host, token)
  if (known === undefined || known.kind === 'user') return known
  const installation = await findInstallation(host.pool.db, known.installationId)
  if (!installation) return undefined
  if (installation.suspended_at !== null) throw suspended()
  return { ...known, installation }
}

async function readApp({ identity, clock }: Host, token: string): Promise<Caller> {
  const { appId, clientId, publicKey } = await identity()
  const now = Math.floor(clock.now().getTime() / 1000)
  try {
    const { payload } = await jwtVerify(token, createPublicKey(publicKey), {
      algorithms: ['RS256'],
      currentDate: clock.now(),
      clockTolerance: leewaySeconds,
      requiredClaims: ['iss', 'iat', 'exp'],
    })
    const { iss, iat = 0, exp = 0 } = payload as { iss?: unknown; iat?: number; exp?: number }
    if (![String(appId), clientId].includes(String(iss))) throw new WireError(404, 'Integration not found')
    if (exp > now + jwtSecondsMax + leewaySeconds)
      throw new WireError(401, "'Expiration time' claim ('exp') is too far in the future")
    if (iat > now + leewaySeconds)
      throw new WireError(
        401,
        "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
      )
    return { kind: 'app' }
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      throw new WireError(
        401,
        "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
      )
    if (error instanceof errors.JOSEError) throw new WireError(401, 'A JSON web token could not be decoded')
    throw error
  }
}

/** Whether the app may act on a repository for this caller: it is installed there, and the token reaches that far. */
export async function covers(host: Host, caller: Caller, repository: Repository): Promise<boolean> {
  const { db } = host.pool
  if (caller.kind === 'installation') {
    const isNamed = caller.repositoryIds === null || caller.repositoryIds.includes(repository.id)
    return isNamed && (await isHeld(db, { repositoryId: repository.id, installationId: caller.installation.id }))
  }
  if (caller.kind !== 'user' || !(await belongsTo(db, caller.login, repository.owner))) return false
  const installation = await findInstallationOf(db, repository.owner)
  if (!installation || installation.suspended_at !== null) return false
  return isHeld(db, { repositoryId: repository.id, installationId: installation.id })
}

/** Everybody sees what is public; what else there is, only those whose token covers it. */
export async function getVisible(host: Host, caller: Caller, repository: Repository | undefined): Promise<Repository> {
  if (repository && (!repository.is_private || (await covers(host, caller, repository)))) return repository
  throw notFound()
}

/** For what changes something, or reads it by a right of its own. */
export async function getPermitted(
  host: Host,
  caller: Caller,
  repository: Repository | undefined,
  [permission, level]: readonly [string, 'read' | 'write'],
): Promise<Repository> {
  const visible = await getVisible(host, caller, repository)
  if (!(await covers(host, caller, visible))) throw notAccessible()
  if (caller.kind === 'installation' && !grants(caller.permissions[permission], level)) throw notAccessible()
  return visible
}

export function grants(given: string | undefined, wanted: string): boolean {
  return given === wanted || given === 'write'
}
