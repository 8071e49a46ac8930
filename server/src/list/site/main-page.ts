import { type Html, html } from '../../http/html.ts'
import type { CardRow } from '../listings.ts'
import { cards } from './card.ts'
import { searchForm } from './layout.ts'
import { type Page, tagUrl, type View } from './view.ts'

/** Bots of a row of the main page. */
export const rowMax = 6
const tagsMax = 12

interface Rows {
  readonly voted: readonly CardRow[]
  readonly newest: readonly CardRow[]
  readonly certified: readonly CardRow[]
}

export function mainPage(view: View, { voted, newest, certified }: Rows): Page {
  const { t } = view
  const hero = html`<section class="hero"><h1>${t.main.title}</h1><p>${t.main.lead}</p>${searchForm(t, '')}
${tagChips(tagsOf([...voted, ...newest, ...certified]))}</section>`
  const lists = html`${row(view, { name: t.main.voted, hint: t.main.votedHint, href: '/list/bots', rows: voted })}
${certified.length > 0 && row(view, { name: t.main.certified, hint: t.card.certifiedHint, href: '/list/certified', rows: certified })}
${row(view, { name: t.main.new, href: '/list/new', rows: newest })}
<section class="panel yours"><div><h2>${t.main.yours}</h2><p class="soft">${t.main.yoursHint}</p></div><a class="button" href="/list/register">${t.main.yoursAction}</a></section>`
  const empty = html`<section class="panel empty"><h2>${t.main.empty}</h2><p class="soft">${t.main.emptyHint}</p><p class="actions"><a class="button" href="/list/register">${t.main.emptyAction}</a></p></section>`
  return {
    title: t.siteTitle,
    description: t.siteDescription,
    hasSearch: false,
    content: html`${hero}${newest.length === 0 ? empty : lists}`,
  }
}

interface Row {
  readonly name: string
  readonly hint?: string
  readonly href: string
  readonly rows: readonly CardRow[]
}

function row(view: View, { name, hint, href, rows }: Row): Html {
  const { t } = view
  return html`<section class="row"><div class="row-head"><h2>${name}</h2>${hint && html`<span class="soft">${hint}</span>`}<a href="${href}" aria-label="${t.main.moreOf(name)}">${t.main.more}</a></div>${cards(view, rows)}</section>`
}

/** The tags of these bots, the most frequent ones first. Those of all would have to be counted through. */
export function tagsOf(rows: readonly CardRow[]): string[] {
  const counts = new Map<string, number>()
  for (const tag of new Map(rows.map((row) => [row.bot_id, row.tags])).values())
    for (const name of tag) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts]
    .toSorted(([a, one], [b, other]) => other - one || a.localeCompare(b))
    .slice(0, tagsMax)
    .map(([tag]) => tag)
}

export function tagChips(tags: readonly string[]): Html | false {
  return (
    tags.length > 0 &&
    html`<ul class="chips">${tags.map((tag) => html`<li><a class="chip" href="${tagUrl(tag)}">#${tag}</a></li>`)}</ul>`
  )
}
