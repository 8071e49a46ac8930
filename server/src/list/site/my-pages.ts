import { endpoints } from '@botberth/contract/endpoints.ts'
import type { FastifyInstance } from 'fastify'
import type { Html } from '../../http/html.ts'
import { html } from '../../http/html.ts'
import { AppError } from '../../lib/app-error.ts'
import { getWhole, isOwn, listOwn, type OwnRow } from '../listings.ts'
import { reissueKey, removeListing, transferListing } from '../owner.ts'
import { listRegistrations, type RegistrationRow } from '../registrations.ts'
import { type Day, listDays } from '../stats.ts'
import { type Parts, readForm, readPost, readText, readView, sendPrivate } from './answer-pages.ts'
import { avatar } from './card.ts'
import { chartDays, charts } from './chart.ts'
import { formatLeft } from './format.ts'
import { findProblems } from './forms-pages.ts'
import { badge } from './icons.ts'
import { keyPage, snippets } from './key-page.ts'
import { facts } from './own.ts'
import { copyField, field, type Problems } from './parts.ts'
import { signInPage } from './register-pages.ts'
import { botUrl, myUrl, type Page, type View, voteUrl } from './view.ts'

interface Params {
  Params: { botId: string }
}

/** My Bots, and what an owner does with one of them. */
export function myPages(server: FastifyInstance, parts: Parts): void {
  const { app, credentials } = parts
  const { pool, clock } = app
  const findTransferProblems = findProblems(endpoints.transferListing.body)

  server.get('/list/my', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    if (!view.visitor) return sendPrivate(reply, view, signInPage(view, view.t.my.title))
    const [rows, waiting] = await Promise.all([
      listOwn(pool, view.visitor.userId, view.now),
      listRegistrations(pool.db, view.visitor.userId, view.now),
    ])
    const note = noteOf(view, { removed: readText(request.query, 'removed'), given: readText(request.query, 'given') })
    return sendPrivate(reply, view, myPage(view, { rows, waiting, note }))
  })

  server.get<Params>('/list/my/:botId', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    if (!view.visitor) return sendPrivate(reply, view, signInPage(view, view.t.my.title))
    const own = await readOwn(view.visitor.userId, request.params.botId)
    const note = readText(request.query, 'saved') === undefined ? undefined : view.t.my.saved
    return sendPrivate(reply, view, ownPage(view, own, { note }))
  })

  async function readOwn(userId: string, botId: string): Promise<Own> {
    if (!(await isOwn(pool.db, { userId, botId }))) throw new AppError('not_found')
    const now = clock.now()
    const [row, days] = await Promise.all([getWhole(pool, botId, now), listDays(pool, { botId, days: chartDays }, now)])
    return { row, days }
  }

  server.post<Params>('/list/my/:botId/key', async (request, reply) => {
    const view = await readPost(parts, { request, reply })
    const { botId } = request.params
    const { key } = await reissueKey({ app, credentials }, { userId: view.visitor.userId, botId, ip: request.ip })
    return sendPrivate(reply, view, keyPage(view, await getWhole(pool, botId, view.now), { key, isNew: false }))
  })

  server.post<Params>('/list/my/:botId/transfer', async (request, reply) => {
    const view = await readPost(parts, { request, reply })
    const { botId } = request.params
    const own = { userId: view.visitor.userId, botId, ip: request.ip }
    const shown = await readOwn(own.userId, botId)
    const chatUserId = (readForm(request)['chatUserId'] ?? '').trim()
    const fail = (status: number, chatUserIdProblem: string) =>
      sendPrivate(
        reply.code(status),
        view,
        ownPage(view, shown, { values: { chatUserId }, problems: { chatUserId: chatUserIdProblem } }),
      )
    if (findTransferProblems({ chatUserId }).size > 0) return fail(400, view.t.my.transferRule)
    try {
      const { name } = await transferListing({ app, credentials }, own, chatUserId)
      return await reply.redirect(`/list/my?${new URLSearchParams({ given: name }).toString()}`, 303)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.code === 'invalid_state') return fail(409, view.t.my.transferRefused)
      if (error.code === 'limit_reached') return fail(409, view.t.my.transferFull)
      throw error
    }
  })

  server.post<Params>('/list/my/:botId/delete', async (request, reply) => {
    const view = await readPost(parts, { request, reply })
    const { botId } = request.params
    const own = { userId: view.visitor.userId, botId, ip: request.ip }
    const shown = await readOwn(own.userId, botId)
    const name = (readForm(request)['name'] ?? '').trim()
    if (name.normalize('NFC') !== shown.row.name.normalize('NFC').trim())
      return sendPrivate(
        reply.code(400),
        view,
        ownPage(view, shown, { values: { name }, problems: { name: view.t.my.removeRule } }),
      )
    await removeListing({ app, credentials }, own)
    return reply.redirect(`/list/my?${new URLSearchParams({ removed: shown.row.name }).toString()}`, 303)
  })
}

function noteOf(
  { t }: View,
  { removed, given }: { removed: string | undefined; given: string | undefined },
): string | undefined {
  if (removed !== undefined) return t.my.removed(removed.slice(0, 128))
  return given === undefined ? undefined : t.my.transferred(given.slice(0, 128))
}

interface Mine {
  readonly rows: readonly OwnRow[]
  readonly waiting: readonly RegistrationRow[]
  readonly note: string | undefined
}

function myPage(view: View, { rows, waiting, note }: Mine): Page {
  const { t, lang, now } = view
  const pending =
    waiting.length > 0 &&
    html`<section class="panel"><h2>${t.my.pending}</h2><ul class="links">${waiting.map(
      (row) =>
        html`<li class="own-head"><span><code>${row.bot_id}</code> · <code>${row.code}</code> <span class="soft">${t.my.pendingHint(formatLeft(lang, row.expires_at, now))}</span></span><span class="actions"><a class="button quiet small" href="/list/register/${row.id}">${t.my.goOn}</a></span></li>`,
    )}</ul></section>`
  const empty = html`<section class="panel empty"><h2>${t.my.empty}</h2><p class="soft">${t.my.emptyHint}</p><p class="actions"><a class="button" href="/list/register">${t.my.add}</a><a class="button quiet" href="/">${t.my.host}</a></p></section>`
  return {
    title: `${t.my.title} · ${t.siteName}`,
    content: html`<div class="title"><h1>${t.my.title}</h1>${rows.length > 0 && html`<a class="button" href="/list/register">${t.my.add}</a>`}</div>
${note !== undefined && html`<p class="note good" role="status">${note}</p>`}${pending}
${rows.length === 0 && waiting.length === 0 ? empty : rows.map((row) => ownCard(view, row))}`,
  }
}

function ownHead(view: View, row: OwnRow, heading: Html): Html {
  const { t } = view
  return html`<div class="own-head">${avatar(row, 48)}${heading}<p class="actions">${row.hidden_at === null && html`<a class="button quiet small" href="${botUrl(row.bot_id)}">${t.my.view}</a>`}<a class="button quiet small" href="${myUrl(row.bot_id)}/edit">${t.my.edit}</a></p></div>
${row.hidden_at !== null && html`<p class="note bad">${t.my.hidden}</p>`}`
}

function ownCard(view: View, row: OwnRow): Html {
  const { t } = view
  const heading = html`<h2><a href="${myUrl(row.bot_id)}"><bdi>${row.name}</bdi></a>${row.is_certified && badge(t.card)}</h2>`
  return html`<section class="panel">${ownHead(view, row, heading)}${facts(view, row)}<p class="actions"><a class="button small" href="${myUrl(row.bot_id)}">${t.my.manage}</a></p></section>`
}

interface Own {
  readonly row: OwnRow
  readonly days: readonly Day[]
}

interface Typed {
  readonly note?: string | undefined
  readonly values?: Readonly<Record<string, string>>
  readonly problems?: Problems
}

function ownPage(view: View, { row, days }: Own, { note, values = {}, problems = {} }: Typed): Page {
  const { t, origin } = view
  const base = myUrl(row.bot_id)
  return {
    title: `${row.name} · ${t.my.title} · ${t.siteName}`,
    content: html`<p><a href="/list/my">${t.my.title}</a></p>
${ownHead(view, row, html`<h1><bdi>${row.name}</bdi>${row.is_certified && badge(t.card)}</h1>`)}
${note !== undefined && html`<p class="note good" role="status">${note}</p>`}
<section class="panel">${facts(view, row)}</section>
<div class="columns"><div>
<section class="panel"><h2>${t.bot.history}</h2>${charts(view, days)}</section>
<section class="panel"><h2>${t.my.snippet}</h2><p class="soft">${t.my.snippetHint}</p>${snippets(view)}</section>
</div><div>
<section class="panel"><h2>${t.my.reissue}</h2><form method="post" action="${base}/key"><p class="soft">${row.key_last4 === null ? t.my.reissueFirst : t.my.reissueHint}</p><button class="button quiet">${t.my.reissue}</button></form></section>
<section class="panel"><h2>${t.bot.share}</h2>${copyField(view, 'vote-link', { label: t.my.voteLink, text: origin + voteUrl(row.bot_id) })}</section>
<section class="panel"><h2>${t.webhook.title}</h2><p class="soft">${t.webhook.lead}</p><p><a class="button quiet" href="${base}/webhook">${t.webhook.title}</a></p></section>
<section class="panel"><h2>${t.my.transfer}</h2><form method="post" action="${base}/transfer"><p class="soft">${t.my.transferHint}</p>${field({ name: 'chatUserId', label: t.my.transferId, value: values['chatUserId'] ?? '', problem: problems['chatUserId'], more: html`inputmode="numeric" autocomplete="off" maxlength="24" required` })}<button class="button quiet">${t.my.transferButton}</button></form></section>
<section class="panel"><h2>${t.my.remove}</h2><form method="post" action="${base}/delete"><p class="soft">${t.my.removeHint}</p>${field({ name: 'name', label: t.my.removeConfirm(row.name), value: values['name'] ?? '', problem: problems['name'], more: html`autocomplete="off" required` })}<button class="button bad">${t.my.removeButton}</button></form></section>
</div></div>`,
  }
}
