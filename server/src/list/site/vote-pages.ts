import type { FastifyInstance } from 'fastify'
import { type Html, html } from '../../http/html.ts'
import { AppError } from '../../lib/app-error.ts'
import { nextVoteAt } from '../heat.ts'
import { getListing, type ListingRow } from '../listings.ts'
import { findVote, type Votes } from '../votes.ts'
import { type Parts, readPost, readText, readView, sendPrivate } from './answer-pages.ts'
import { avatar } from './card.ts'
import { formatLeft, formatNumber } from './format.ts'
import { badge, icons } from './icons.ts'
import { moment } from './parts.ts'
import { botUrl, type Page, signInUrl, type View, voteUrl } from './view.ts'

interface Params {
  Params: { botId: string }
}

/** One button; whoever is not signed in comes back to it. */
export function votePages(server: FastifyInstance, parts: Parts & { readonly votes: Votes }): void {
  const { app, votes } = parts
  const { pool } = app

  server.get<Params>('/list/bots/:botId/vote', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    const row = await getListing(pool, request.params.botId, view.now)
    return sendPrivate(
      reply,
      view,
      votePage(view, row, await stateOf(view, row, readText(request.query, 'thanks') !== undefined)),
    )
  })

  server.post<Params>('/list/bots/:botId/vote', async (request, reply) => {
    const { botId } = request.params
    const view = await readPost(parts, { request, reply })
    try {
      await votes.voteAs(view.visitor.userId, botId)
      return reply.redirect(`${voteUrl(botId)}?thanks`, 303)
    } catch (error) {
      // The page itself says why, and for how long.
      if (error instanceof AppError && (error.code === 'already_voted' || error.code === 'invalid_state'))
        return reply.redirect(voteUrl(botId), 303)
      throw error
    }
  })

  async function stateOf(view: View, { bot_id: botId }: ListingRow, isNew: boolean): Promise<State> {
    if (!view.visitor) return 'signed out'
    if (view.visitor.chatUserId === null) return 'nobody there'
    const votedAt = await findVote(pool, { botId, chatUserId: view.visitor.chatUserId }, view.now)
    if (!votedAt) return 'open'
    return isNew ? 'thanks' : 'voted'
  }
}

/** `nobody there`: the chat platform does not know them. */
type State = 'signed out' | 'nobody there' | 'open' | 'voted' | 'thanks'

function votePage(view: View, row: ListingRow, state: State): Page {
  const { t, lang } = view
  const title = t.vote.title(row.name)
  const content = html`<section class="panel ballot">${avatar(row, 96)}
<h1>${title}${row.is_certified && html` ${badge(t.card)}`}</h1>
${row.short_description !== '' && html`<p class="soft"><bdi>${row.short_description}</bdi></p>`}
<p>${t.vote.month(row.votes_month, formatNumber(lang, row.votes_month))}</p>
${ballot(view, row, state)}
<p><a href="${botUrl(row.bot_id)}">${t.vote.back(row.name)}</a></p></section>`
  const image = row.avatar_url === null ? undefined : `${row.avatar_url}?size=256`
  return { title: `${title} · ${t.siteName}`, description: row.short_description || t.vote.lead, image, content }
}

function ballot(view: View, row: ListingRow, state: State): Html {
  const { t } = view
  switch (state) {
    case 'signed out':
      return html`<a class="button" href="${signInUrl(voteUrl(row.bot_id))}">${t.vote.signIn}</a><p class="soft">${t.vote.signInHint}</p><p class="soft">${t.vote.lead}</p>`
    case 'nobody there':
      return html`<p class="note warn">${t.vote.noChatId}</p><a class="button" href="${signInUrl(voteUrl(row.bot_id))}">${t.vote.signIn}</a>`
    case 'open':
      return html`<form method="post" action="${voteUrl(row.bot_id)}"><button class="button" autofocus>${icons.vote}${t.vote.button(row.name)}</button></form><p class="soft">${t.vote.lead}</p>`
    case 'thanks':
      return html`<p class="big good" role="status">${icons.done} ${t.vote.thanks}</p>${again(view)}`
    case 'voted':
      return html`<p class="big">${t.vote.already}</p>${again(view)}`
  }
}

function again(view: View): Html {
  const next = nextVoteAt(view.now)
  return html`<p>${view.t.vote.again(formatLeft(view.lang, next, view.now))} <span class="soft">(${moment(view, next)})</span></p>`
}
