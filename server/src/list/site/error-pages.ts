import { errors } from '@botberth/contract/errors.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../context.ts'
import { html } from '../../http/html.ts'
import { isBelow } from '../../http/paths.ts'
import type { AppError } from '../../lib/app-error.ts'
import { sendPrivate, viewOf } from './answer-pages.ts'
import { searchForm } from './layout.ts'
import { signInUrl, type View } from './view.ts'

/** What went wrong below `/list`, in the visitor's language. Undefined: it was elsewhere. */
export function sendListError(
  app: App,
  error: AppError,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply | undefined {
  const view = viewOf(app, request)
  if (!isBelow(view.path, '/list')) return undefined
  const { t } = view
  const [title, text] = textsFor(view, error)
  void reply.code(error.status).headers(error.headers)
  return sendPrivate(reply, view, {
    title: `${title} · ${t.siteName}`,
    hasSearch: false,
    content: html`<section class="panel empty"><h1>${title}</h1>
<p>${text}</p>
${
  error.code === 'unauthenticated'
    ? html`<p class="actions"><a class="button" href="${signInUrl(returnTo(view.path))}">${t.signIn.button}</a></p>`
    : html`<div class="actions">${searchForm(t, '')}</div>`
}
<p><a href="/list">${t.errors.back}</a></p>
<p class="soft">${error.status} <code>${error.code}</code> · ${t.errors.request} <code>${request.id}</code></p></section>`,
  })
}

function textsFor({ t, lang }: View, error: AppError): readonly string[] {
  const known = t.errors.codes[error.code]
  if (known) return known
  return lang === 'en' && error.code !== 'internal' ? [errors[error.code].title, error.message] : t.errors.other
}

/** Where the form stood that could not be sent. */
function returnTo(path: string): string {
  if (isBelow(path, '/list/my')) return '/list/my'
  return isBelow(path, '/list/register') ? '/list/register' : path
}
