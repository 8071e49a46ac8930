import { type Html, html } from '../../http/html.ts'
import type { CardRow } from '../listings.ts'
import { firstLetter } from './card.ts'
import { formatShort, shorten } from './format.ts'

// The check mark stands in the corner, whatever the name: how wide that is depends on the font.
const columnsMax = { plain: 24, certified: 20 }

// Light and dark by the page that it stands on, as far as that is told to an image.
const style = html`<style>.b{fill:#fff;stroke:#d0d7de}.n{fill:#1b1f24;font-weight:600}.s{fill:#57606a}.a{fill:#0b5cad}.i{fill:none;stroke:#57606a;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}.k{fill:none;stroke:#fff;stroke-width:2.4;stroke-linecap:round;stroke-linejoin:round}@media(prefers-color-scheme:dark){.b{fill:#1c2026;stroke:#3d444d}.n{fill:#e8eaed}.s{fill:#a3acb5}.i{stroke:#a3acb5}.a{fill:#2f7dd1}}</style>`

type Shown = Pick<CardRow, 'name' | 'server_count' | 'votes_month' | 'is_certified'>

/** A picture of a bot's numbers, for README files and other pages. Without a bot it is grey. */
export function widget(bot: Shown | undefined): Html {
  return bot ? known(bot) : unknown
}

function known({ name, server_count: servers, votes_month: votes, is_certified: isCertified }: Shown): Html {
  const shown = shorten(clean(name), isCertified ? columnsMax.certified : columnsMax.plain)
  const words = [
    servers !== null && `${servers} servers`,
    `${votes} votes this month`,
    isCertified && 'certified on Botberth',
  ]
  const numbers =
    servers === null
      ? votesAt(74, votes)
      : html`<g class="i" transform="translate(74 43) scale(.7)"><rect x="3" y="4" width="18" height="7" rx="2"/><rect x="3" y="13" width="18" height="7" rx="2"/></g><text class="s" x="94" y="56" font-size="13">${formatShort('en', servers)}</text>${votesAt(162, votes)}`
  return frame(
    `${shown}: ${words.filter(Boolean).join(', ')}`,
    html`<rect class="a" x="14" y="14" width="48" height="48" rx="12"/><text x="38" y="46" font-size="24" font-weight="600" text-anchor="middle" fill="#fff">${firstLetter(clean(name))}</text>
<text class="n" x="74" y="33" font-size="16">${shown}</text>
${isCertified && html`<g transform="translate(308 14)"><circle class="a" cx="9" cy="9" r="9"/><path class="k" d="m5 9.4 2.7 2.7L13 6.6"/></g>`}
${numbers}`,
  )
}

function votesAt(x: number, votes: number): Html {
  return html`<path class="i" transform="translate(${x} 43) scale(.7)" d="M12 20V5M5 12l7-7 7 7"/><text class="s" x="${x + 20}" y="56" font-size="13">${formatShort('en', votes)}</text>`
}

const unknown = frame(
  'This bot is not on the list',
  html`<rect x="14" y="14" width="48" height="48" rx="12" fill="#8c959f"/><text x="38" y="46" font-size="24" font-weight="600" text-anchor="middle" fill="#fff">?</text><text class="s" x="74" y="43" font-size="14">Not on the list</text>`,
)

function frame(label: string, content: Html): Html {
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="340" height="76" viewBox="0 0 340 76" font-family="system-ui,-apple-system,'Segoe UI','Noto Sans KR',sans-serif" role="img" aria-label="${label}"><title>${label}</title>${style}<rect class="b" x=".5" y=".5" width="339" height="75" rx="12"/>${content}</svg>`
}

/** An image is XML, which knows fewer characters than names do. */
function clean(name: string): string {
  return name.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
}
