import type { Html } from '../../http/html.ts'
import type { Language, Texts } from './texts.ts'

/** Somebody who has signed in. */
export interface Visitor {
  readonly userId: string
  readonly name: string
  /** Null: came by the owner's link, and is nobody on the chat platform. */
  readonly chatUserId: string | null
}

/** What every page is made for: somebody, somewhere, now. */
export interface View {
  readonly t: Texts
  readonly lang: Language
  readonly now: Date
  /** `https://bots.example`, for links that are read elsewhere. */
  readonly origin: string
  /** Without the query. */
  readonly path: string
  /** With it, for whoever comes back; the language apart. */
  readonly here: string
  readonly visitor: Visitor | undefined
}

export interface Page {
  readonly title: string
  /** For search engines and link previews. Left out: no search engine is to show the page. */
  readonly description?: string
  readonly image?: string | undefined
  /** What the page is known by, if it has several addresses. */
  readonly canonical?: string
  readonly hasSearch?: boolean
  readonly content: Html
}

/** To the chat platform and straight back to this path. */
export function signInUrl(returnTo: string): string {
  return `/api/v1/auth/chat/login?${new URLSearchParams({ returnTo }).toString()}`
}

export const botUrl = (botId: string) => `/list/bots/${botId}`
export const aboutUrl = (botId: string, part: number) => `/list/bots/${botId}/about${part === 1 ? '' : `?part=${part}`}`
export const voteUrl = (botId: string) => `/list/bots/${botId}/vote`
export const tagUrl = (tag: string) => `/list/tags/${encodeURIComponent(tag)}`
export const myUrl = (botId: string) => `/list/my/${botId}`
export const widgetUrl = (botId: string) => `/list/api/bots/${botId}/widget.svg`
