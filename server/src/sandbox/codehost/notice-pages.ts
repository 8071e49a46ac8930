import { html } from '../../http/html.ts'

export const notice = html`<p class="notice">This is a sandbox, not the real code host. It exists on this machine only.</p>`
