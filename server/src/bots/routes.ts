import { randomInt } from 'node:crypto'
import type { BodyOf } from '@botberth/contract/endpoints.ts'
import { botsAllowed } from '../auth/limits.ts'
import { findUser, lockUser } from '../auth/queries.ts'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import type { Api } from '../http/endpoint.ts'
import { policyFor } from '../http/local.ts'
import { readPage } from '../http/paging.ts'
import { AppError, type FieldError, validationError } from '../lib/app-error.ts'
import { newId } from '../lib/ids.ts'
import { branchProblem, gitUrlProblem } from '../source/git-url.ts'
import { findLanguage, languages } from '../source/languages.ts'
import { readTemplates } from '../source/template.ts'
import { ensureDeployKey } from './deploy-key.ts'
import {
  type BotRow,
  countBots,
  deleteBot,
  getOwnedBot,
  insertBot,
  listAllBots,
  listBots,
  renewBot,
  updateBot,
} from './queries.ts'

const renewalMs = 7 * 24 * 60 * 60_000

/** What has to happen to a bot's server with its record. */
export interface BotHooks {
  /** In the transaction that renews it. */
  renewed(db: Db, botId: string): Promise<void>
  /** In the transaction that ends its automatic deployments, or has them follow another branch. */
  pushesEnded(db: Db, botId: string, how: { isOtherBranch: boolean; now: Date }): Promise<void>
  /** After its rows are gone: resolves when its processes and files are gone too, or in a while. */
  deleted(botId: string): Promise<void>
}

/** Bots as records: making one contacts nothing and deploys nothing. */
export function botRoutes(api: Api, app: App, hooks: BotHooks): void {
  const { clock, config } = app
  const templates = readTemplates()

  api.handle('listBots', async ({ caller, db }) => {
    const now = clock.now()
    return { data: (await listBots(db, caller.userId)).map((bot) => botJson(bot, now)) }
  })

  api.handle('getBot', async ({ caller, params, db }) =>
    botJson(await getOwnedBot(db, caller.userId, params.id), clock.now()),
  )

  api.handle('createBot', async ({ caller, body, db, request }) => {
    const templateId = body.type === 'marketplace' ? chooseTemplate(templates, body) : (body.templateId ?? null)
    checkSource(body)
    const now = clock.now()
    await takePlace(db, caller.userId, policyFor(config, request.raw).botsPerUser)
    const { memoryMb, cpus, diskMb } = config.botLimits
    const bot = await insertBot(db, {
      id: newId('bot', now),
      user_id: caller.userId,
      identifier: newIdentifier(),
      name: body.name.trim(),
      type: body.type,
      language: body.language ?? null,
      git_url: body.gitUrl ?? null,
      git_branch: body.gitBranch ?? null,
      auto_deploy_enabled: body.autoDeployEnabled ?? false,
      template_id: templateId,
      memory_mb: memoryMb,
      cpus,
      disk_mb: diskMb,
      expires_at: new Date(now.getTime() + renewalMs),
      created_at: now,
      updated_at: now,
    })
    return botJson(bot, now)
  })

  api.handle('updateBot', async ({ caller, params, body, db }) => {
    // Not found comes before what is wrong with the values.
    const before = await getOwnedBot(db, caller.userId, params.id)
    checkChanges(app, body)
    const now = clock.now()
    const { limits = {}, backups = {} } = body
    const given = {
      name: body.name?.trim(),
      auto_deploy_enabled: body.autoDeployEnabled,
      git_branch: body.gitBranch,
      language: body.language,
      start_command: body.startCommand,
      build_command: body.buildCommand,
      memory_mb: limits.memoryMb,
      cpus: limits.cpus,
      disk_mb: limits.diskMb,
      backups_daily: backups.daily,
      backups_keep: backups.keep,
      // From now on, and every day at this time.
      backup_due_at: backups.daily === true && !before.backups_daily ? now : undefined,
    }
    const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const isOtherBranch = body.gitBranch !== undefined && body.gitBranch !== before.git_branch
    return tx(db, async (db) => {
      if (isOtherBranch || body.autoDeployEnabled === false)
        await hooks.pushesEnded(db, before.id, { isOtherBranch, now })
      return botJson(
        await updateBot(db, { userId: caller.userId, id: before.id }, { ...changes, updated_at: now }),
        now,
      )
    })
  })

  api.handle('deleteBot', async ({ caller, params, db }) => {
    // Whoever else changes its rows may begin at another end.
    await tx(db, (db) => deleteBot(db, caller.userId, params.id))
    await hooks.deleted(params.id)
    return { id: params.id, deleted: true as const }
  })

  api.handle('renewBot', ({ caller, params }) =>
    tx(app.pool.db, async (db) => {
      const now = clock.now()
      await renewBot(db, { userId: caller.userId, id: params.id }, now)
      await hooks.renewed(db, params.id)
      return botJson(await getOwnedBot(db, caller.userId, params.id), now)
    }),
  )

  api.handle('makeDeployKey', async ({ caller, params, db }) => {
    const { publicKey, knownHosts } = await ensureDeployKey(app, await getOwnedBot(db, caller.userId, params.id))
    return { publicKey, hostKeys: knownHosts.split('\n').filter(Boolean) }
  })

  api.handle('listAllBots', ({ query, db }) =>
    readPage(query, async (range) => {
      const { rows, total } = await listAllBots(db, range)
      const now = clock.now()
      const withOwner = rows.map((bot) => ({ ...botJson(bot, now), owner: { id: bot.user_id, name: bot.owner_name } }))
      return { rows: withOwner, total }
    }),
  )

  const known = { data: languages.map(({ id, name, spellings }) => ({ id, name, spellings: [...spellings] })) }
  api.handle('listLanguages', () => known)
}

/** One of the bots that this person may have. Holds their row, so that two requests cannot take the last place. */
async function takePlace(db: Db, userId: string, botsPerUser: number | null): Promise<void> {
  await lockUser(db, userId)
  const user = await findUser(db, userId)
  const most = user ? botsAllowed(user, botsPerUser) : 0
  if (most === null || (await countBots(db, userId)) < most) return
  throw new AppError('limit_reached', {
    detail: `You may have ${most} bots, and have them. Delete one that is no longer used.`,
  })
}

function checkSource({ type, gitUrl, gitBranch }: BodyOf<'createBot'>): void {
  const problems: FieldError[] = []
  const url =
    gitUrl === undefined ? (type === 'git' ? 'is required for the type git' : undefined) : gitUrlProblem(gitUrl)
  if (url) problems.push({ pointer: '/gitUrl', detail: url })
  const branch = gitBranch === undefined ? undefined : branchProblem(gitBranch)
  if (branch) problems.push({ pointer: '/gitBranch', detail: branch })
  if (problems.length > 0) throw validationError(problems)
}

function checkChanges({ config }: App, { gitBranch, limits = {} }: BodyOf<'updateBot'>): void {
  const problems: FieldError[] = []
  const branch = gitBranch === undefined ? undefined : branchProblem(gitBranch)
  if (branch) problems.push({ pointer: '/gitBranch', detail: branch })
  for (const name of ['memoryMb', 'cpus', 'diskMb'] as const) {
    const most = config.botLimitsMax[name]
    if ((limits[name] ?? 0) > most)
      problems.push({ pointer: `/limits/${name}`, detail: `must be ${most} or less on this server` })
  }
  if (problems.length > 0) throw validationError(problems)
}

interface Wanted {
  readonly templateId?: string
  readonly language?: string
}

/** The one that was asked for, else the first of the language, else the first of all. */
function chooseTemplate(
  templates: readonly { id: string; language: string }[],
  { templateId, language }: Wanted,
): string {
  if (templateId !== undefined) {
    if (templates.some(({ id }) => id === templateId)) return templateId
    throw validationError([
      { pointer: '/templateId', detail: `must be one of ${templates.map(({ id }) => id).join(', ')}` },
    ])
  }
  const wanted = language === undefined ? undefined : findLanguage(language)?.id
  const chosen = templates.find((template) => template.language === wanted) ?? templates[0]
  if (!chosen) throw new Error('there are no templates')
  return chosen.id
}

// Lower-case base32 without what looks alike; 40 bits, unique in the database.
const identifierLetters = 'abcdefghijkmnpqrstuvwxyz23456789'

function newIdentifier(): string {
  return Array.from({ length: 8 }, () => identifierLetters[randomInt(32)]).join('')
}

function botJson(bot: BotRow, now: Date) {
  const status =
    bot.expires_at <= now ? ('expired' as const) : bot.first_deployed_at ? ('active' as const) : ('new' as const)
  return {
    id: bot.id,
    name: bot.name,
    type: bot.type,
    language: bot.language,
    status,
    identifier: bot.identifier,
    gitUrl: bot.git_url,
    gitBranch: bot.git_branch,
    autoDeployEnabled: bot.auto_deploy_enabled,
    templateId: bot.template_id,
    repo: repoJson(bot),
    server: {
      identifier: bot.identifier,
      state: bot.state,
      restartAt: bot.restart_at?.toISOString() ?? null,
    },
    lastDeployment:
      bot.deployment_id && bot.deployment_status && bot.deployment_at
        ? { id: bot.deployment_id, status: bot.deployment_status, createdAt: bot.deployment_at.toISOString() }
        : null,
    limits: { memoryMb: bot.memory_mb, cpus: bot.cpus, diskMb: bot.disk_mb },
    startCommand: bot.start_command,
    buildCommand: bot.build_command,
    backups: { daily: bot.backups_daily, keep: bot.backups_keep },
    expiresAt: bot.expires_at.toISOString(),
    createdAt: bot.created_at.toISOString(),
    updatedAt: bot.updated_at.toISOString(),
  }
}

function repoJson({ installation_id, repo_id, full_name, problem }: BotRow) {
  if (repo_id === null || full_name === null) return null
  return { installationId: Number(installation_id), repoId: Number(repo_id), fullName: full_name, problem }
}
