import { endpoints } from '@botberth/contract/endpoints.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ChatPlatform } from '../../chat/client.ts'
import { type Html, html } from '../../http/html.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { checker } from '../../http/validate.ts'
import { clientNet } from '../../lib/address.ts'
import { AppError } from '../../lib/app-error.ts'
import { findRank, getListing, type ListingRow } from '../listings.ts'
import type { Profiles } from '../profiles.ts'
import { insertReport } from '../reports.ts'
import { type Day, listDays } from '../stats.ts'
import { type Parts, readForm, readGuestPost, readText, readView, sendPrivate, sendPublic } from './answer-pages.ts'
import { avatar } from './card.ts'
import { chartDays, charts } from './chart.ts'
import { renderDescription } from './description.ts'
import { formatAgo, formatDay, formatNumber } from './format.ts'
import { badge, icons } from './icons.ts'
import { ago, copyField, field } from './parts.ts'
import { aboutUrl, botUrl, myUrl, type Page, tagUrl, type View, voteUrl, widgetUrl } from './view.ts'

interface Params {
  Params: { botId: string }
}

interface BotParts extends Parts {
  readonly reports: RateLimit
  readonly profiles: Profiles
  readonly platformFor: (request: FastifyRequest) => ChatPlatform | undefined
}

/** What everybody sees of one bot, and how to report it. */
export function botPages(server: FastifyInstance, parts: BotParts): void {
  const { app, reports, profiles, platformFor } = parts
  const { pool, clock } = app

  server.get<Params>('/list/bots/:botId', async (request, reply) => {
    const { botId } = request.params
    const view = await readView(parts, { request, reply })
    const [row, rank, days] = await Promise.all([
      getListing(pool, botId, view.now),
      findRank(pool, botId),
      listDays(pool, { botId, days: chartDays }, view.now),
    ])
    profiles.note(botId, platformFor(request), row.profile_at)
    return sendPublic({ request, reply }, view, botPage(view, row, { rank, days }))
  })

  server.get<Params>('/list/bots/:botId/about', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    const row = await getListing(pool, request.params.botId, view.now)
    const asked = Number(/^[1-9]\d{0,2}$/.exec(readText(request.query, 'part') ?? '')?.[0] ?? 1)
    return sendPublic({ request, reply }, view, aboutPage(view, row, asked))
  })

  server.get<Params>('/list/bots/:botId/report', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    const row = await getListing(pool, request.params.botId, view.now)
    const isSent = readText(request.query, 'sent') !== undefined
    return sendPrivate(reply, view, reportPage(view, row, { isSent, reason: '' }))
  })

  server.post<Params>('/list/bots/:botId/report', async (request, reply) => {
    const { botId } = request.params
    const view = await readGuestPost(parts, { request, reply })
    const row = await getListing(pool, botId, view.now)
    const reason = (readForm(request)['reason'] ?? '').trim()
    const problem = await reports
      .spend(() => clientNet(request.ip), reply)
      .then(
        () => (isReason(reason) ? undefined : view.t.report.rule),
        (error: unknown) => {
          if (error instanceof AppError && error.code === 'rate_limited') return view.t.report.limited
          throw error
        },
      )
    if (problem !== undefined)
      return sendPrivate(
        reply.code(problem === view.t.report.rule ? 400 : 429),
        view,
        reportPage(view, row, { isSent: false, reason, problem }),
      )
    await insertReport(pool.db, { botId, userId: view.visitor?.userId, reason }, clock.now())
    return reply.redirect(`${botUrl(botId)}/report?sent`, 303)
  })
}

const checkReport = checker(endpoints.reportListing.body)

function isReason(reason: string): boolean {
  try {
    checkReport({ reason })
    return reason.isWellFormed() && !reason.includes('\0')
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

interface Numbers {
  readonly rank: number | undefined
  readonly days: readonly Day[]
}

function botPage(view: View, row: ListingRow, { rank, days }: Numbers): Page {
  const { t } = view
  const isOwn = view.visitor?.userId === row.user_id
  const content = html`<article>
<div class="bot-head">${avatar(row, 96)}<div><h1><bdi>${row.name}</bdi>${row.is_certified && badge(t.card)}</h1>
${row.short_description !== '' && html`<p><bdi>${row.short_description}</bdi></p>`}
<p class="soft">${t.bot.by} <bdi>${row.owner_name}</bdi></p></div>
<p class="actions"><a class="button" href="${voteUrl(row.bot_id)}" accesskey="v">${icons.vote}${t.bot.vote}</a>${
    row.invite_url !== null &&
    html`<a class="button quiet" href="${row.invite_url}" rel="nofollow ugc noopener noreferrer" accesskey="i">${icons.invite}${t.bot.invite}</a>`
  }${isOwn && html`<a class="button quiet" href="${myUrl(row.bot_id)}/edit">${t.bot.edit}</a>`}</p></div>
<div class="columns"><div>
<section class="panel">${numbers(view, row, rank)}</section>
<section class="panel"><h2>${t.bot.about}</h2>${beginning(view, row)}</section>
<section class="panel"><h2>${t.bot.history}</h2>${charts(view, days)}</section>
</div><div>${aside(view, row)}</div></div></article>`
  const text = row.short_description || `${row.name} · ${t.siteName}`
  return {
    title: `${row.name} · ${t.siteName}`,
    description: text,
    canonical: botUrl(row.bot_id),
    image: row.avatar_url === null ? undefined : `${row.avatar_url}?size=256`,
    content,
  }
}

/** Markdown as everybody sees it. */
export function description({ t }: View, text: string): Html {
  return text.trim() === '' ? html`<p class="soft">${t.bot.noDescription}</p>` : textOf(renderDescription(text).parts)
}

function textOf(content: readonly Html[]): Html {
  return html`<div class="text-of" dir="auto">${content}</div>`
}

/** As much of the description as the page should hold, and where all of it is. */
function beginning(view: View, row: ListingRow): Html {
  const { beginning, parts } = renderDescription(row.description)
  if (parts.length === 1 && beginning.text === parts[0]?.text) return description(view, row.description)
  return html`${textOf([beginning])}<p><a class="button quiet" href="${aboutUrl(row.bot_id, 1)}">${view.t.bot.readAll}</a></p>`
}

/** All of a long description, in parts. */
function aboutPage(view: View, row: ListingRow, asked: number): Page {
  const { t, lang } = view
  const { parts } = renderDescription(row.description)
  const part = Math.min(asked, parts.length)
  const count = (number: number) => formatNumber(lang, number)
  const link = (to: number, text: string, rel: string) =>
    html`<a class="button quiet small" href="${aboutUrl(row.bot_id, to)}" rel="${rel}">${text}</a>`
  return {
    title: `${row.name}: ${t.bot.about} · ${t.siteName}`,
    content: html`<p><a href="${botUrl(row.bot_id)}">${t.vote.back(row.name)}</a></p>
<h1><bdi>${row.name}</bdi></h1>
<article class="panel"><h2>${t.bot.about}</h2>${parts.length > 1 ? textOf(parts.slice(part - 1, part)) : description(view, row.description)}</article>
${
  parts.length > 1 &&
  html`<nav class="pages" aria-label="${t.search.pages}">${part > 1 && link(part - 1, t.search.previous, 'prev')}
<span>${t.search.pageOf(count(part), count(parts.length))}</span>${part < parts.length && link(part + 1, t.search.next, 'next')}</nav>`
}`,
  }
}

const freshMs = 3 * 86_400_000

function numbers(view: View, row: ListingRow, rank: number | undefined): Html {
  const { t, lang, now } = view
  const number = (value: number) => formatNumber(lang, value)
  // Of old numbers nobody is told when they were told.
  const isFresh = row.stats_at !== null && now.getTime() - row.stats_at.getTime() < freshMs
  return html`<dl class="numbers-list">
<div><dt>${t.bot.servers}</dt><dd>${row.server_count === null ? '–' : number(row.server_count)}<small>${row.stats_at === null ? t.bot.neverTold : isFresh && ago(view, row.stats_at)}</small></dd></div>
<div><dt>${t.bot.votesMonth}</dt><dd>${number(row.votes_month)}</dd></div>
<div><dt>${t.bot.votesTotal}</dt><dd>${number(row.votes_total)}</dd></div>
${rank !== undefined && html`<div><dt>${t.bot.rank}</dt><dd>#${number(rank)}<small>${t.bot.rankHint}</small></dd></div>`}
</dl>${row.is_certified && row.stats_at !== null && html`<p class="soft">${t.bot.certified(formatAgo(lang, row.stats_at, now))}</p>`}`
}

function aside(view: View, row: ListingRow): Html {
  const { t, lang, origin } = view
  const out = 'nofollow ugc noopener noreferrer'
  const links = [
    { url: row.support_url, text: t.bot.support },
    { url: row.website_url, text: t.bot.website },
  ].filter(({ url }) => url !== null)
  const page = origin + botUrl(row.bot_id)
  return html`${
    (links.length > 0 || row.tags.length > 0) &&
    html`<section class="panel">${
      row.tags.length > 0 &&
      html`<h2>${t.bot.tags}</h2><ul class="chips">${row.tags.map((tag) => html`<li><a class="chip" href="${tagUrl(tag)}">#${tag}</a></li>`)}</ul>`
    }${links.length > 0 && html`<ul class="links">${links.map(({ url, text }) => html`<li><a href="${url ?? ''}" rel="${out}">${icons.out}${text}</a></li>`)}</ul>`}</section>`
  }
<section class="panel"><h2>${t.bot.share}</h2>
${copyField(view, 'link', { label: t.bot.pageLink, text: page })}
${copyField(view, 'vote-link', { label: t.bot.voteLink, text: `${page}/vote` })}
<details><summary>${t.bot.widget}</summary><p><img src="${widgetUrl(row.bot_id)}" width="340" height="76" class="wide" alt="${t.bot.widgetAlt(row.name)}" loading="lazy"></p>
${copyField(view, 'widget', { label: 'Markdown', text: `[![${row.name.replace(/[[\]\\`!<>]/g, '')}](${origin}${widgetUrl(row.bot_id)})](${page})` })}</details></section>
<p class="soft">${t.bot.listed}: <time datetime="${row.created_at.toISOString()}">${formatDay(lang, row.created_at)}</time><br><a href="${botUrl(row.bot_id)}/report" rel="nofollow">${t.bot.report}</a></p>`
}

interface Report {
  readonly isSent: boolean
  readonly reason: string
  readonly problem?: string
}

function reportPage({ t }: View, row: ListingRow, { isSent, reason, problem }: Report): Page {
  const back = html`<p><a href="${botUrl(row.bot_id)}">${t.vote.back(row.name)}</a></p>`
  const form = html`<p class="soft">${t.report.lead}</p>
<form method="post" action="${botUrl(row.bot_id)}/report">${field({ name: 'reason', label: t.report.reason, value: reason, problem, rows: 6, more: html`required maxlength="1000"` })}
<button class="button">${icons.flag}${t.report.button}</button></form>`
  return {
    title: `${t.report.title(row.name)} · ${t.siteName}`,
    content: html`<div class="narrow"><h1>${t.report.title(row.name)}</h1>${isSent ? html`<p class="note good" role="status">${t.report.sent}</p>` : form}${back}</div>`,
  }
}
