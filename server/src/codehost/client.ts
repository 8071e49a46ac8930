import { createPrivateKey } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAppAuth } from '@octokit/auth-app'
import { request } from '@octokit/request'
import { RequestError } from '@octokit/request-error'
import { SignJWT } from 'jose'
import { AppError } from '../lib/app-error.ts'
import type { Clock } from '../lib/clock.ts'
import * as read from './answers.ts'
import { boundedFetch, type Platform, webUrlOf } from './platform.ts'

/** What lets us act for somebody on the code host. */
export interface UserTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** Of the access token; undefined: it does not end. */
  readonly expiresAt: Date | undefined
}

interface Authorization {
  readonly redirectUri: string
  readonly state: string
  readonly codeChallenge: string
  readonly hints: Readonly<Record<string, string>>
}

const retryMs = 200
const pageSize = 100
// As many at once as a polite client asks.
const pagesAtOnce = 6
const jwtSeconds = 540

interface Options {
  readonly signal: AbortSignal
  /** Of a success. */
  readonly wanted?: number
  /** Statuses that mean something to the caller; all others say that the platform failed. */
  readonly expected?: readonly number[]
}

interface Answer {
  readonly status: number
  readonly data: unknown
  readonly headers?: { readonly link?: string | undefined }
}

/** Speaks to the code host: GitHub's REST API, by its own client library. */
export class CodehostClient {
  readonly platform: Platform
  readonly webUrl: string
  readonly #clock: Clock
  readonly #request: typeof request
  readonly #asApp: typeof request
  #appPage: Promise<string> | undefined

  constructor(platform: Platform, { clock, version }: { clock: Clock; version: string }) {
    this.platform = platform
    this.webUrl = webUrlOf(platform.apiUrl)
    this.#clock = clock
    const headers = { 'user-agent': `Botberth/${version}`, 'x-github-api-version': '2022-11-28' }
    // Its own log would be the console; what it has to say stands in its errors too.
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const fetch = boundedFetch(platform.guard)
    this.#request = request.defaults({ baseUrl: platform.apiUrl, headers, request: { fetch, log } })
    const auth = createAppAuth({ appId: platform.appId, createJwt: this.#makeJwt, request: this.#request, log })
    this.#asApp = this.#request.defaults({ request: { fetch, log, hook: auth.hook } })
  }

  /** Where to send the browser, which may see the platform under another address than we do. */
  authorizationUrl(browserUrl: string, { redirectUri, state, codeChallenge, hints }: Authorization): string {
    const query = new URLSearchParams({
      client_id: this.platform.clientId,
      redirect_uri: redirectUri,
      state,
      code_challenge: codeChallenge,
      code_challenge_method: 'S256',
      ...hints,
    })
    return `${browserUrl}/login/oauth/authorize?${query.toString()}`
  }

  /** Undefined: the platform does not take the code. */
  exchangeCode(
    { code, redirectUri, codeVerifier }: { code: string; redirectUri: string; codeVerifier: string },
    signal: AbortSignal,
  ): Promise<UserTokens | undefined> {
    return this.#askForTokens({ code, redirect_uri: redirectUri, code_verifier: codeVerifier }, signal)
  }

  /** New ones; the old ones end. Undefined: the platform does not take the refresh token. */
  refresh(refreshToken: string, signal: AbortSignal): Promise<UserTokens | undefined> {
    return this.#askForTokens({ grant_type: 'refresh_token', refresh_token: refreshToken }, signal)
  }

  async #askForTokens(grant: Record<string, string>, signal: AbortSignal): Promise<UserTokens | undefined> {
    const { clientId, clientSecret } = this.platform
    const { data } = await this.#ask(
      () =>
        this.#request('POST /login/oauth/access_token', {
          baseUrl: this.webUrl,
          headers: { accept: 'application/json' },
          client_id: clientId,
          client_secret: clientSecret,
          ...grant,
          request: { signal },
        }),
      { signal, expected: [400] },
    )
    return read.tokens(data, this.#clock.now())
  }

  /** The platform forgets this token; others of the same person stay. */
  async revoke(accessToken: string, signal: AbortSignal): Promise<void> {
    const { clientId, clientSecret } = this.platform
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    await this.#ask(
      () =>
        this.#request('DELETE /applications/{client_id}/token', {
          client_id: clientId,
          access_token: accessToken,
          headers: { authorization: `basic ${basic}` },
          request: { signal },
        }),
      { signal, wanted: 204, expected: [404, 422] },
    )
  }

  /** Undefined: the platform does not take the token. */
  async findUser(accessToken: string, signal: AbortSignal): Promise<read.Account | undefined> {
    const { status, data } = await this.#asUser('GET /user', accessToken, { signal, expected: [401] })
    return status === 401 ? undefined : read.account(data)
  }

  /** Those of our app that the user may use. Undefined: the platform does not take the token. */
  async listInstallations(accessToken: string, signal: AbortSignal): Promise<read.Installation[] | undefined> {
    const pages = await this.#allPages('GET /user/installations', accessToken, { signal, expected: [401] })
    return pages.status === 200
      ? uniqueById(pages.data.flatMap((page) => read.list(page, 'installations', read.installation)))
      : undefined
  }

  /** Of one installation, those that the user may use. The platform's status: 401 for the token, 404 for the installation. */
  async listRepositories(
    accessToken: string,
    installationId: number,
    signal: AbortSignal,
  ): Promise<read.Repository[] | 'token_rejected' | 'not_found'> {
    const path = `GET /user/installations/${installationId}/repositories`
    const pages = await this.#allPages(path, accessToken, { signal, expected: [401, 403, 404] })
    if (pages.status === 401) return 'token_rejected'
    if (pages.status !== 200) return 'not_found'
    return uniqueById(pages.data.flatMap((page) => read.list(page, 'repositories', read.repository)))
  }

  /**
   * For one repository and one purpose, for an hour. It carries the name that the repository has now. Undefined: the
   * installation does not hold it, or is gone or suspended.
   */
  async makeRepositoryToken(
    { installationId, repoId }: { installationId: number; repoId: number },
    permissions: { contents: 'read' } | { statuses: 'write' },
    signal: AbortSignal,
  ): Promise<{ token: string; fullName: string } | undefined> {
    const { status, data } = await this.#ask(
      () =>
        this.#asApp('POST /app/installations/{installation_id}/access_tokens', {
          installation_id: installationId,
          repository_ids: [repoId],
          permissions,
          request: { signal },
        }),
      { signal, wanted: 201, expected: [403, 404, 422] },
    )
    return status === 201 ? read.repositoryToken(data, repoId) : undefined
  }

  /** False: the platform does not want it, now or later. */
  async setCommitStatus(
    { token, fullName, commitSha }: { token: string; fullName: string; commitSha: string },
    body: {
      state: 'pending' | 'success' | 'failure' | 'error'
      context: string
      description: string
      target_url: string
    },
    signal: AbortSignal,
  ): Promise<boolean> {
    const [owner = '', repo = ''] = fullName.split('/')
    const { status } = await this.#ask(
      () =>
        this.#request('POST /repos/{owner}/{repo}/statuses/{sha}', {
          owner,
          repo,
          sha: commitSha,
          ...body,
          headers: { authorization: `token ${token}` },
          request: { signal },
        }),
      { signal, wanted: 201, expected: [403, 404, 422] },
    )
    return status === 201
  }

  /** What the platform has tried to tell us, the newest first, and where the next page begins. */
  async listDeliveries(
    cursor: string | undefined,
    signal: AbortSignal,
  ): Promise<{ deliveries: read.Delivery[]; next: string | undefined }> {
    const { data, headers } = await this.#ask(
      () =>
        this.#asApp('GET /app/hook/deliveries', {
          per_page: pageSize,
          ...(cursor !== undefined && { cursor }),
          request: { signal },
        }),
      { signal },
      { isSafe: true },
    )
    const [, link] = /<([^>]+)>; *rel="next"/.exec(headers?.link ?? '') ?? []
    const next = link !== undefined && URL.canParse(link) ? new URL(link).searchParams.get('cursor') : null
    return { deliveries: read.array(data, read.delivery), next: next ?? undefined }
  }

  /** False: it is gone. */
  async redeliver(deliveryId: string, signal: AbortSignal): Promise<boolean> {
    const { status } = await this.#ask(
      () =>
        this.#asApp('POST /app/hook/deliveries/{delivery_id}/attempts', {
          delivery_id: deliveryId as unknown as number,
          request: { signal },
        }),
      { signal, wanted: 202, expected: [400, 404, 422] },
    )
    return status === 202
  }

  /** Of our app on the platform: asked for once. */
  appPage(signal: AbortSignal): Promise<string> {
    this.#appPage ??= this.#ask(() => this.#asApp('GET /app', { request: { signal } }), { signal })
      .then(({ data }) => read.appPage(data))
      .catch((error: unknown) => {
        this.#appPage = undefined
        throw error
      })
    return this.#appPage
  }

  #asUser(route: string, accessToken: string, { signal, expected }: Options, page?: number) {
    return this.#ask(
      () =>
        this.#request(route, {
          ...(page !== undefined && { per_page: pageSize, page }),
          headers: { authorization: `token ${accessToken}` },
          request: { signal },
        }),
      { signal, ...(expected && { expected }) },
      { isSafe: true },
    )
  }

  /** The first page tells how many there are; the others are asked for side by side. */
  async #allPages(route: string, accessToken: string, options: Options): Promise<{ status: number; data: unknown[] }> {
    const first = await this.#asUser(route, accessToken, options, 1)
    if (first.status !== 200) return { status: first.status, data: [] }
    const pages: unknown[] = [first.data]
    const last = Math.ceil(read.totalCount(first.data) / pageSize)
    for (let next = 2; next <= last; next += pagesAtOnce) {
      const numbers = Array.from({ length: Math.min(pagesAtOnce, last - next + 1) }, (_, index) => next + index)
      const more = await Promise.all(numbers.map((page) => this.#asUser(route, accessToken, options, page)))
      const failed = more.find(({ status }) => status !== 200)
      if (failed) return { status: failed.status, data: [] }
      pages.push(...more.map(({ data }) => data))
    }
    return { status: 200, data: pages }
  }

  /** By our own clock: what the platform's says differs by so much is told by the library. */
  readonly #makeJwt = async (appId: string | number, differenceSeconds = 0) => {
    // A little in the past, because the platform takes none from the future.
    const now = Math.floor(this.#clock.now().getTime() / 1000) + differenceSeconds - 30
    const jwt = await new SignJWT({ iat: now, exp: now + jwtSeconds, iss: String(appId) })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .sign(createPrivateKey(this.platform.privateKey))
    return { jwt, expiresAt: new Date((now + jwtSeconds) * 1000).toISOString() }
  }

  /** What is safe to repeat is tried twice: connections break, and gateways hiccup. */
  async #ask(
    send: () => Promise<Answer>,
    { signal, wanted = 200, expected = [] }: Options,
    { isSafe = false } = {},
  ): Promise<Answer> {
    try {
      const answer = await send()
      if (answer.status === wanted) return answer
      throw new AppError('platform_failed', { cause: new Error(`the code host answered ${answer.status}`) })
    } catch (error) {
      const status = error instanceof RequestError && error.response ? error.status : undefined
      if (status !== undefined && expected.includes(status) && !isLimited(error as RequestError))
        return { status, data: (error as RequestError).response?.data }
      if (isSafe && !signal.aborted && (status === undefined || [500, 502, 503].includes(status))) {
        await sleep(retryMs)
        return this.#ask(send, { signal, wanted, expected })
      }
      throw platformError(error, signal)
    }
  }
}

/** Pages move while they are read, and one may stand on two of them. */
function uniqueById<T extends { readonly id: number }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [item.id, item])).values()]
}

/** 429, or 403 that names a limit: in its fields, or, as some do, only in words. */
function isLimited({ status, response }: RequestError): boolean {
  if (status !== 403) return status === 429
  const { headers, data } = response ?? {}
  const { message } = (data ?? {}) as { message?: unknown }
  return (
    headers?.['retry-after'] !== undefined ||
    headers?.['x-ratelimit-remaining'] === '0' ||
    (typeof message === 'string' && /rate limit/i.test(message))
  )
}

/**
 * For whoever asked, and for the job that has to know when to come back. The library's own error is not its cause: that
 * carries the request along, secrets included.
 */
function platformError(error: unknown, signal: AbortSignal): AppError {
  if (error instanceof AppError) return error
  if (signal.aborted) return new AppError('platform_timeout', { detail: 'The code host did not answer in time.' })
  if (!(error instanceof RequestError)) return new AppError('platform_failed', { cause: error })
  if (!error.response) {
    const detail = 'The code host could not be reached.'
    return new AppError('platform_failed', { detail, cause: error.cause ?? new Error(error.message) })
  }
  const { data, headers } = error.response
  const said = (data as { message?: unknown } | undefined)?.message
  const cause = new Error(
    `the code host answered ${error.status}${typeof said === 'string' ? `: ${said.slice(0, 200)}` : ''}`,
  )
  if (!isLimited(error))
    return new AppError('platform_failed', { detail: `The code host answered with an error (${error.status}).`, cause })
  const seconds = secondsToWait(headers)
  const detail = `The code host takes no more requests for ${seconds} seconds.`
  return new AppError('platform_failed', { detail, cause, headers: { 'retry-after': String(seconds) } })
}

function secondsToWait(headers: Readonly<Record<string, unknown>>): number {
  const given = Number(headers['retry-after'])
  const reset = Number(headers['x-ratelimit-reset']) - Date.now() / 1000
  const seconds = [given, reset].find((value) => Number.isFinite(value) && value > 0) ?? 60
  return Math.min(3600, Math.ceil(seconds))
}
