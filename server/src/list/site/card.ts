import { type Html, html } from '../../http/html.ts'
import type { CardRow } from '../listings.ts'
import { formatShort, shorten } from './format.ts'
import { badge, icons } from './icons.ts'
import { botUrl, type View, voteUrl } from './view.ts'

const coloursCount = 8
// A card shows two lines of its text and one of everything else; what is cut off anyway need not be sent.
const shown = { name: 48, text: 120, tags: 48 }
// Longer ones stand on the bot's own page.
const inviteMax = 200

interface Pictured {
  readonly bot_id: string
  readonly name: string
  readonly avatar_url: string | null
}

/** Its picture, or the first letter of its name. Either is only decoration beside the name. */
export function avatar({ bot_id: botId, name, avatar_url: url }: Pictured, sizePx: 48 | 96): Html {
  const size = sizePx === 96 ? 'avatar large' : 'avatar'
  if (url !== null)
    return html`<img class="${size}" src="${url}?size=${sizePx * 2}" width="${sizePx}" height="${sizePx}" alt="" loading="lazy" referrerpolicy="no-referrer">`
  return html`<span class="${size} letter c${Number(BigInt(botId) % BigInt(coloursCount))}" aria-hidden="true">${firstLetter(name)}</span>`
}

export function firstLetter(name: string): string {
  const letter = /[\p{L}\p{N}]/u.exec(name.normalize('NFC'))?.[0] ?? '?'
  return letter.toUpperCase().slice(0, 2)
}

/** One bot in a list. The whole card leads to its page. */
function card({ t, lang }: View, row: CardRow): Html {
  const { bot_id: botId, invite_url: inviteUrl } = row
  const name = shorten(row.name, shown.name)
  const tags = row.tags.map((tag) => `#${tag}`).join(' ')
  return html`<li class="card">
<div class="card-head">${avatar(row, 48)}<div><h3><a href="${botUrl(botId)}"><bdi>${name}</bdi></a>${row.is_certified && badge(t.card)}</h3>
<p class="tags">${shorten(tags, shown.tags)}</p></div></div>
<p class="text${row.short_description === '' && ' soft'}">${row.short_description === '' ? t.card.noText : html`<bdi>${shorten(row.short_description, shown.text)}</bdi>`}</p>
<p class="meta">${row.server_count !== null && html`<span>${icons.servers}${t.card.servers(row.server_count, formatShort(lang, row.server_count))}</span>`}<span>${icons.vote}${t.card.votesThisMonth(row.votes_month, formatShort(lang, row.votes_month))}</span></p>
<p class="actions"><a class="button small" href="${voteUrl(botId)}" aria-label="${t.card.voteFor(name)}">${t.card.vote}</a>${
    inviteUrl !== null &&
    inviteUrl.length <= inviteMax &&
    html`<a class="button small quiet" href="${inviteUrl}" rel="nofollow ugc noopener noreferrer" aria-label="${t.card.inviteBot(name)}">${t.card.invite}</a>`
  }</p>
</li>`
}

export function cards(view: View, rows: readonly CardRow[]): Html {
  return html`<ul class="cards">${rows.map((row) => card(view, row))}</ul>`
}
