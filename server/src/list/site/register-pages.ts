import { endpoints } from '@botberth/contract/endpoints.ts'
import type { ErrorCode } from '@botberth/contract/errors.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type BotProfile, type ChatPlatform, fetchBotProfile } from '../../chat/client.ts'
import { tx } from '../../db/tx.ts'
import { type Html, html } from '../../http/html.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { AppError } from '../../lib/app-error.ts'
import { findOwnerOf, getWhole } from '../listings.ts'
import { createRegistration, getRegistration, type RegistrationRow, verifyRegistration } from '../registrations.ts'
import { type Parts, readForm, readPost, readView, sendPrivate } from './answer-pages.ts'
import { avatar } from './card.ts'
import { formatClock, formatLeft } from './format.ts'
import { findProblems } from './forms-pages.ts'
import { keyPage } from './key-page.ts'
import { copyField, field, type Problems } from './parts.ts'
import { botUrl, myUrl, type Page, signInUrl, type View } from './view.ts'

interface RegisterParts extends Parts {
  readonly verifications: RateLimit
  /** Undefined: there is nobody to ask. */
  readonly platformFor: (request: FastifyRequest) => ChatPlatform | undefined
}

interface Params {
  Params: { id: string }
}

/** Registration in three steps: which bot, the code in its profile, the key. */
export function registerPages(server: FastifyInstance, parts: RegisterParts): void {
  const { app, verifications, platformFor } = parts
  const { pool, clock, config } = app
  const find = findProblems(endpoints.createRegistration.body)

  server.get('/list/register', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    return sendPrivate(
      reply,
      view,
      view.visitor ? firstPage(view, { values: {} }) : signInPage(view, view.t.register.title),
    )
  })

  server.post('/list/register', async (request, reply) => {
    const view = await readPost(parts, { request, reply })
    const values = trimmed(readForm(request))
    const { botId = '', applicationId = '' } = values
    const wrong = find({ botId, ...(applicationId !== '' && { applicationId }) })
    const problems = {
      ...(wrong.has('botId') && { botId: view.t.register.botIdRule }),
      ...(wrong.has('applicationId') && { applicationId: view.t.register.applicationIdRule }),
    }
    if (wrong.size > 0) return sendPrivate(reply.code(400), view, firstPage(view, { values, problems }))
    try {
      const wanted = { userId: view.visitor.userId, botId, applicationId: applicationId || botId }
      const { id } = await tx(pool.db, (db) => createRegistration(db, wanted, clock.now()))
      return await reply.redirect(`/list/register/${id}`, 303)
    } catch (error) {
      const notice = await refusal(view, error, botId)
      return sendPrivate(reply.code(409), view, firstPage(view, { values, notice }))
    }
  })

  /** Why a registration cannot begin; anything unforeseen is thrown again. */
  async function refusal(view: View, error: unknown, botId: string): Promise<Html> {
    const { t, visitor } = view
    if (!(error instanceof AppError)) throw error
    if (error.code === 'limit_reached') return html`${t.register.tooMany}`
    if (error.code !== 'already_listed') throw error
    const isOwn = (await findOwnerOf(pool.db, botId))?.user_id === visitor?.userId
    return isOwn
      ? html`${t.register.alreadyListed} <a href="${myUrl(botId)}">${t.my.manage}</a>`
      : html`${t.register.alreadyListed} ${t.register.alreadyListedOther} <a href="${botUrl(botId)}">${t.register.look}</a>`
  }

  server.get<Params>('/list/register/:id', async (request, reply) => {
    const view = await readView(parts, { request, reply })
    if (!view.visitor) return sendPrivate(reply, view, signInPage(view, view.t.register.title))
    const registration = await getRegistration(pool.db, { userId: view.visitor.userId, id: request.params.id })
    const profile = await readProfile()
    return sendPrivate(reply, view, codePage(view, registration, { isSandbox: config.chat === undefined, profile }))

    /** For a look at it; whatever is in the way, the page is the same without. */
    async function readProfile(): Promise<BotProfile | null | undefined> {
      const platform = platformFor(request)
      if (!platform || registration.expires_at <= view.now) return undefined
      try {
        await verifications.spend(() => registration.user_id, reply)
        return (await fetchBotProfile(platform, registration.application_id)) ?? null
      } catch (error) {
        if (error instanceof AppError) return undefined
        throw error
      }
    }
  })

  server.post<Params>('/list/register/:id', async (request, reply) => {
    const view = await readPost(parts, { request, reply })
    const { userId } = view.visitor
    const { id } = request.params
    const registration = await getRegistration(pool.db, { userId, id })
    try {
      await verifications.spend(() => userId, reply)
      const platform = platformFor(request)
      if (!platform) throw new AppError('login_not_configured')
      const { botId, key } = await verifyRegistration(app, { platform, userId, id, ip: request.ip })
      const row = await getWhole(pool, botId, clock.now())
      return sendPrivate(reply, view, keyPage(view, row, { key, isNew: true, steps: steps(view, 3) }))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const failure = failureOf(view, error)
      if (!failure) throw error
      void reply.code(error.status).headers(error.headers)
      return sendPrivate(reply, view, codePage(view, registration, { isSandbox: config.chat === undefined, failure }))
    }
  })
}

function trimmed(form: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(form).map(([name, value]) => [name, value.trim()]))
}

export function signInPage({ t, path }: View, title: string): Page {
  return {
    title: `${title} · ${t.siteName}`,
    content: html`<section class="panel empty"><h1>${title}</h1><p>${t.signIn.hint}</p><p class="actions"><a class="button" href="${signInUrl(path)}">${t.signIn.button}</a></p></section>`,
  }
}

function steps({ t }: View, current: number): Html {
  return html`<ol class="steps" aria-label="${t.register.steps}">${t.register.stepNames.map(
    (name, index) =>
      html`<li${index + 1 < current && html` class="past"`}${index + 1 === current && html` aria-current="step"`}><b>${index + 1}</b>${name}</li>`,
  )}</ol>`
}

interface First {
  readonly values: Readonly<Record<string, string>>
  readonly problems?: Problems
  readonly notice?: Html
}

function firstPage(view: View, { values, problems = {}, notice }: First): Page {
  const { t } = view
  const digits = html`inputmode="numeric" autocomplete="off" maxlength="24"`
  const isOld = Boolean(values['applicationId']) || problems['applicationId'] !== undefined
  return {
    title: `${t.register.title} · ${t.siteName}`,
    content: html`<div class="narrow"><h1>${t.register.title}</h1>${steps(view, 1)}<p>${t.register.lead}</p>
${notice && html`<p class="note bad" role="alert">${notice}</p>`}
<form method="post" action="/list/register">
${field({ name: 'botId', label: t.register.botId, value: values['botId'] ?? '', hint: t.register.botIdHint, problem: problems['botId'], more: html`${digits} required` })}
<details${isOld && html` open`}><summary>${t.register.oldBot}</summary>${field({ name: 'applicationId', label: t.register.applicationId, value: values['applicationId'] ?? '', hint: t.register.applicationIdHint, problem: problems['applicationId'], more: digits })}</details>
<p><button class="button">${t.register.next}</button></p></form></div>`,
  }
}

interface Failure {
  readonly text: Html
  /** Nothing but a new code helps. */
  readonly isFinal?: boolean
}

/** What stands in the way of the verification, with what was read; undefined: nothing that we know of. */
function failureOf(view: View, error: AppError): Failure | undefined {
  if (error.code === 'code_not_found') return { text: notFoundText(view, error.members['aboutMe']) }
  const { register } = view.t
  const known: Partial<Record<ErrorCode, string>> = {
    code_expired: register.expired,
    invalid_state: register.notIts,
    already_listed: register.alreadyListed,
    limit_reached: register.tooMany,
    platform_failed: register.platformFailed,
    platform_timeout: register.platformFailed,
    login_not_configured: register.notConfigured,
    rate_limited: register.limited,
  }
  const text = known[error.code]
  return text === undefined ? undefined : { text: html`<p>${text}</p>`, isFinal: error.code === 'code_expired' }
}

/** No text at all: the platform knows no such application. */
function notFoundText({ t, lang, now }: View, aboutMe: unknown): Html {
  if (typeof aboutMe !== 'string')
    return html`<p><strong>${t.register.unknownApplication}</strong></p><p>${t.register.unknownApplicationHint}</p>`
  return html`<p><strong>${t.register.notFound}</strong></p><p>${t.register.notFoundRead(formatClock(lang, now))}</p>
<pre dir="auto">${aboutMe.trim() === '' ? `(${t.register.aboutMeEmpty})` : aboutMe.slice(0, 1000)}</pre><p>${t.register.notFoundHint}</p>`
}

interface Code {
  readonly isSandbox: boolean
  readonly failure?: Failure
  /** Null: the platform knows none. Undefined: it was not asked, or did not say. */
  readonly profile?: BotProfile | null | undefined
}

function codePage(view: View, registration: RegistrationRow, { isSandbox, failure, profile }: Code): Page {
  const { t, lang, now } = view
  const { id, bot_id: botId, application_id: applicationId, code, expires_at: expiresAt } = registration
  const isOver = failure?.isFinal || expiresAt <= now
  const again = html`<form method="post" action="/list/register"><input type="hidden" name="botId" value="${botId}">${applicationId !== botId && html`<input type="hidden" name="applicationId" value="${applicationId}">`}<button class="button">${t.register.newCode}</button></form>`
  const form = html`${copyField(view, 'code', { label: t.register.code, text: code })}
<p class="hint">${t.register.codeUntil(formatLeft(lang, expiresAt, now))}</p>
${isSandbox ? html`<p class="note">${t.register.sandbox} <a href="/sandbox/chat">${t.register.sandboxLink}</a></p>` : html`<details><summary>${t.register.howTo}</summary><ol>${t.register.howToSteps.map((step) => html`<li>${step}</li>`)}</ol></details>`}
<form method="post" action="/list/register/${id}"><p><button class="button"${failure && html` data-wait="10"`}>${t.register.verify}</button></p></form>`
  return {
    title: `${t.register.codeTitle} · ${t.siteName}`,
    content: html`<div class="narrow"><h1>${t.register.codeTitle}</h1>${steps(view, 2)}
<p class="soft">${t.register.botId}: <code>${botId}</code></p>
${failure && html`<div class="note bad" role="alert">${failure.text}</div>`}
${isOver ? html`${!failure && html`<p class="note bad" role="alert">${t.register.expired}</p>`}${again}` : html`<p>${t.register.codeLead}</p>${form}`}
${!failure && !isOver && preview(view, registration, profile)}
<p><a href="/list/register">${t.register.startAgain}</a></p></div>`,
  }
}

function preview({ t }: View, { bot_id: botId }: RegistrationRow, profile: BotProfile | null | undefined): Html {
  if (profile === undefined) return html`<p class="soft">${t.register.previewUnknown}</p>`
  if (profile === null)
    return html`<div class="note warn"><p>${t.register.previewNone}</p><p>${t.register.unknownApplicationHint}</p></div>`
  const { name, avatarUrl, aboutMe } = profile
  return html`<section class="panel"><h2>${t.register.preview}</h2><div class="card-head">${avatar({ bot_id: botId, name, avatar_url: avatarUrl }, 48)}<div><strong><bdi>${name}</bdi></strong><br><span class="soft">${t.register.aboutMe}: <bdi>${aboutMe.trim() === '' ? t.register.aboutMeEmpty : aboutMe.slice(0, 1000)}</bdi></span></div></div></section>`
}
