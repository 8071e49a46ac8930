import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { type BotRow, getOwnedBot } from '../bots/queries.ts'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import type { Api } from '../http/endpoint.ts'
import { AppError, validationError } from '../lib/app-error.ts'
import { splitPath } from '../lib/beneath.ts'
import type { FileEntry, Runtime } from '../runtime/runtime.ts'
import { claimNode } from '../servers/queries.ts'
import type { Sources } from './sources.ts'

// As in archives: what is longer could not be copied and removed below our own folders, whose names come on top.
const pathBytesMax = 2048

interface Options {
  readonly runtime: Runtime
  readonly sources: Sources
  readonly nodeId: string
}

/** The files of a bot: those that it works with, and those that its next deployment is made from. */
export function fileRoutes(api: Api, app: App, { runtime, sources, nodeId }: Options): void {
  const claimFor = (botId: string) => () => claimNode(app.pool.db, botId, nodeId)

  api.handle('uploadSource', async ({ caller, params, body, db, reply }) => {
    const bot = await getSource(db, caller.userId, params.id)
    if (bot.type === 'git')
      throw new AppError('invalid_state', { detail: 'The files of this bot come from its repository.' })
    const signal = leavingSignal(reply)
    return { id: bot.id, ...(await sources.replace(bot, { body, claim: claimFor(bot.id), signal })) }
  })

  api.handle('listFiles', async ({ caller, params, db }) => {
    const bot = await getSource(db, caller.userId, params.id)
    return { data: (await list(bot, '')).map(entryJson) }
  })

  api.handle('readFile', async ({ caller, params: { id, path }, db, request, reply }) => {
    const bot = await getSource(db, caller.userId, id)
    const file = await findFile(bot, path)
    if (!file) return { data: (await list(bot, path)).map(entryJson) }
    reply.header('content-length', file.sizeBytes).header('content-disposition', attachment(path))
    // A HEAD must not read through a file of gigabytes.
    if (request.method === 'HEAD') file.stream.destroy()
    return reply.type('application/octet-stream').send(request.method === 'HEAD' ? Readable.from([]) : file.stream)
  })

  api.handle('writeFile', async ({ caller, params: { id, path }, body, db }) => {
    const bot = await getSource(db, caller.userId, id)
    checkPath(path)
    await checkChangeable(bot)
    return sources.stage(body, async (file, sizeBytes) => {
      await sources.checkRoom(bot, sizeBytes)
      // There somebody may be in the way, and then the project stays as it is too.
      if (await runtime.hasFiles(bot.id)) await runtime.writeFile(bot.id, path, bytesOf(file))
      if (bot.type !== 'git') await sources.write(bot, { path, data: bytesOf(file), claim: claimFor(bot.id) })
      return { path, sizeBytes }
    })
  })

  api.handle('deleteFile', async ({ caller, params: { id, path }, db }) => {
    const bot = await getSource(db, caller.userId, id)
    checkPath(path)
    await checkChangeable(bot)
    const wasInHome = await runtime.removeFile(bot.id, path)
    const wasInProject = bot.type !== 'git' && (await sources.remove(bot, { path, claim: claimFor(bot.id) }))
    if (!wasInHome && !wasInProject) throw new AppError('not_found')
    return { id: bot.id, path, deleted: true as const }
  })

  async function list(bot: BotRow, path: string): Promise<FileEntry[]> {
    return (await runtime.hasFiles(bot.id)) ? runtime.listFiles(bot.id, path) : sources.list(bot, path)
  }

  /** Undefined: no file of that name, but maybe a folder. */
  async function findFile(bot: BotRow, path: string) {
    try {
      return (await runtime.hasFiles(bot.id)) ? await runtime.openFile(bot.id, path) : await sources.open(bot, path)
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return undefined
      throw error
    }
  }

  async function checkChangeable(bot: BotRow): Promise<void> {
    if (bot.type === 'git' && !(await runtime.hasFiles(bot.id)))
      throw new AppError('invalid_state', { detail: 'This bot has no files before its first deployment.' })
  }
}

/** One that is linked to a repository has its files from there, whatever it was made as. */
async function getSource(db: Db, userId: string, id: string): Promise<BotRow> {
  const bot = await getOwnedBot(db, userId, id)
  return bot.repo_id === null ? bot : { ...bot, type: 'git' }
}

/** Opened by whoever begins to read it: one that nobody reads would stay open. */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(file) as AsyncIterable<Buffer>
}

function checkPath(path: string): void {
  splitPath(path)
  if (Buffer.byteLength(path) > pathBytesMax)
    throw validationError([{ pointer: '/path', detail: `may have at most ${pathBytesMax} bytes` }])
}

/** Fires when whoever sent the request has gone: nobody is left to tell. */
function leavingSignal(reply: FastifyReply): AbortSignal {
  const leaving = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) leaving.abort(new AppError('invalid_request'))
  })
  return leaving.signal
}

/** A name of any letters, that no browser shows as a page. */
function attachment(path: string): string {
  const name = encodeURIComponent(path.split('/').at(-1) ?? '').replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename*=UTF-8''${name}`
}

function entryJson({ name, type, sizeBytes, modifiedAt }: FileEntry) {
  return { name, type, sizeBytes: type === 'file' ? sizeBytes : 0, modifiedAt: modifiedAt.toISOString() }
}
