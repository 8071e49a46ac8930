import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseAway } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { AppError } from '../lib/app-error.ts'
import { readBeneath } from '../lib/beneath.ts'
import { isDiskFull } from '../lib/disk-full.ts'
import { StepError } from '../lib/step-error.ts'
import type { BotFiles } from '../runtime/runtime.ts'
import { parseIgnore } from '../source/ignore.ts'
import { type Packed, packTrees } from './archive/archive.ts'
import type { Tree } from './archive/pack.ts'
import { archiveMsMax, boundsOf, hostFreeBytes, type Keeper, mebibyte, Unwanted } from './keeper.ts'
import { type BackupWork, completeBackup, failBackup, findUnfinished, type Made, readSealed } from './queries.ts'

/** What an archive says of itself, in `backup.json`. */
export interface Manifest {
  readonly version: 1
  readonly botId: string
  readonly createdAt: string
  /** Whose files are among the bot's. */
  readonly releaseId: string | null
  readonly hasFiles: boolean
  readonly hasProject: boolean
  /** What was left out, by `botberth.json`. */
  readonly ignore: readonly string[]
}

export const manifestName = 'backup.json'
export const variablesName = 'variables.json'
const configBytesMax = 1024 * 1024
// A file may be mostly holes: it may say that it is longer than the disk that it is on, within reason.
const announcedFactor = 4
// A deployment changes the files of its release one by one: what was packed meanwhile is of neither.
const triesMax = 3

/** One backup, to its end. Rejects only if we are stopped in it: then it is begun again. */
export async function runBackup(keeper: Keeper, id: string, signal: AbortSignal): Promise<void> {
  const { app, folders } = keeper
  const work = await findUnfinished(app.pool.db, id)
  if (!work) return
  try {
    const made = await findOrMake(keeper, work, signal)
    // From here on nothing makes it a failed one: what goes wrong is tried again, with the archive that is there.
    if (made) await complete(keeper, work, made)
  } finally {
    await rm(folders.draft(id), { recursive: true, force: true })
  }
}

/** Undefined: it failed, or is not wanted any more. */
async function findOrMake(keeper: Keeper, work: BackupWork, signal: AbortSignal): Promise<Made | undefined> {
  const { app, stores, slots } = keeper
  try {
    // An archive that is whole is never made again, or thrown away because nobody could be told of it.
    const kept = await stores.get(work.store).find({ botId: work.bot_id, id: work.id }, signal)
    if (kept) return { ...kept, contentBytes: undefined }
    return await slots.run(() => make(keeper, work, signal), signal)
  } catch (error) {
    if (error instanceof DatabaseAway || (signal.aborted && !(signal.reason instanceof Unwanted))) throw error
    if (!signal.aborted) await failBackup(app.pool.db, work, describeFailure(keeper, error))
    return undefined
  }
}

async function complete({ app, stores }: Keeper, work: BackupWork, made: Made): Promise<void> {
  const isWanted = await tx(app.pool.db, (db) => completeBackup(db, work, made, app.clock.now()))
  if (!isWanted) await stores.get(work.store).remove({ botId: work.bot_id, id: work.id })
}

async function make(keeper: Keeper, work: BackupWork, signal: AbortSignal): Promise<Packed> {
  const { stores, folders } = keeper
  const draft = folders.draft(work.id)
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  const file = join(draft, 'archive')
  const packed = await pack(keeper, work, { draft, file, signal })
  const key = { botId: work.bot_id, id: work.id }
  await stores.get(work.store).keep(key, file, { ...packed, signal })
  return packed
}

async function pack(
  keeper: Keeper,
  work: BackupWork,
  { draft, file, signal }: { draft: string; file: string; signal: AbortSignal },
): Promise<Packed> {
  const { app, runtime } = keeper
  const project = await copyProject(keeper, work, draft)
  for (let tries = 1; ; tries++) {
    const files = await runtime.findFiles(work.bot_id)
    const ignore = files ? await readIgnore(files.folder) : []
    const manifest: Manifest = {
      version: 1,
      botId: work.bot_id,
      createdAt: app.clock.now().toISOString(),
      releaseId: files?.releaseId ?? null,
      hasFiles: files !== undefined,
      hasProject: project !== undefined,
      ignore,
    }
    const variables = await readSealed(app.pool.db, work.bot_id)
    const packed = await packTrees(
      {
        file,
        texts: { [manifestName]: JSON.stringify(manifest), [variablesName]: JSON.stringify(variables) },
        trees: [...(project ? [project] : []), ...(files ? [treeOf(files, ignore)] : [])],
        limits: { ...boundsOf(work.disk_mb), bytesMax: work.disk_mb * mebibyte * announcedFactor },
        hostFreeBytes,
        timeLimitMs: archiveMsMax,
      },
      signal,
    )
    const after = await runtime.findFiles(work.bot_id)
    if (after?.releaseId === files?.releaseId || tries === triesMax) return packed
  }
}

/** As it is at one moment: nobody can change it while it is copied. */
async function copyProject({ sources }: Keeper, work: BackupWork, draft: string): Promise<Tree | undefined> {
  if (work.type === 'git') return undefined
  const folder = join(draft, 'project')
  await mkdir(folder)
  await sources.copyTo({ ...work, id: work.bot_id }, folder, () => undefined)
  return { prefix: 'project', folder, ignore: [], without: [] }
}

/** Without what a restore takes from the release. */
function treeOf({ folder, owned }: BotFiles, ignore: readonly string[]): Tree {
  return { prefix: 'files', folder, ignore, without: owned }
}

async function readIgnore(folder: string): Promise<string[]> {
  try {
    return parseIgnore((await readBeneath(folder, 'botberth.json', { bytesMax: configBytesMax })).toString())
  } catch (error) {
    // There is none, or the bot has put something there that is none.
    if (error instanceof AppError) return []
    throw error
  }
}

/** For the bot's owner; what we did not foresee is logged for the operator and told in general words. */
export function describeFailure({ app }: Keeper, error: unknown): { code: string; message: string } {
  if (error instanceof StepError || error instanceof AppError) return { code: error.code, message: error.message }
  if (isDiskFull(error)) return { code: 'disk_full', message: 'There is no room left for it.' }
  app.log.error({ err: error }, 'a backup or a restore failed')
  return {
    code: 'internal',
    message: 'Something went wrong on this server. Its operator finds the reason in its log.',
  }
}
