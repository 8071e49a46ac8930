import { AppError } from '../lib/app-error.ts'

export interface ChatPlatform {
  /** Of its REST API, version included. */
  readonly apiUrl: string
  /** The same as the browser reaches it. */
  readonly browserUrl: string
  readonly clientId: string
  readonly clientSecret: string
}

/** The part of the platform's user object that we keep. */
export interface ChatUser {
  readonly id: string
  readonly name: string
  readonly avatarUrl: string | null
}

/** What the platform shows of a bot's application to everybody. */
export interface BotProfile {
  readonly name: string
  readonly avatarUrl: string | null
  readonly aboutMe: string
  /** The bot's user, where the platform names it. */
  readonly botId: string | undefined
}

const timeoutMs = 8_000
const answerBytesMax = 1024 * 1024

interface Authorization {
  readonly redirectUri: string
  readonly state: string
  readonly codeChallenge: string
  /** `login_hint` and `prompt`, which let a script sign in to the sandbox. */
  readonly hints: Readonly<Record<string, string>>
}

/** Where to send the browser. `identify` is all we ask for: who somebody is. */
export function authorizationUrl(
  { browserUrl, clientId }: ChatPlatform,
  { redirectUri, state, codeChallenge, hints }: Authorization,
): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    scope: 'identify',
    redirect_uri: redirectUri,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...hints,
  })
  return `${browserUrl}/oauth2/authorize?${query.toString()}`
}

/** The access token for a code; undefined if the platform does not take the code. */
export async function exchangeCode(
  platform: ChatPlatform,
  { code, redirectUri, codeVerifier }: { code: string; redirectUri: string; codeVerifier: string },
): Promise<string | undefined> {
  const { status, body } = await ask(`${platform.apiUrl}/oauth2/token`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${platform.clientId}:${platform.clientSecret}`).toString('base64')}`,
    },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: codeVerifier,
    }),
  })
  if (status === 400) return undefined
  const { access_token: token } = expectOk(status, body) as { access_token?: unknown }
  if (typeof token !== 'string')
    throw new AppError('platform_failed', { cause: new Error('no access_token in the answer') })
  return token
}

export async function fetchUser(platform: ChatPlatform, accessToken: string): Promise<ChatUser> {
  const { status, body } = await ask(`${platform.apiUrl}/users/@me`, {
    headers: { authorization: `Bearer ${accessToken}` },
  })
  const user = expectOk(status, body) as { id?: unknown; username?: unknown; global_name?: unknown; avatar?: unknown }
  if (typeof user.id !== 'string' || !/^\d{1,20}$/.test(user.id) || typeof user.username !== 'string') {
    throw new AppError('platform_failed', { cause: new Error('the answer is no user') })
  }
  const name = typeof user.global_name === 'string' && user.global_name ? user.global_name : user.username
  return { id: user.id, name: cleanName(name), avatarUrl: imageUrl('avatars', user.id, user.avatar) }
}

/**
 * The public profile of an application; undefined if the platform knows none with this id. The platform publishes the
 * schema of what it answers, but not this path: nobody but this function knows it.
 */
export async function fetchBotProfile(
  { apiUrl }: Pick<ChatPlatform, 'apiUrl'>,
  applicationId: string,
): Promise<BotProfile | undefined> {
  const { status, body } = await ask(`${apiUrl}/applications/${encodeURIComponent(applicationId)}/rpc`, {})
  if (status === 404 && isProblem(body)) return undefined
  const profile = expectOk(status, body) as Record<'id' | 'name' | 'icon' | 'description' | 'bot', unknown>
  if (profile.id !== applicationId || typeof profile.name !== 'string') {
    throw new AppError('platform_failed', { cause: new Error('the answer is no application') })
  }
  const { id: botId } = (profile.bot ?? {}) as { id?: unknown }
  return {
    name: cleanName(profile.name),
    avatarUrl: imageUrl('app-icons', applicationId, profile.icon),
    aboutMe: typeof profile.description === 'string' ? profile.description.toWellFormed() : '',
    botId: typeof botId === 'string' ? botId : undefined,
  }
}

/** The platform's own words for what it does not know, and not some proxy's. */
function isProblem(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'code' in body
}

/** Names are other people's texts: no control or direction characters, not endless, never nothing. */
function cleanName(name: string): string {
  const clean = name
    .toWellFormed()
    .replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim()
  return [...clean].slice(0, 128).join('') || 'Somebody'
}

function imageUrl(kind: 'avatars' | 'app-icons', id: string, image: unknown): string | null {
  if (typeof image !== 'string' || !/^\w{1,100}$/.test(image)) return null
  return `https://cdn.discordapp.com/${kind}/${id}/${image}.png`
}

/** One request to the platform, bounded in time and size, never redirected. */
async function ask(url: string, init: RequestInit): Promise<{ status: number; body: unknown }> {
  try {
    const answer = await fetch(url, {
      ...init,
      headers: { accept: 'application/json', 'user-agent': 'Botberth', ...init.headers },
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await readText(answer)
    return { status: answer.status, body: isJson(answer) ? JSON.parse(text) : undefined }
  } catch (error) {
    if (error instanceof AppError) throw error
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    throw new AppError(isLate ? 'platform_timeout' : 'platform_failed', { cause: error })
  }
}

async function readText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    size += chunk.length
    if (size > answerBytesMax) throw new AppError('platform_failed', { cause: new Error('the answer is too large') })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function isJson(answer: Response): boolean {
  return /^application\/json\b/.test(answer.headers.get('content-type') ?? '')
}

function expectOk(status: number, body: unknown): object {
  if (status === 200 && typeof body === 'object' && body !== null) return body
  throw new AppError('platform_failed', { cause: new Error(`the platform answered ${status}`) })
}
