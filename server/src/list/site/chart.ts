import { type Html, html } from '../../http/html.ts'
import { dayOf } from '../heat.ts'
import type { Day } from '../stats.ts'
import { formatDay, formatNumber, formatShort } from './format.ts'
import type { View } from './view.ts'

const width = 600
const height = 150
const left = 64
const bottom = 24
const top = 18
const dayMs = 86_400_000

export const chartDays = 30

/** Votes and servers of the last days, drawn, and as a table for whoever does not see pictures. */
export function charts({ t, lang, now }: View, days: readonly Day[]): Html {
  if (days.length === 0) return html`<p class="soft">${t.bot.noHistory}</p>`
  const filled = fill(days, now)
  const votes = filled.map((day) => day.votes)
  const told = filled.map((day) => day.serverCount).filter((count) => count !== null)
  const number = (value: number) => formatNumber(lang, value)
  const [sum, most] = [votes.reduce((a, b) => a + b, 0), Math.max(...votes)]
  const labels = { first: formatDay(lang, dateOf(filled[0])), last: formatDay(lang, dateOf(filled.at(-1))) }
  return html`<div class="charts"><figure><figcaption>${t.bot.votesDaily}</figcaption>${frame(
    { label: t.bot.chartVotes(number(sum), number(most)), scale: scaleFor([0, most]), lang, labels },
    (y) => bars(votes, y),
  )}</figure>${
    told.length > 0 &&
    html`<figure><figcaption>${t.bot.serversDaily}</figcaption>${frame(
      {
        label: t.bot.chartServers(number(told[0] ?? 0), number(told.at(-1) ?? 0)),
        scale: scaleFor(told),
        lang,
        labels,
      },
      (y) =>
        line(
          filled.map((day) => day.serverCount),
          y,
        ),
    )}</figure>`
  }</div>
<details><summary>${t.bot.asTable}</summary><table class="numbers"><thead><tr><th scope="col">${t.bot.day}</th><th scope="col">${t.bot.votesDaily}</th><th scope="col">${t.bot.serversDaily}</th></tr></thead><tbody>${days
    .toReversed()
    .map(
      (day) =>
        html`<tr><th scope="row">${formatDay(lang, dateOf(day))}</th><td>${number(day.votes)}</td><td>${day.serverCount === null ? '–' : number(day.serverCount)}</td></tr>`,
    )}</tbody></table></details>`
}

function dateOf(day: Pick<Day, 'day'> | undefined): Date {
  return new Date(`${day?.day ?? '1970-01-01'}T00:00:00Z`)
}

/** Every day, those of which nothing is known too. */
function fill(days: readonly Day[], now: Date): Day[] {
  const known = new Map(days.map((day) => [day.day, day]))
  return Array.from({ length: chartDays }, (_, index) => {
    const day = dayOf(new Date(now.getTime() - (chartDays - 1 - index) * dayMs))
    return known.get(day) ?? { day, votes: 0, serverCount: null }
  })
}

interface Scale {
  readonly low: number
  readonly high: number
}

// Up to here numbers are written out beside a chart; of larger ones only differences of a tenth are seen there.
const wholeMax = 10_000

/** Round numbers around the values, and never an empty range. Small values are seen against nothing. */
export function scaleFor(values: readonly number[]): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const low = least > (most - least) * 2 ? least : 0
  const span = Math.max(most - low, most < wholeMax ? 1 : most / 10)
  const unit = 10 ** Math.floor(Math.log10(span))
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size * 2 >= span) ?? unit
  const from = Math.max(0, Math.floor(low / step) * step)
  return { low: from, high: Math.max(from + step, Math.ceil(most / step) * step) }
}

interface Frame {
  readonly label: string
  readonly scale: Scale
  readonly lang: View['lang']
  readonly labels: { readonly first: string; readonly last: string }
}

function frame({ label, scale, lang, labels }: Frame, draw: (y: (value: number) => number) => Html): Html {
  const y = (value: number) =>
    round(height - bottom - ((value - scale.low) / (scale.high - scale.low)) * (height - bottom - top))
  const lines = [scale.low, (scale.low + scale.high) / 2, scale.high].map((value) => ({
    value,
    text: value < wholeMax ? formatNumber(lang, value) : formatShort(lang, value),
  }))
  const isShown = (index: number) =>
    index !== 1 || (Number.isInteger(lines[1]?.value) && new Set(lines.map(({ text }) => text)).size === lines.length)
  return html`<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
${lines.map(({ value, text }, index) => html`<path class="grid" d="M${left} ${y(value)}H${width}"/>${isShown(index) && html`<text x="${left - 8}" y="${y(value) + 4}" text-anchor="end">${text}</text>`}`)}
${draw(y)}
<text x="${left}" y="${height - 4}">${labels.first}</text><text x="${width}" y="${height - 4}" text-anchor="end">${labels.last}</text></svg>`
}

const slot = (width - left) / chartDays

function bars(values: readonly number[], y: (value: number) => number): Html {
  const drawn = values.map((value, index) => {
    if (value === 0) return ''
    const x = round(left + index * slot + slot * 0.15)
    return `M${x} ${y(0)}V${y(value)}h${round(slot * 0.7)}V${y(0)}z`
  })
  return html`<path class="bars" d="${drawn.join('') || 'M0 0'}"/>`
}

function line(values: readonly (number | null)[], y: (value: number) => number): Html {
  const points = values.flatMap((value, index) =>
    value === null ? [] : [{ x: round(left + (index + 0.5) * slot), y: y(value) }],
  )
  const path = points.map((point, index) => `${index === 0 ? 'M' : 'L'}${point.x} ${point.y}`).join('')
  const last = points.at(-1)
  return html`<path class="line" d="${path}"/>${last && html`<circle class="dot" cx="${last.x}" cy="${last.y}" r="4"/>`}`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
