import { type Html, html } from '../../http/html.ts'
import { assetUrls } from './assets.ts'
import { icons } from './icons.ts'
import { languages, texts } from './texts.ts'
import { type Page, signInUrl, type View } from './view.ts'

/** A page with all that stands around it. */
export function layout(view: View, page: Page): Html {
  const { t, lang } = view
  return html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
${head(view, page)}
<link rel="icon" href="${assetUrls.icon}" type="image/svg+xml">
<link rel="apple-touch-icon" href="${assetUrls.picture}">
<link rel="stylesheet" href="${assetUrls.style}">
<script src="${assetUrls.script}" defer></script>
</head>
<body data-copied="${t.bot.copied}">
<a class="skip" href="#content">${t.skip}</a>
${header(view, page)}
<main id="content" tabindex="-1">${page.content}</main>
${footer(view)}
</body>
</html>`
}

function head({ t, lang, origin, path }: View, { title, description, image, canonical = path }: Page): Html {
  if (description === undefined) return html`<meta name="robots" content="noindex">`
  const address = origin + canonical
  return html`<meta name="description" content="${description}">
<link rel="canonical" href="${address}">
${languages.map((language) => html`<link rel="alternate" hreflang="${language}" href="${withLanguage(address, language)}">`)}
<meta property="og:site_name" content="${t.siteName}">
<meta property="og:type" content="website">
<meta property="og:locale" content="${lang === 'ko' ? 'ko_KR' : 'en_US'}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${address}">
<meta property="og:image" content="${image ?? origin + assetUrls.picture}">
<meta name="twitter:card" content="summary">
<meta name="twitter:title" content="${title}">
<meta name="twitter:description" content="${description}">
<meta name="twitter:image" content="${image ?? origin + assetUrls.picture}">`
}

function withLanguage(address: string, language: string): string {
  return `${address}${address.includes('?') ? '&' : '?'}lang=${language}`
}

function header({ t, path, here, visitor }: View, { hasSearch = true }: Page): Html {
  const link = (href: string, text: string) =>
    html`<a href="${href}"${path === href && html` aria-current="page"`}>${text}</a>`
  return html`<header class="top"><div class="wrap">
<a class="brand" href="/list"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="var(--accent)"/><path d="M16 8.5v14M11 13h10M8 17.5c.5 4 4 6.5 8 6.5s7.5-2.5 8-6.5" fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round"/><circle cx="16" cy="7.5" r="2.2" fill="#fff"/></svg>${t.siteName}</a>
${hasSearch && searchForm(t, '')}
<nav aria-label="${t.nav.label}">${link('/list/bots', t.nav.all)}${link('/list/new', t.nav.new)}${link('/list/certified', t.nav.certified)}${link('/list/register', t.nav.register)}${
    visitor ? link('/list/my', t.nav.my) : html`<a class="button small" href="${signInUrl(here)}">${t.nav.signIn}</a>`
  }</nav>
</div></header>`
}

/** The one way in that everybody looks for. */
export function searchForm(t: View['t'], query: string, kept: Readonly<Record<string, string>> = {}): Html {
  return html`<form class="search" role="search" action="/list/bots"><label class="hidden" for="q">${t.search.label}</label>
${Object.entries(kept).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<input id="q" name="q" type="search" value="${query}" placeholder="${t.search.placeholder}" maxlength="200" autocomplete="off" accesskey="/"><button aria-label="${t.search.button}">${icons.search}</button></form>`
}

function footer({ t, lang, here, visitor }: View): Html {
  return html`<footer class="bottom"><div class="wrap">
<p>${t.footer.text}</p>
<ul><li><a href="/docs#/list">${t.nav.api}</a></li><li><a href="/">${t.nav.hosting}</a></li>
${languages.filter((language) => language !== lang).map((language) => html`<li><a href="${here}${here.includes('?') ? '&' : '?'}lang=${language}" lang="${language}" hreflang="${language}" rel="nofollow">${texts[language].language}</a></li>`)}
</ul>
${visitor && html`<form method="post" action="/sign-out" class="who"><span>${t.nav.signedInAs} <bdi>${visitor.name}</bdi></span> <button class="link">${t.nav.signOut}</button></form>`}
</div></footer>`
}
