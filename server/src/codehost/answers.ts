// What the code host answers, read field by field: what is not as documented is the platform's failure, not ours.
import { AppError } from '../lib/app-error.ts'
import type { UserTokens } from './client.ts'

type Json = Readonly<Record<string, unknown>>

function wrong(what: string): AppError {
  return new AppError('platform_failed', {
    detail: 'The code host gave an answer that cannot be understood.',
    cause: new Error(`the answer has no ${what}`),
  })
}

function object(value: unknown, what = 'object'): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(what)
  return value as Json
}

function text(value: unknown, what: string): string {
  if (typeof value !== 'string') throw wrong(what)
  return value
}

function number(value: unknown, what: string): number {
  if (!Number.isSafeInteger(value)) throw wrong(what)
  return value as number
}

function time(value: unknown, what: string): string {
  const date = new Date(text(value, what))
  if (Number.isNaN(date.getTime())) throw wrong(what)
  return date.toISOString()
}

/** Only what a page may show as a picture. */
function imageUrl(value: unknown): string | null {
  return typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value) ? value.slice(0, 2048) : null
}

const repositoryName = /^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}$/

function fullName(value: unknown): string {
  const name = text(value, 'full_name')
  // It becomes part of URLs.
  if (!repositoryName.test(name) || name.split('/').some((part) => /^\.{1,2}$/.test(part))) throw wrong('full_name')
  return name
}

export interface Account {
  readonly id: number
  readonly login: string
  readonly avatarUrl: string | null
}

export function account(data: unknown): Account {
  const { id, login, avatar_url } = object(data)
  return { id: number(id, 'id'), login: text(login, 'login').slice(0, 100), avatarUrl: imageUrl(avatar_url) }
}

export interface Installation {
  readonly id: number
  readonly account: { readonly login: string; readonly type: string; readonly avatarUrl: string | null }
  readonly repositorySelection: 'all' | 'selected'
  readonly createdAt: string
}

export function installation(data: unknown): Installation {
  const { id, account: owner, repository_selection, created_at } = object(data)
  // An enterprise has a slug instead of a login, and an account that is gone is null.
  const { login, slug, type, avatar_url } = owner === null ? {} : object(owner, 'account')
  return {
    id: number(id, 'id'),
    account: {
      login: text(login ?? slug ?? `account of ${String(id)}`, 'login'),
      type: typeof type === 'string' ? type : 'Enterprise',
      avatarUrl: imageUrl(avatar_url),
    },
    repositorySelection: repository_selection === 'all' ? 'all' : 'selected',
    createdAt: time(created_at, 'created_at'),
  }
}

export interface Repository {
  readonly id: number
  readonly fullName: string
  readonly private: boolean
  readonly defaultBranch: string
  readonly url: string
  readonly pushedAt: string | null
}

export function repository(data: unknown): Repository {
  const { id, full_name, private: isPrivate, default_branch, html_url, pushed_at } = object(data)
  return {
    id: number(id, 'id'),
    fullName: fullName(full_name),
    private: isPrivate !== false,
    defaultBranch: text(default_branch, 'default_branch'),
    url: text(html_url, 'html_url'),
    pushedAt: pushed_at === null || pushed_at === undefined ? null : time(pushed_at, 'pushed_at'),
  }
}

export function totalCount(data: unknown): number {
  return number(object(data)['total_count'], 'total_count')
}

export function list<T>(data: unknown, name: string, item: (value: unknown) => T): T[] {
  return array(object(data)[name], item, name)
}

export function array<T>(items: unknown, item: (value: unknown) => T, what = 'list'): T[] {
  if (!Array.isArray(items)) throw wrong(what)
  return items.map((one) => item(one))
}

/** What it says of a code or token that it does not take. Everything else is about us, and no reason to forget anybody. */
const refusals = ['bad_verification_code', 'bad_refresh_token', 'invalid_grant', 'incorrect_code_verifier']

/** The platform answers 200 to a code that it does not take, with an `error` instead of a token. */
export function tokens(data: unknown, now: Date): UserTokens | undefined {
  const { error, access_token, refresh_token, expires_in } = object(data)
  if (typeof error === 'string') {
    if (refusals.includes(error)) return undefined
    throw wrong(`token, but the error ${error.slice(0, 100)}`)
  }
  return {
    accessToken: text(access_token, 'access_token'),
    refreshToken: typeof refresh_token === 'string' ? refresh_token : undefined,
    expiresAt: typeof expires_in === 'number' ? new Date(now.getTime() + expires_in * 1000) : undefined,
  }
}

/** A token that is good for more than the one repository is not used. */
export function repositoryToken(data: unknown, repoId: number): { token: string; fullName: string } {
  const { token, repositories } = object(data)
  if (!Array.isArray(repositories) || repositories.length !== 1) throw wrong('repositories')
  const { id, full_name } = object(repositories[0], 'repository')
  if (id !== repoId) throw wrong('repository that was asked for')
  return { token: text(token, 'token'), fullName: fullName(full_name) }
}

export function appPage(data: unknown): string {
  return text(object(data)['html_url'], 'html_url')
}

/** One attempt to tell us of an event. */
export interface Delivery {
  readonly id: string
  /** Of the event: the same in all attempts. */
  readonly guid: string
  readonly deliveredAt: Date
  readonly isTaken: boolean
  /** By us: what is in between may mend. */
  readonly isRefused: boolean
  readonly isRepeat: boolean
}

export function delivery(data: unknown): Delivery {
  const { id, guid, delivered_at, status_code, redelivery } = object(data, 'delivery')
  const status = number(status_code, 'status_code')
  return {
    // There are more of them than a number can count exactly.
    id: typeof id === 'bigint' ? String(id) : String(number(id, 'id')),
    guid: text(guid, 'guid').slice(0, 100),
    deliveredAt: new Date(time(delivered_at, 'delivered_at')),
    isTaken: status >= 200 && status < 300,
    isRefused: status >= 400 && status < 500,
    isRepeat: redelivery === true,
  }
}

export interface MadeApp {
  readonly appId: number
  readonly name: string
  readonly page: string
  readonly privateKey: string
  readonly clientId: string
  readonly clientSecret: string
  readonly webhookSecret: string
}

/** The app that the manifest flow made. */
export function madeApp(data: unknown): MadeApp {
  const { id, name, html_url, pem, client_id, client_secret, webhook_secret } = object(data)
  return {
    appId: number(id, 'id'),
    name: text(name, 'name'),
    page: text(html_url, 'html_url'),
    privateKey: text(pem, 'pem'),
    clientId: text(client_id, 'client_id'),
    clientSecret: text(client_secret, 'client_secret'),
    webhookSecret: text(webhook_secret, 'webhook_secret'),
  }
}
