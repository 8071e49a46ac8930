import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { App } from '../context.ts'
import { DatabaseAway, type Db } from '../db/pool.ts'
import type { BotContent } from '../db/tables.ts'
import { tx } from '../db/tx.ts'
import { NotNow } from '../deployments/deployer.ts'
import { describeExit, hasStayedUp, lockServer } from '../deployments/swap.ts'
import { run } from '../lib/run.ts'
import { StepError } from '../lib/step-error.ts'
import type { Exit } from '../runtime/runtime.ts'
import { changeServer, findRelease, findServer, type Server } from '../servers/queries.ts'
import { openVariable } from '../servers/variables.ts'
import { hashArchive, listCovered, measureArchive, unpackArchive } from './archive/archive.ts'
import { describeFailure, type Manifest, manifestName, variablesName } from './backup.ts'
import { checkHostRoom } from './host-room.ts'
import { archiveMsMax, boundsOf, hostFreeBytes, type Keeper, Unwanted } from './keeper.ts'
import { changeRestore, findRestore, type RestoreWork, readSealed, writeSealed } from './queries.ts'
import { archiveChanged } from './store.ts'

/**
 * One restore, from wherever it is to its end. Rejects only if we are stopped in it: then it is taken up again.
 *
 * Up to `swapping` the bot goes on as it is, and whatever fails leaves it alone. From then on its server is ours: it
 * stops, its files, project, variables and release are exchanged, and if it ran it starts. Only when it stays up is what
 * it had before removed; else all of that takes its place again.
 */
export async function runRestore(keeper: Keeper, id: string, signal: AbortSignal): Promise<void> {
  const { app, supervisor } = keeper
  const work = await findRestore(app.pool.db, id)
  if (!work) return
  if (work.step === 'preparing' && !(await prepare(keeper, work, signal))) return clean(keeper, work)
  if (work.step !== 'cleaning') {
    try {
      await supervisor.exclusively(work.bot_id, () => exchange(keeper, id))
    } finally {
      supervisor.look(work.bot_id)
    }
  }
  await clean(keeper, work)
}

/** Verified, unpacked and ready to be swapped; false: it failed, or is not wanted any more. */
async function prepare(keeper: Keeper, work: RestoreWork, signal: AbortSignal): Promise<boolean> {
  const { app, slots } = keeper
  try {
    const wanted = await slots.run(() => stage(keeper, work, signal), signal)
    signal.throwIfAborted()
    await changeRestore(app.pool.db, work.id, { step: 'swapping', wanted: JSON.stringify(wanted) })
    return true
  } catch (error) {
    if (error instanceof DatabaseAway || (signal.aborted && !(signal.reason instanceof Unwanted))) throw error
    if (signal.aborted) return false
    const failure = describeFailure(keeper, error)
    await tx(app.pool.db, (db) => end(db, work, { failure, now: app.clock.now() }))
    return false
  }
}

async function stage(keeper: Keeper, work: RestoreWork, signal: AbortSignal): Promise<BotContent> {
  const { app, runtime, stores, folders } = keeper
  const folder = folders.restore(work.id)
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'project'), { recursive: true, mode: 0o700 })
  const archiveBytes = Number(work.size_bytes)
  // What is written below the bot's own folder takes of the host's disk, too.
  const fetchedBytes = work.store === 's3' ? archiveBytes : 0
  checkHostRoom(folder, hostFreeBytes + fetchedBytes + Number(work.content_bytes ?? archiveBytes))
  const key = { botId: work.bot_id, id: work.backup_id }
  const file = await stores.get(work.store).fetch(key, { folder, sizeBytes: archiveBytes, signal })
  const { sizeBytes, checksum } = await hashArchive(file, signal)
  if (sizeBytes !== archiveBytes || checksum !== work.checksum) throw archiveChanged()
  const { bot_id: id, memory_mb, cpus, disk_mb } = work
  const bot = { id, limits: { memoryMb: memory_mb, cpus, diskMb: disk_mb } }
  // Nobody knows if we were killed when it was complete and nobody had been told.
  const bytes = Number(work.content_bytes ?? (await measureArchive({ file, timeLimitMs: archiveMsMax }, signal)))
  if (work.content_bytes === null) checkHostRoom(folder, hostFreeBytes + bytes)
  const files = await runtime.stageFiles(bot, { name: work.id, bytes })
  const texts = await unpackArchive(
    {
      file,
      folders: { project: join(folder, 'project'), files },
      texts: [manifestName, variablesName],
      ...boundsOf(disk_mb),
      timeLimitMs: archiveMsMax,
    },
    signal,
  )
  const manifest = parse<Manifest>(texts[manifestName])
  const variables = parse<BotContent['variables']>(texts[variablesName])
  checkSealed(app, variables)
  if (!manifest.hasProject) await rm(join(folder, 'project'), { recursive: true })
  // On the disk before it may be swapped; the runtime sees to the files.
  await run(['sync', '-f', '--', folder], { env: { PATH: '/usr/bin:/bin' }, timeoutMs: 300_000, signal })
  if (!manifest.hasFiles && !(await runtime.hasFiles(id))) {
    // It had none, and has none: a bot gets its folder when it is first started.
    await runtime.removeStaged(id, work.id)
    return { releaseId: null, variables }
  }
  const releaseId = await chooseRelease(keeper, work.bot_id, manifest)
  await runtime.finishStaged(bot, {
    name: work.id,
    releaseId,
    isPlaced: releaseId === manifest.releaseId,
    missing: (paths) => listCovered(paths, { globs: manifest.ignore, timeLimitMs: archiveMsMax }, signal),
  })
  return { releaseId, variables }
}

/** Else the bot would not start, or start without them. */
function checkSealed(app: App, variables: BotContent['variables']): void {
  try {
    for (const { key, value } of variables) openVariable(app, { key, value: Buffer.from(value, 'base64') })
  } catch (error) {
    const message = 'The variables in the backup were encrypted with another SECRET_KEY than this server has now.'
    throw new StepError('secret_key_changed', message, { cause: error })
  }
}

/** The one that ran then, if it is still there; else the present one, whose files are put over those of the backup. */
async function chooseRelease({ app, runtime }: Keeper, botId: string, manifest: Manifest): Promise<string | null> {
  const { releaseId } = manifest
  const isKnown = releaseId !== null && (await findRelease(app.pool.db, releaseId))?.release
  if (isKnown && (await runtime.hasRelease(botId, releaseId))) return releaseId
  return (await findServer(app.pool.db, botId))?.release_id ?? null
}

function parse<T>(text: string | undefined): T {
  if (text === undefined) throw new StepError('backup_invalid', 'The backup is broken: a part of it is missing.')
  try {
    return JSON.parse(text) as T
  } catch (error) {
    throw new StepError('backup_invalid', 'The backup is broken: a part of it cannot be read.', { cause: error })
  }
}

/** The caller has the bot for itself. Each step is written down before the next one begins. */
async function exchange(keeper: Keeper, id: string): Promise<void> {
  const { db } = keeper.app.pool
  for (let work = await findRestore(db, id); work; work = await findRestore(db, id)) {
    if (work.step === 'swapping') await swap(keeper, work)
    else if (work.step === 'trying') await tryOut(keeper, work)
    else if (work.step === 'going_back') await goBack(keeper, work)
    else return
  }
}

async function swap(keeper: Keeper, work: RestoreWork): Promise<void> {
  const { app, runtime, supervisor, sources, folders } = keeper
  const server = await take(keeper, work)
  if (server.instance_id !== null) await supervisor.stopInstance(server, server.instance_id)
  await runtime.swapStaged(work.bot_id, work.id)
  await sources.swapStaged(work.bot_id, folders.restore(work.id))
  await tx(app.pool.db, async (db) => {
    await putContent(db, work.bot_id, work.wanted)
    await changeRestore(db, work.id, { step: 'trying' })
  })
}

/** From here on nobody else starts or stops this server. */
async function take({ app }: Keeper, work: RestoreWork): Promise<Server> {
  return tx(app.pool.db, async (db) => {
    const server = await lockServer(db, work.bot_id)
    if (server.restore_id === work.id) return server
    if (server.deployment_id !== null) throw new NotNow('a deployment that was interrupted goes first')
    const previous: BotContent = {
      releaseId: server.release_id,
      variables: await readSealed(db, work.bot_id),
    }
    await changeRestore(db, work.id, { previous: JSON.stringify(previous) })
    await changeServer(db, server, { restore_id: work.id })
    return { ...server, restore_id: work.id }
  })
}

async function putContent(db: Db, botId: string, content: BotContent | null): Promise<void> {
  if (!content) throw new Error('the restore has no content')
  await writeSealed(db, botId, content.variables)
  await db.updateTable('servers').set({ release_id: content.releaseId }).where('bot_id', '=', botId).execute()
}

/** If it is wanted to run it is started, and has to stay up for a while. */
async function tryOut(keeper: Keeper, work: RestoreWork): Promise<void> {
  const { app } = keeper
  const { db } = app.pool
  let failure: { code: string; message: string } | undefined
  try {
    const exit = await start(keeper, work.bot_id)
    if (exit)
      failure = {
        code: 'crashed_at_start',
        message: `The restored bot ended within its first ${app.config.minReadyMs / 1000} seconds${describeExit(exit)}. It is what it was before.`,
      }
  } catch (error) {
    if (error instanceof DatabaseAway) throw error // taken up where it stands
    failure = describeFailure(keeper, error)
  }
  if (failure) await changeRestore(db, work.id, { step: 'going_back', error: JSON.stringify(failure) })
  else await tx(db, (inside) => end(inside, work, { now: app.clock.now() }))
}

/** Resolves with its exit if it did not stay up although nobody stopped it. */
async function start({ app, runtime, supervisor }: Keeper, botId: string): Promise<Exit | undefined> {
  const server = await findServer(app.pool.db, botId)
  if (!server || server.wanted === 'offline' || server.release_id === null) return undefined
  let instance = server.instance_id
  if (instance === null) instance = (await supervisor.launch(server, { releaseId: server.release_id })) ?? null
  else await supervisor.startInstance({ ...server, instance_id: instance }, server.release_id)
  if (instance === null) throw new StepError('start_failed', 'The server was changed while it was being started.')
  const known = (await runtime.list()).find(({ id }) => id === instance)
  const startedAt = known?.startedAt.getTime() ?? Date.now()
  const { minReadyMs } = app.config
  if (known?.exit && hasStayedUp(known.exit, new Date(startedAt), minReadyMs)) return undefined
  const exit = await supervisor.waitForExit(instance, Math.max(0, minReadyMs - Math.max(0, Date.now() - startedAt)))
  const now = await findServer(app.pool.db, botId)
  return now?.wanted === 'offline' ? undefined : exit
}

async function goBack(keeper: Keeper, work: RestoreWork): Promise<void> {
  const { app, runtime, sources, folders } = keeper
  const failed = await findServer(app.pool.db, work.bot_id)
  if (!failed) throw new StepError('bot_deleted', 'The bot was deleted.')
  // If we were killed in here its crash may be written down already, after which it is not wanted any more.
  const isWanted = failed.wanted === 'running' || failed.state === 'crashed'
  if (failed.instance_id !== null) await endFailed(keeper, failed, failed.instance_id)
  await runtime.swapStagedBack(work.bot_id, work.id)
  await sources.swapStagedBack(work.bot_id, folders.restore(work.id))
  await tx(app.pool.db, async (db) => {
    const server = await lockServer(db, work.bot_id)
    await putContent(db, work.bot_id, work.previous)
    // The supervisor starts it, as it was before.
    const isStopped = server.wanted === 'offline' && server.state === 'offline' // meanwhile, by somebody
    if (isWanted && !isStopped)
      await changeServer(db, server, { wanted: 'running', state: 'starting', restart_at: null })
    await end(db, work, { failure: work.error ?? undefined, now: app.clock.now() })
  })
}

/** A crash like any other, and told as one. */
async function endFailed({ app, runtime, supervisor, output }: Keeper, server: Server, id: string): Promise<void> {
  await runtime.stop(id, 0)
  const exit = (await runtime.list()).find((instance) => instance.id === id)?.exit
  await output.finish(server.bot_id, id)
  const gone = { code: null, signal: null, oomKilled: false, at: app.clock.now() }
  await supervisor.recordCrash(server, exit ?? gone, { isFinal: true })
  await runtime.forget(id)
}

/** The server is the supervisor's again. In a transaction of the caller's. */
async function end(
  db: Db,
  { id, bot_id }: RestoreWork,
  { failure, now }: { failure?: { code: string; message: string } | undefined; now: Date },
): Promise<void> {
  await changeRestore(db, id, {
    status: failure ? 'failed' : 'completed',
    step: 'cleaning',
    finished_at: now,
    ...(failure && { error: JSON.stringify(failure) }),
  })
  await db
    .updateTable('servers')
    .set({ restore_id: null })
    .where('bot_id', '=', bot_id)
    .where('restore_id', '=', id)
    .execute()
}

/** What it had before, and what it did not get. */
async function clean({ app, runtime, folders }: Keeper, work: RestoreWork): Promise<void> {
  await runtime.removeStaged(work.bot_id, work.id)
  await rm(folders.restore(work.id), { recursive: true, force: true })
  await changeRestore(app.pool.db, work.id, { step: 'done' })
}
