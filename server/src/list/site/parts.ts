import { type Html, html } from '../../http/html.ts'
import { formatAgo, formatMoment } from './format.ts'
import type { View } from './view.ts'

/** How long ago something was, with the exact time for whoever wants it. */
export function ago({ lang, now }: View, date: Date): Html {
  return html`<time datetime="${date.toISOString()}" title="${formatMoment(lang, date)}">${formatAgo(lang, date, now)}</time>`
}

/** A time that a script writes in the visitor's own zone. */
export function moment({ lang }: View, date: Date): Html {
  return html`<time datetime="${date.toISOString()}" data-local>${formatMoment(lang, date)}</time>`
}

/** Something to be copied: it can be selected, and a button does it where scripts run. */
export function copyField({ t }: View, id: string, { label, text }: { label: string; text: string }): Html {
  return html`<div class="field"><div class="copy"><span class="label" id="${id}-label">${label}</span><button type="button" class="button quiet small" data-copy="${id}" aria-describedby="${id}-label" hidden>${t.bot.copy}</button></div><code class="block" id="${id}">${text}</code></div>`
}

interface Field {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly hint?: string
  /** What is wrong with it. */
  readonly problem?: string | undefined
  /** Further attributes, quoted and safe. */
  readonly more?: Html
  readonly rows?: number
}

/** A labelled field that keeps what was typed and says what is wrong with it. */
export function field({ name, label, value, hint, problem, more, rows }: Field): Html {
  const notes = [problem !== undefined && `${name}-problem`, hint !== undefined && `${name}-hint`]
    .filter(Boolean)
    .join(' ')
  const attributes = html`id="${name}" name="${name}"${notes !== '' && html` aria-describedby="${notes}"`}${problem !== undefined && html` aria-invalid="true"`} ${more}`
  return html`<div class="field"><label for="${name}">${label}</label>${
    rows === undefined
      ? html`<input ${attributes} value="${value}">`
      : html`<textarea ${attributes} rows="${rows}">
${value}</textarea>`
  }${problem !== undefined && html`<p class="wrong" id="${name}-problem">${problem}</p>`}${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`
}

export type Problems = Readonly<Record<string, string>>
