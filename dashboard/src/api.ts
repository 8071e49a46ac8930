import { Botberth, BotberthError, type ErrorCode } from '@botberth/sdk'

const url = location.origin
/** Knows the visitor by their cookie alone. */
const visitor = new Botberth({ url, retries: 1 })
// So that a token is never sent in its last minutes.
const earlyMs = 10 * 60_000

let token: Promise<{ readonly accessToken: string; readonly expiresAt: string }> | undefined
let endsAt = Number.POSITIVE_INFINITY

/** Kept in memory only: nothing that a page of ours stores can be taken away and used elsewhere. */
async function accessToken(): Promise<string> {
  if (Date.now() > endsAt - earlyMs) forgetToken()
  token ??= visitor.auth.accessToken()
  try {
    const { accessToken, expiresAt } = await token
    endsAt = Date.parse(expiresAt)
    return accessToken
  } catch (error) {
    forgetToken()
    throw error
  }
}

export function forgetToken(): void {
  token = undefined
  endsAt = Number.POSITIVE_INFINITY
}

/** Everything that the dashboard asks of the server goes through this. */
export const api = new Botberth({ url, accessToken, retries: 2 })

export function isSignedOut(error: unknown): boolean {
  return error instanceof BotberthError && error.code === 'unauthenticated'
}

export function isMissing(error: unknown): boolean {
  return hasCode(error, 'not_found')
}

export function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof BotberthError && error.code === code
}

export function signInUrl(returnTo: string): string {
  return `/api/v1/auth/chat/login?${new URLSearchParams({ returnTo }).toString()}`
}
