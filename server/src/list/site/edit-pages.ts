import { endpoints } from '@botberth/contract/endpoints.ts'
import type { FastifyInstance } from 'fastify'
import { type Html, html } from '../../http/html.ts'
import { AppError } from '../../lib/app-error.ts'
import { getWhole, isOwn, type OwnRow } from '../listings.ts'
import { editListing } from '../owner.ts'
import { type Parts, readForm, readPost, readView, sendPrivate } from './answer-pages.ts'
import { description } from './bot-pages.ts'
import { cards } from './card.ts'
import { fieldsOf, findProblems } from './forms-pages.ts'
import { field, type Problems } from './parts.ts'
import { signInPage } from './register-pages.ts'
import { myUrl, type Page, type View } from './view.ts'

interface Params {
  Params: { botId: string }
}

const urls = ['inviteUrl', 'supportUrl', 'websiteUrl'] as const

interface Values {
  readonly shortDescription: string
  readonly description: string
  readonly tags: string
  readonly inviteUrl: string
  readonly supportUrl: string
  readonly websiteUrl: string
}

/** What the list says of a bot, edited by its owner, with a look at it before it is saved. */
export function editPages(server: FastifyInstance, parts: Parts): void {
  const { app } = parts
  const { pool } = app
  const find = findProblems(endpoints.updateMyListing.body)

  const readOwn = async (userId: string, botId: string, now: Date) => {
    if (!(await isOwn(pool.db, { userId, botId }))) throw new AppError('not_found')
    return getWhole(pool, botId, now)
  }

  server.get<Params>('/list/my/:botId/edit', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    if (!view.visitor) return sendPrivate(reply, view, signInPage(view, view.t.my.title))
    const row = await readOwn(view.visitor.userId, request.params.botId, view.now)
    return sendPrivate(reply, view, editPage(view, row, { values: valuesOf(row) }))
  })

  server.post<Params>('/list/my/:botId/edit', async (request, reply) => {
    const view = await readPost(parts, { request, reply })
    const { botId } = request.params
    const mine = { userId: view.visitor.userId, botId }
    const row = await readOwn(mine.userId, botId, view.now)
    const form = readForm(request)
    const values = readValues(form)
    const texts = textsOf(values)
    const wrong = find(texts)
    const isPreview = form['intent'] === 'preview'
    if (wrong.size > 0) return fail(wrong)
    if (isPreview)
      return sendPrivate(reply, view, editPage(view, row, { values, preview: previewOf(view, row, values) }))
    try {
      await editListing(app, mine, texts)
    } catch (error) {
      return fail(fieldsOf(error))
    }
    return reply.redirect(`${myUrl(botId)}?saved`, 303)

    function fail(fields: ReadonlySet<string>) {
      return sendPrivate(reply.code(400), view, editPage(view, row, { values, problems: problemsOf(view, fields) }))
    }
  })
}

function valuesOf(row: OwnRow): Values {
  return {
    shortDescription: row.short_description,
    description: row.description,
    tags: row.tags.join(', '),
    inviteUrl: row.invite_url ?? '',
    supportUrl: row.support_url ?? '',
    websiteUrl: row.website_url ?? '',
  }
}

function readValues(form: Readonly<Record<string, string>>): Values {
  const line = (name: string) => (form[name] ?? '').trim()
  return {
    shortDescription: line('shortDescription'),
    description: form['description'] ?? '',
    tags: line('tags'),
    inviteUrl: line('inviteUrl'),
    supportUrl: line('supportUrl'),
    websiteUrl: line('websiteUrl'),
  }
}

function textsOf({ shortDescription, description, tags, ...links }: Values) {
  const link = (url: string) => (url === '' ? null : url)
  return {
    shortDescription,
    description,
    tags: tagsOf(tags),
    inviteUrl: link(links.inviteUrl),
    supportUrl: link(links.supportUrl),
    websiteUrl: link(links.websiteUrl),
  }
}

function tagsOf(text: string): string[] {
  return text
    .split(/[,，、\s]+/)
    .map((tag) => tag.replace(/^#+/, ''))
    .filter((tag) => tag !== '')
}

function problemsOf({ t }: View, fields: ReadonlySet<string>): Problems {
  const rules = {
    shortDescription: t.edit.shortRule,
    description: t.edit.descriptionRule,
    tags: t.edit.tagsRule,
    inviteUrl: t.edit.urlRule,
    supportUrl: t.edit.urlRule,
    websiteUrl: t.edit.urlRule,
  }
  return Object.fromEntries(Object.entries(rules).filter(([name]) => fields.has(name)))
}

function previewOf(view: View, row: OwnRow, values: Values): Html {
  const { t } = view
  const shown = {
    ...row,
    short_description: values.shortDescription,
    tags: tagsOf(values.tags),
    invite_url: values.inviteUrl || null,
  }
  return html`<section class="panel" aria-labelledby="preview"><h2 id="preview">${t.edit.previewTitle}</h2>${cards(view, [shown])}<h2>${t.bot.about}</h2>${description(view, values.description)}</section>`
}

interface Edited {
  readonly values: Values
  readonly problems?: Problems
  readonly preview?: Html
}

function editPage(view: View, row: OwnRow, { values, problems = {}, preview }: Edited): Page {
  const { t } = view
  const isUnsaved = preview !== undefined || Object.keys(problems).length > 0
  return {
    title: `${t.edit.title(row.name)} · ${t.siteName}`,
    content: html`<div class="narrow"><p><a href="${myUrl(row.bot_id)}">${row.name}</a></p><h1>${t.edit.title(row.name)}</h1><p class="soft">${t.edit.name}</p>
${preview}
<form method="post" action="${myUrl(row.bot_id)}/edit" data-guard="${isUnsaved ? 'changed' : ''}">
${field({ name: 'shortDescription', label: t.edit.short, value: values.shortDescription, hint: t.edit.shortHint, problem: problems['shortDescription'], more: html`maxlength="160"` })}
${field({ name: 'description', label: t.edit.description, value: values.description, hint: t.edit.descriptionHint, problem: problems['description'], rows: 14, more: html`maxlength="20000"` })}
${field({ name: 'tags', label: t.edit.tags, value: values.tags, hint: t.edit.tagsHint, problem: problems['tags'], more: html`autocomplete="off" maxlength="300"` })}
${urls.map((name) => field({ name, label: t.edit[name], value: values[name], problem: problems[name], more: html`inputmode="url" autocomplete="off" maxlength="512" placeholder="https://"` }))}
<p class="actions"><button class="button" name="intent" value="save">${t.edit.save}</button><button class="button quiet" name="intent" value="preview">${t.edit.preview}</button><a href="${myUrl(row.bot_id)}">${t.edit.cancel}</a></p>
</form></div>`,
  }
}
