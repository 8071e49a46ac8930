import { type Html, html } from '../../http/html.ts'
import { copyField } from './parts.ts'
import { myUrl, type Page, type View } from './view.ts'

interface Shown {
  readonly key: string
  /** Else it replaces one that has stopped. */
  readonly isNew: boolean
  readonly steps?: Html
}

/** The key of a listed bot, this once, with what to do with it. */
export function keyPage(view: View, { bot_id: botId, name }: { bot_id: string; name: string }, shown: Shown): Page {
  const { t } = view
  const title = shown.isNew ? t.key.listed(name) : t.key.reissued(name)
  return {
    title: `${title} · ${t.siteName}`,
    content: html`<div class="narrow"><h1>${title}</h1>${shown.steps}
<p class="note warn">${t.key.lead}${!shown.isNew && html` ${t.key.oldGone}`}</p>
${copyField(view, 'key', { label: t.key.key, text: shown.key })}
${copyField(view, 'env', { label: t.key.env, text: `BOTBERTH_LIST_KEY=${shown.key}` })}
${snippets(view)}
<p class="soft">${t.key.hosted}</p>
<p><a class="button" href="${myUrl(botId)}">${t.key.stored}</a></p></div>`,
  }
}

/** How statistics are sent. The key stands in the environment, not in what is pasted. */
export function snippets(view: View): Html {
  const { t, origin } = view
  const curl = `curl -X POST ${origin}/list/api/bots/stats \\
  -H "X-API-Key: $BOTBERTH_LIST_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"server_count": 42}'`
  const code = `const api = process.env.BOTBERTH_LIST_API_URL ?? '${origin}/list/api'
const post = () => fetch(\`\${api}/bots/stats\`, {
  method: 'POST',
  headers: { 'X-API-Key': process.env.BOTBERTH_LIST_KEY, 'Content-Type': 'application/json' },
  body: JSON.stringify({ server_count: client.guilds.cache.size }),
}).catch(console.error)
client.once('ready', () => { post(); setInterval(post, 3_600_000) })`
  return html`${copyField(view, 'curl', { label: t.key.curl, text: curl })}${copyField(view, 'script', { label: t.key.code, text: code })}`
}
