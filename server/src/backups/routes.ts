import { Readable } from 'node:stream'
import type { AnswerOf } from '@botberth/contract/endpoints.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { getOwnedBot } from '../bots/queries.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import { readByteRange } from '../http/byte-range.ts'
import type { Api } from '../http/endpoint.ts'
import { AppError } from '../lib/app-error.ts'
import type { Stores } from './keeper.ts'
import { isSigned, signLink } from './link.ts'
import {
  type BackupRow,
  findBackup,
  getOwnedBackup,
  insertBackup,
  insertRestore,
  listBackups,
  lockBackup,
  markDeleted,
} from './queries.ts'

interface Options {
  readonly stores: Stores
  readonly nodeId: string
}

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/** Asking for what the worker does, and handing out what it made. */
export function backupRoutes(api: Api, app: App, { stores, nodeId }: Options): void {
  const keyOf = ({ caller, params }: { caller: { userId: string }; params: { id: string; backupId: string } }) => ({
    userId: caller.userId,
    botId: params.id,
    id: params.backupId,
  })

  api.handle('createBackup', async ({ caller, params, db }) => {
    const { id: botId } = await getOwnedBot(db, caller.userId, params.id)
    const now = app.clock.now()
    return backupJson(await insertBackup(db, { botId, nodeId, store: stores.kind, isScheduled: false, now }))
  })

  api.handle('listBackups', async ({ caller, params, db }) => {
    const { id } = await getOwnedBot(db, caller.userId, params.id)
    return { data: (await listBackups(db, id)).map(backupJson) }
  })

  api.handle('getBackup', async (request) => backupJson(await getOwnedBackup(request.db, keyOf(request))))

  api.handle('deleteBackup', async (request) => {
    const backup = await getOwnedBackup(request.db, keyOf(request))
    await tx(app.pool.db, (db) => markDeleted(db, backup))
    return { id: backup.id, deleted: true as const }
  })

  const lock = async (request: Parameters<typeof keyOf>[0], isLocked: boolean) => {
    const { id } = await getOwnedBackup(app.pool.db, keyOf(request))
    await lockBackup(app.pool.db, id, isLocked)
    return backupJson(await getOwnedBackup(app.pool.db, keyOf(request)))
  }
  api.handle('lockBackup', (request) => lock(request, true))
  api.handle('unlockBackup', (request) => lock(request, false))

  api.handle('restoreBackup', (request) =>
    tx(app.pool.db, async (db) => {
      await insertRestore(db, await getOwnedBackup(db, keyOf(request)), app.clock.now())
      return backupJson(await getOwnedBackup(db, keyOf(request)))
    }),
  )

  api.handle('downloadBackup', async (request) => send(await getOwnedBackup(request.db, keyOf(request)), request))

  api.handle('linkBackup', async (request) => {
    const backup = await getOwnedBackup(request.db, keyOf(request))
    checkCompleted(backup)
    const { url, expiresAt } = signLink(app, backup.id)
    return { url, expiresAt: expiresAt.toISOString() }
  })

  api.handle('downloadByLink', async ({ params, query, db, ...exchange }) => {
    const backup = await findBackup(db, params.backupId)
    if (!isSigned(app, params.backupId, query))
      throw new AppError('unauthenticated', { detail: 'The link is not valid any more. Ask for a new one.' })
    if (!backup) throw new AppError('not_found')
    return send(backup, exchange)
  })

  async function send(backup: BackupRow, { request, reply }: Exchange): Promise<FastifyReply> {
    checkCompleted(backup)
    const sizeBytes = Number(backup.size_bytes)
    const tag = `"${backup.checksum}"`
    const { range: wanted, 'if-range': condition } = request.headers
    const range = condition === undefined || condition === tag ? readByteRange(wanted, sizeBytes) : undefined
    const { start, end } = range ?? { start: 0, end: sizeBytes - 1 }
    const stream =
      request.method === 'HEAD'
        ? Readable.from([]) // which must not read through gigabytes
        : await stores.get(backup.store).read({ botId: backup.bot_id, id: backup.id }, { start, end })
    if (!stream) throw new AppError('invalid_state', { detail: 'The archive of this backup is not there any more.' })
    reply
      .code(range ? 206 : 200)
      .header('content-length', end - start + 1)
      .header('accept-ranges', 'bytes')
      .header('etag', tag)
      .header('content-disposition', `attachment; filename="${backup.id}.tar.zst"`)
    if (range) reply.header('content-range', `bytes ${start}-${end}/${sizeBytes}`)
    return reply.type('application/zstd').send(stream)
  }
}

function checkCompleted({ status }: BackupRow): void {
  if (status !== 'completed')
    throw new AppError('invalid_state', { detail: `The backup is ${status}: it has no archive.` })
}

function backupJson(row: BackupRow): AnswerOf<'getBackup'> {
  return {
    id: row.id,
    botId: row.bot_id,
    status: row.status,
    sizeBytes: row.size_bytes === null ? null : Number(row.size_bytes),
    checksum: row.checksum,
    locked: row.is_locked,
    scheduled: row.is_scheduled,
    error: row.error,
    lastRestore:
      row.restore_id !== null && row.restore_status && row.restore_at
        ? {
            id: row.restore_id,
            status: row.restore_status,
            error: row.restore_error,
            createdAt: row.restore_at.toISOString(),
            finishedAt: row.restore_finished_at?.toISOString() ?? null,
          }
        : null,
    createdAt: row.created_at.toISOString(),
    completedAt: row.completed_at?.toISOString() ?? null,
  }
}
