import { type Html, html } from '../../http/html.ts'
import type { OwnRow } from '../listings.ts'
import { formatAgo, formatLeft, formatNumber } from './format.ts'
import { ago, moment } from './parts.ts'
import type { View } from './view.ts'

const lapseMs = 3 * 86_400_000
// The owner is warned a day ahead, and again when it is urgent.
const soonMs = 24 * 3_600_000
const urgentMs = 6 * 3_600_000

/** What an owner wants to know of a bot at a glance. */
export function facts(view: View, row: OwnRow): Html {
  const { t, lang } = view
  const number = (value: number) => formatNumber(lang, value)
  return html`<dl class="facts">
<div><dt>${t.my.votesToday}</dt><dd>${number(row.votes_today)}<small>${t.my.votesMonth}: ${number(row.votes_month)}</small></dd></div>
<div><dt>${t.my.servers}</dt><dd>${row.server_count === null ? '–' : number(row.server_count)}</dd></div>
<div><dt>${t.my.lastStats}</dt><dd>${row.stats_at === null ? t.my.waiting : ago(view, row.stats_at)}</dd></div>
<div><dt>${t.my.key}</dt><dd>${row.key_last4 === null ? t.my.keyNone : html`<code>…${row.key_last4}</code><small>${row.key_last_used_at === null ? t.my.keyUnused : t.my.keyUsed(formatAgo(lang, row.key_last_used_at, view.now))}</small>`}</dd></div>
</dl>${certification(view, row)}`
}

/** Until when the check mark stays, or why it is not there and how to get it. */
function certification(view: View, row: OwnRow): Html {
  const { t, lang, now } = view
  const until = row.certified_until
  if (until === null)
    return html`<div class="note"><p><strong>${t.my.certification}:</strong> ${t.my.notCertified}</p><p class="soft">${t.my.notCertifiedHint}</p></div>`
  if (!row.is_certified)
    return html`<div class="note bad"><p><strong>${t.my.certification}:</strong> ${t.my.lapsed(formatAgo(lang, until, now))} <span class="soft">(${moment(view, until)})</span></p><p class="soft">${t.my.lapsedHint}</p></div>`
  const leftMs = until.getTime() - now.getTime()
  const kind = leftMs < urgentMs ? 'bad' : leftMs < soonMs ? 'warn' : 'good'
  return html`<div class="note ${kind}"><p><strong>${t.my.certification}:</strong> ${t.my.certifiedUntil(formatLeft(lang, until, now))}</p>
<meter min="0" max="${lapseMs}" low="${soonMs}" optimum="${lapseMs}" value="${Math.max(0, leftMs)}" aria-label="${t.my.certification}"></meter>
<p class="soft">${t.my.certifiedHint}</p></div>`
}
