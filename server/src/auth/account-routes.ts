import { statfsSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import type { AuditKind } from '@botberth/contract/me.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import type { Api } from '../http/endpoint.ts'
import { policyFor } from '../http/local.ts'
import { readPage } from '../http/paging.ts'
import { AppError } from '../lib/app-error.ts'
import { newId } from '../lib/ids.ts'
import { randomToken, sha256 } from '../lib/secret.ts'
import type { Wall } from '../runtime/runtime.ts'
import type { Credentials } from './credentials.ts'
import { apiKeyJson, apiKeysMax } from './keys.ts'
import { botsAllowed } from './limits.ts'
import {
  announceChange,
  deleteListed,
  deletePairings,
  deleteUser,
  findCodehostLogin,
  findUser,
  insertAuditEvent,
  insertOneTimeCode,
  listApiKeys,
  listAuditEvents,
  listBotNames,
  listListingNames,
  listSessions,
  listUsers,
  listVotes,
  listWebhookUrls,
  readUser,
  type UserRow,
  updateUser,
} from './queries.ts'
import { clearSessionCookie, sessionJson } from './sessions.ts'

const inviteMs = 7 * 24 * 60 * 60_000
const exportedEventsMax = 10_000

/** One's own account. */
export function meRoutes(api: Api, app: App, credentials: Credentials): void {
  const getUser = (id: string): Promise<UserRow> =>
    readUser(app.pool, id).then((user) => {
      if (!user) throw new AppError('unauthenticated') // deleted a moment ago
      return user
    })

  api.handle('getMe', ({ caller, request }) =>
    getUser(caller.userId).then((user) => meJson(user, policyFor(app.config, request.raw))),
  )

  api.handle('listAuditEvents', ({ caller, query, db }) =>
    readPage(query, async (range) => {
      const { rows, total } = await listAuditEvents(db, caller.userId, range)
      return { rows: rows.map(auditJson), total }
    }),
  )

  api.handle('exportMe', async ({ caller, db, request }) => {
    const user = await getUser(caller.userId)
    const [keys, sessions, bots, webhooks, codehost, listings, votes, audit] = await Promise.all([
      listApiKeys(db, caller.userId),
      listSessions(db, caller.userId, app.clock.now()),
      listBotNames(db, caller.userId),
      listWebhookUrls(db, caller.userId),
      findCodehostLogin(db, caller.userId),
      listListingNames(db, caller.userId),
      user.chat_user_id === null ? [] : listVotes(db, user.chat_user_id),
      listAuditEvents(db, caller.userId, { limit: exportedEventsMax, offset: 0 }),
    ])
    return {
      exportedAt: app.clock.now().toISOString(),
      me: meJson(user, policyFor(app.config, request.raw)),
      apiKeys: keys.map(apiKeyJson),
      sessions: sessions.map((row) => sessionJson(row, caller)),
      bots: bots.map(({ id, name, type, created_at }) => ({ id, name, type, createdAt: created_at.toISOString() })),
      webhooks: webhooks.map(({ id, url, created_at }) => ({ id, url, createdAt: created_at.toISOString() })),
      codehost: codehost ? { login: codehost.login, connectedAt: codehost.connected_at.toISOString() } : null,
      listings: listings.map(({ bot_id, name, created_at }) => ({
        botId: bot_id,
        name,
        createdAt: created_at.toISOString(),
      })),
      votes: votes.map(({ bot_id, voted_at }) => ({ botId: bot_id, votedAt: voted_at.toISOString() })),
      audit: audit.rows.map(auditJson),
    }
  })

  api.handle('deleteMe', async ({ caller, db, reply }) => {
    await tx(db, async (db) => {
      await announceChange(db)
      await deleteListed(db, caller.userId, app.clock.now())
      if (!(await deleteUser(db, caller.userId)))
        throw new AppError('invalid_state', { detail: 'The owner’s account cannot be deleted.' })
    })
    credentials.forget()
    clearSessionCookie(app, reply)
    return { id: caller.userId, deleted: true as const }
  })
}

/** For the owner of the server. */
export function operatorRoutes(
  api: Api,
  app: App,
  { credentials, walls }: { credentials: Credentials; walls: () => readonly Wall[] },
): void {
  api.handle('getHost', ({ request }) => {
    const { blocks, bavail, bsize } = statfsSync(app.config.dataDir)
    return {
      version: app.version,
      node: process.versions.node,
      publicUrl: app.publicUrl(),
      addresses: Object.values(networkInterfaces()).flatMap(
        (addresses) => addresses?.map(({ address }) => address) ?? [],
      ),
      disk: { totalBytes: blocks * bsize, freeBytes: bavail * bsize },
      signups: policyFor(app.config, request.raw).signups,
      isLocal: app.config.isLocal,
      walls: walls().map((wall) => ({ ...wall, remedy: wall.remedy ?? null })),
    }
  })

  api.handle('listUsers', ({ query, db, request }) =>
    readPage(query, async (range) => {
      const { rows, total } = await listUsers(db, range)
      return { rows: rows.map((user) => operatorUserJson(user, policyFor(app.config, request.raw))), total }
    }),
  )

  api.handle('updateUser', async ({ params, body, caller, db, request }) => {
    const now = app.clock.now()
    const user = await tx(db, async (db) => {
      const known = await findUser(db, params.id)
      if (!known) throw new AppError('not_found')
      if (known.id === caller.userId && body.suspended)
        throw new AppError('invalid_state', { detail: 'The owner cannot be suspended.' })
      await announceChange(db)
      if (body.suspended) await deletePairings(db, known.id)
      const isChange = body.suspended !== undefined && body.suspended !== (known.suspended_at !== null)
      if (isChange)
        await insertAuditEvent(db, { userId: known.id, kind: body.suspended ? 'suspended' : 'unsuspended' }, now)
      const changes = {
        ...(isChange && { suspended_at: body.suspended ? now : null }),
        ...(body.limits?.bots !== undefined && { bots_max: body.limits.bots }),
      }
      return (await updateUser(db, known.id, changes, now)) ?? known
    })
    credentials.forget()
    return operatorUserJson(user, policyFor(app.config, request.raw))
  })

  api.handle('createInvite', async ({ db }) => {
    const code = randomToken()
    const expiresAt = new Date(app.clock.now().getTime() + inviteMs)
    await insertOneTimeCode(db, { kind: 'invite', hash: sha256(code), data: {}, expiresAt })
    return {
      id: newId('inv', app.clock.now()),
      url: `${app.publicUrl()}/api/v1/auth/chat/login?invite=${code}`,
      expiresAt: expiresAt.toISOString(),
    }
  })
}

function meJson(user: UserRow, { botsPerUser }: { botsPerUser: number | null }) {
  const { id, name, avatar_url, chat_user_id, role } = user
  const limits = { bots: botsAllowed(user, botsPerUser), apiKeys: apiKeysMax }
  return { id, name, avatarUrl: avatar_url, chatUserId: chat_user_id, role, limits }
}

function operatorUserJson(user: UserRow, policy: { botsPerUser: number | null }) {
  return { ...meJson(user, policy), suspended: user.suspended_at !== null, createdAt: user.created_at.toISOString() }
}

interface AuditRow {
  readonly id: string
  readonly kind: string
  readonly details: Record<string, string>
  readonly ip: string | null
  readonly created_at: Date
}

function auditJson({ id, kind, details, ip, created_at }: AuditRow) {
  return { id, kind: kind as AuditKind, details, ip, createdAt: created_at.toISOString() }
}
