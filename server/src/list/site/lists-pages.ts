import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Html, html } from '../../http/html.ts'
import { readPage } from '../../http/paging.ts'
import type { CardRow } from '../listings.ts'
import type { Search, Wanted } from '../search.ts'
import { normalTag } from '../words.ts'
import { type Parts, readText, readView, sendPublic } from './answer-pages.ts'
import { cards } from './card.ts'
import { formatNumber } from './format.ts'
import { icons } from './icons.ts'
import { searchForm } from './layout.ts'
import { mainPage, rowMax, tagChips, tagsOf } from './main-page.ts'
import { tagUrl, type View } from './view.ts'

// No tag is longer.
const tagMax = 32

const perPage = 24
// Where counting stops: see `search.ts`.
const countedMax = 10_000
const sorts = ['votes', 'servers', 'newest'] as const

interface ListParts extends Parts {
  readonly search: Search
}

/** The main page, and every list of bots. */
export function listsPages(server: FastifyInstance, parts: ListParts): void {
  const { search } = parts

  server.get('/list', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    const [voted, newest, certified] = await Promise.all([
      search.firstCards('votes', { most: rowMax }),
      search.firstCards('newest', { most: rowMax }),
      search.firstCards('votes', { certified: true, most: rowMax }),
    ])
    return sendPublic({ request, reply }, view, mainPage(view, { voted, newest, certified }))
  })

  server.get('/list/bots', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    const wanted = readWanted(request)
    const list = await findList(search, wanted, request)
    const title = wanted.q === undefined ? view.t.search.all : view.t.search.title(wanted.q)
    const content = html`<h1>${title}</h1>${filters(view, wanted)}${await results(view, list, { search, address: (page) => addressOf({ ...wanted, page }) })}`
    // What people search for makes no pages for search engines.
    const isPlain = wanted.q === undefined && !wanted.certified && wanted.tag === undefined && list.page === 1
    const page = { title: `${title} · ${view.t.siteName}`, hasSearch: false, content }
    return sendPublic({ request, reply }, view, isPlain ? { ...page, description: view.t.siteDescription } : page)
  })

  named(server, parts, '/list/new', ({ t }) => ({ ...t.newest, wanted: { sort: 'newest' } }))
  named(server, parts, '/list/certified', ({ t }) => ({ ...t.certifiedOnes, wanted: { certified: true } }))
  named(server, parts, '/list/tags/:tag', ({ t }, { params }) => {
    const tag = normalTag((params as { tag: string }).tag.slice(0, tagMax))
    return { title: t.tagPage.title(tag), lead: t.tagPage.lead(tag), wanted: { tag }, path: tagUrl(tag) }
  })
}

interface Named {
  readonly title: string
  readonly lead: string
  readonly wanted: Wanted
  readonly path?: string
}

/** A list with an address of its own. */
function named(
  server: FastifyInstance,
  parts: ListParts,
  url: string,
  describe: (view: View, request: FastifyRequest) => Named,
): void {
  const { search } = parts
  server.get(url, async (request, reply) => {
    const view = await readView(parts, { request, reply })
    const { title, lead, wanted, path = url } = describe(view, request)
    const list = await findList(search, wanted, request)
    const address = (page: number) => (page === 1 ? path : `${path}?page=${page}`)
    const content = html`<h1>${title}</h1><p class="soft">${lead}</p>${await results(view, list, { search, address })}`
    const page = { title: `${title} · ${view.t.siteName}`, canonical: address(list.page), content }
    return sendPublic({ request, reply }, view, list.cards.length > 0 ? { ...page, description: lead } : page)
  })
}

interface List {
  readonly cards: readonly CardRow[]
  readonly total: number
  readonly page: number
  readonly pages: number
}

async function findList(search: Search, wanted: Wanted, { query }: FastifyRequest): Promise<List> {
  const asked = Number(/^[1-9]\d{0,5}$/.exec(readText(query, 'page') ?? '')?.[0] ?? 1)
  const { data, total, page, totalPages } = await readPage({ page: asked, limit: perPage }, async (range) => {
    const { cards: rows, total } = await search.findCards(wanted, range)
    return { rows, total }
  })
  return { cards: data, total, page, pages: totalPages }
}

/** Whatever cannot be read is as if it were not there: these addresses are typed and shared. */
function readWanted({ query }: FastifyRequest): Wanted {
  const q = readText(query, 'q')?.trim().slice(0, 200)
  const tag = readText(query, 'tag')?.slice(0, tagMax)
  return {
    q: q === '' ? undefined : q,
    tag: tag === undefined || normalTag(tag) === '' ? undefined : normalTag(tag),
    sort: sorts.find((sort) => sort === readText(query, 'sort')),
    certified: readText(query, 'certified') === 'true' ? true : undefined,
  }
}

function addressOf({ q, tag, sort, certified, page }: Wanted & { readonly page?: number }): string {
  const query = new URLSearchParams({
    ...(q !== undefined && { q }),
    ...(tag !== undefined && { tag }),
    ...(sort !== undefined && sort !== 'votes' && { sort }),
    ...(certified && { certified: 'true' }),
    ...(page !== undefined && page > 1 && { page: String(page) }),
  }).toString()
  return query === '' ? '/list/bots' : `/list/bots?${query}`
}

/** All of them links, so that they work everywhere and can be shared. */
function filters({ t }: View, wanted: Wanted): Html {
  const { q, tag, sort = 'votes', certified } = wanted
  const kept = {
    ...(tag !== undefined && { tag }),
    ...(sort !== 'votes' && { sort }),
    ...(certified && { certified: 'true' }),
  }
  const current = html` aria-current="true"`
  return html`<div class="filters">${searchForm(t, q ?? '', kept)}
<ul class="chips" aria-label="${t.search.sort}">${sorts.map((name) => html`<li><a class="chip" href="${addressOf({ ...wanted, sort: name })}"${sort === name && current}>${t.search.sorts[name]}</a></li>`)}</ul>
<ul class="chips"><li><a class="chip" href="${addressOf({ ...wanted, certified: certified ? undefined : true })}"${certified && current}>${certified ? icons.close : icons.done}${t.search.certifiedOnly}</a></li>${
    tag !== undefined &&
    html`<li><a class="chip on" href="${addressOf({ ...wanted, tag: undefined })}" aria-label="${t.search.removeTag(tag)}">${icons.close}${t.search.withTag(tag)}</a></li>`
  }</ul></div>`
}

interface Around {
  readonly search: Search
  address(page: number): string
}

async function results(view: View, list: List, { search, address }: Around): Promise<Html> {
  const { t, lang } = view
  if (list.total === 0) return nothing(view, tagsOf(await search.firstCards('votes', { most: perPage })))
  const shown = formatNumber(lang, list.total)
  const found = list.total < countedMax ? t.search.found(list.total, shown) : t.search.foundMany(shown)
  return html`<h2 class="count">${found}</h2>${cards(view, list.cards)}${list.pages > 1 && pager(view, list, address)}`
}

function nothing({ t }: View, tags: readonly string[]): Html {
  return html`<section class="panel empty"><h2>${t.search.none}</h2>
<p class="soft">${tags.length > 0 ? t.search.noneHint : t.search.noneHintPlain}</p>
${tagChips(tags)}
<p class="actions"><a class="button quiet" href="/list/bots">${t.search.clear}</a></p></section>`
}

function pager({ t, lang }: View, { page, pages }: List, address: (page: number) => string): Html {
  const link = (to: number, text: string, rel: string) =>
    html`<a class="button quiet small" href="${address(to)}" rel="${rel}">${text}</a>`
  const count = (number: number) => formatNumber(lang, number)
  return html`<nav class="pages" aria-label="${t.search.pages}">${page > 1 && link(Math.min(page - 1, pages), t.search.previous, 'prev')}
<span>${t.search.pageOf(count(page), count(pages))}</span>${page < pages && link(page + 1, t.search.next, 'next')}</nav>`
}
