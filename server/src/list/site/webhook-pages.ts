import { endpoints } from '@botberth/contract/endpoints.ts'
import type { FastifyInstance } from 'fastify'
import { tx } from '../../db/tx.ts'
import { type Html, html } from '../../http/html.ts'
import type { AddressGuard } from '../../lib/address-guard.ts'
import { AppError } from '../../lib/app-error.ts'
import {
  type DeliveryRow,
  deleteVoteSubscription,
  findVoteSubscription,
  listDeliveries,
  lockVoteSubscription,
  type SubscriptionRow,
} from '../../webhooks/queries.ts'
import { testOnce } from '../../webhooks/receiver.ts'
import { getWhole, isOwn, type OwnRow } from '../listings.ts'
import { putVoteWebhook } from '../vote-webhook.ts'
import { type Parts, readForm, readPost, readText, readView, sendPrivate } from './answer-pages.ts'
import { formatNumber } from './format.ts'
import { fieldsOf, findProblems } from './forms-pages.ts'
import { copyField, field, moment, type Problems } from './parts.ts'
import { signInPage } from './register-pages.ts'
import { myUrl, type Page, type View } from './view.ts'

const shownDeliveries = 20

interface Params {
  Params: { botId: string }
}

/** Where the votes for a bot are sent to, with a test and what came of each. */
export function webhookPages(server: FastifyInstance, parts: Parts & { readonly guard: AddressGuard }): void {
  const { app, guard } = parts
  const { pool, clock } = app
  const find = findProblems(endpoints.putVoteWebhook.body)

  const read = async (userId: string, botId: string): Promise<Webhook> => {
    if (!(await isOwn(pool.db, { userId, botId }))) throw new AppError('not_found')
    const [row, subscription] = await Promise.all([
      getWhole(pool, botId, clock.now()),
      findVoteSubscription(pool.db, botId),
    ])
    const deliveries = subscription
      ? (await listDeliveries(pool.db, subscription.id, { limit: shownDeliveries, offset: 0 })).rows
      : []
    return { row, subscription, deliveries }
  }

  server.get<Params>('/list/my/:botId/webhook', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    if (!view.visitor) return sendPrivate(reply, view, signInPage(view, view.t.my.title))
    const { t } = view
    const notes = new Map([
      ['saved', t.my.saved],
      ['tested', t.webhook.tested],
      ['removed', t.webhook.removed],
      ['waiting', t.webhook.testLimit],
    ])
    const note = notes.get(readText(request.query, 'note') ?? '')
    return sendPrivate(reply, view, webhookPage(view, await read(view.visitor.userId, request.params.botId), { note }))
  })

  server.post<Params>('/list/my/:botId/webhook', async (request, reply) => {
    const view = await readPost(parts, { request, reply })
    const { botId } = request.params
    const mine = { userId: view.visitor.userId, botId }
    const webhook = await read(mine.userId, botId)
    const form = readForm(request)
    const [url, secret] = [(form['url'] ?? '').trim(), form['secret'] ?? '']
    const wanted = { url, ...(secret !== '' && { secret }) }
    const wrong = find(wanted)
    if (wrong.size > 0) return fail(wrong)
    try {
      const { secret: made } = await putVoteWebhook(app, mine, { wanted, guard })
      // A secret that we made is shown now or never; one that was typed is known.
      if (made === null || secret !== '') return await reply.redirect(`${myUrl(botId)}/webhook?note=saved`, 303)
      return sendPrivate(
        reply,
        view,
        webhookPage(view, await read(mine.userId, botId), { note: view.t.my.saved, secret: made }),
      )
    } catch (error) {
      if (error instanceof AppError && error.code === 'url_not_allowed') return fail(new Set(['url']))
      return fail(fieldsOf(error))
    }

    function fail(fields: ReadonlySet<string>) {
      const { t } = view
      const problems = {
        ...(fields.has('url') && { url: t.webhook.urlRule }),
        ...(fields.has('secret') && { secret: t.webhook.secretRule }),
      }
      return sendPrivate(reply.code(400), view, webhookPage(view, webhook, { url, problems }))
    }
  })

  server.post<Params>('/list/my/:botId/webhook/test', async (request, reply) => {
    const { visitor } = await readPost(parts, { request, reply })
    const { botId } = request.params
    if (!(await isOwn(pool.db, { userId: visitor.userId, botId }))) throw new AppError('not_found')
    const note = await tx(pool.db, async (db) => {
      const subscription = await lockVoteSubscription(db, botId)
      if (!subscription) throw new AppError('not_found')
      await testOnce(db, { userId: visitor.userId, subscription }, clock.now())
      return 'tested'
    }).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'limit_reached') return 'waiting'
      throw error
    })
    return reply.redirect(`${myUrl(botId)}/webhook?note=${note}`, 303)
  })

  server.post<Params>('/list/my/:botId/webhook/delete', async (request, reply) => {
    const { visitor } = await readPost(parts, { request, reply })
    const { botId } = request.params
    if (!(await isOwn(pool.db, { userId: visitor.userId, botId }))) throw new AppError('not_found')
    await deleteVoteSubscription(pool.db, botId)
    return reply.redirect(`${myUrl(botId)}/webhook?note=removed`, 303)
  })
}

interface Webhook {
  readonly row: OwnRow
  readonly subscription: SubscriptionRow | undefined
  readonly deliveries: readonly DeliveryRow[]
}

interface Shown {
  readonly note?: string | undefined
  readonly secret?: string
  readonly url?: string
  readonly problems?: Problems
}

function webhookPage(
  view: View,
  { row, subscription, deliveries }: Webhook,
  { note, secret, url, problems = {} }: Shown,
): Page {
  const { t } = view
  const base = `${myUrl(row.bot_id)}/webhook`
  const buttons =
    subscription &&
    html`<div class="actions"><form method="post" action="${base}/test"><button class="button quiet">${t.webhook.test}</button></form><form method="post" action="${base}/delete"><button class="button quiet">${t.webhook.remove}</button></form></div>`
  return {
    title: `${t.webhook.title} · ${row.name} · ${t.siteName}`,
    content: html`<div class="narrow"><p><a href="${myUrl(row.bot_id)}">${row.name}</a></p><h1>${t.webhook.title}</h1><p class="soft">${t.webhook.lead}</p>
${note !== undefined && html`<p class="note good" role="status">${note}</p>`}
${secret !== undefined && html`<div class="note warn">${copyField(view, 'new-secret', { label: t.webhook.shownOnce, text: secret })}</div>`}
${subscription && statusLine(view, subscription)}
<form method="post" action="${base}">
${field({ name: 'url', label: t.webhook.url, value: url ?? subscription?.url ?? '', problem: problems['url'], more: html`inputmode="url" autocomplete="off" required placeholder="${t.webhook.urlHint}"` })}
${field({ name: 'secret', label: t.webhook.secret, value: '', hint: subscription ? t.webhook.secretHint : t.webhook.secretHintNew, problem: problems['secret'], more: html`type="password" autocomplete="new-password"` })}
<p><button class="button">${t.webhook.save}</button></p></form>
${buttons}
${subscription && html`<h2>${t.webhook.deliveries}</h2>${deliveryTable(view, deliveries)}`}</div>`,
  }
}

function statusLine({ t, lang }: View, { status, consecutive_failures: failures }: SubscriptionRow): Html {
  if (status === 'disabled')
    return html`<p class="note bad"><strong>${t.webhook.disabled}</strong>: ${t.webhook.disabledHint}</p>`
  return html`<p>${t.webhook.status}: <strong class="good">${t.webhook.active}</strong>${failures > 0 && html` · ${t.webhook.failures(failures, formatNumber(lang, failures))}`}</p>`
}

function deliveryTable(view: View, deliveries: readonly DeliveryRow[]): Html {
  const { t } = view
  if (deliveries.length === 0) return html`<p class="soft">${t.webhook.none}</p>`
  const rows = deliveries.map((row) => {
    const last = row.attempts.at(-1)
    return html`<tr><th scope="row">${row.event}</th><td>${moment(view, row.created_at)}</td><td>${t.webhook.statuses[row.status]}</td><td>${row.attempts.length}</td><td>${last?.statusCode ?? last?.error ?? '–'}</td></tr>`
  })
  return html`<div class="scroll" tabindex="0"><table><thead><tr>${[t.webhook.event, t.webhook.when, t.webhook.status, t.webhook.attempts, t.webhook.answered].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`
}
