import { type Html, html } from '../../http/html.ts'

/* Drawn in the colour of the text around them; what they mean is said beside them. */

const icon = (paths: Html) =>
  html`<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${paths}</svg>`

export const icons = {
  search: icon(html`<circle cx="11" cy="11" r="7"/><path d="m20 20-4-4"/>`),
  servers: icon(
    html`<rect x="3" y="4" width="18" height="7" rx="2"/><rect x="3" y="13" width="18" height="7" rx="2"/><path d="M7 7.5h.01M7 16.5h.01"/>`,
  ),
  vote: icon(html`<path d="M12 20V5M5 12l7-7 7 7"/>`),
  invite: icon(html`<path d="M12 5v14M5 12h14"/>`),
  close: icon(html`<path d="m6 6 12 12M18 6 6 18"/>`),
  out: icon(html`<path d="M14 4h6v6M20 4l-9 9M18 14v4a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h4"/>`),
  flag: icon(html`<path d="M5 21V4h12l-2 4 2 4H5"/>`),
  done: icon(html`<path d="m5 13 4.5 4.5L19 7"/>`),
}

/** The check mark of a certified bot. */
export function badge({ certified, certifiedHint }: { certified: string; certifiedHint: string }): Html {
  return html`<span class="badge" title="${certifiedHint}"><svg viewBox="0 0 24 24" aria-hidden="true"><path fill="currentColor" d="M12 1.5l2.6 2 3.2-.3 1.3 3 2.9 1.5-.6 3.2 1.6 2.8-2.1 2.5.1 3.3-3.1 1-1.7 2.8-3.2-.7-3 1.4-2.3-2.3-3.3-.3-.6-3.2L1.5 16l1-3.1-1-3.1 2.3-2.2.6-3.2 3.3-.3z" transform="translate(.3 -.4)"/><path fill="none" stroke="var(--surface)" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" d="m7.8 12.2 3 3 5.4-6"/></svg><span class="hidden">${certified}</span></span>`
}
