import { sql } from 'kysely'
import { DatabaseAway, type Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { StepError } from '../lib/step-error.ts'
import type { Exit } from '../runtime/runtime.ts'
import { changeServer, findServer, type Server } from '../servers/queries.ts'
import { type Context, CrashedAtStart, type Deployer, NotNow } from './deployer.ts'
import { changeDeployment, completeDeployment, type Work } from './queries.ts'

/**
 * The old release stops, then the new one starts: two copies of a chat bot would both answer. If the new one does not
 * stay up the old one starts again. Each move is written down before it is made, so that whoever takes this up after
 * a kill goes on where it stopped.
 */
export async function swap(deployer: Deployer, work: Work & Context): Promise<void> {
  const { supervisor } = deployer
  try {
    await supervisor.exclusively(work.bot_id, () => swapExclusively(deployer, work))
  } finally {
    supervisor.look(work.bot_id)
  }
}

async function swapExclusively(deployer: Deployer, work: Work & Context): Promise<void> {
  const releaseId = work.rollback_of ?? work.id
  if (work.rollback_of !== null) await checkTarget(deployer, work, releaseId)
  const server = await take(deployer, work, releaseId)
  let trial: Trial
  try {
    trial = await tryRelease(deployer, { work, server, releaseId })
    if (trial.exit === undefined) return await complete(deployer, work)
  } catch (error) {
    if (error instanceof DatabaseAway) throw error // taken up where it stands
    await goBack(deployer, work, { releaseId })
    throw error
  }
  const lastLog = await goBack(deployer, work, { releaseId, exit: trial.exit })
  const how = trial.exit === 'recorded' ? '' : describeExit(trial.exit)
  const { minReadyMs } = deployer.app.config
  throw new CrashedAtStart(`The new release ended within its first ${minReadyMs / 1000} seconds${how}.`, lastLog)
}

/** Before anything is touched: a bot that was stopped stays as it is. What is under way already goes back instead. */
async function checkTarget({ app, runtime }: Deployer, work: Work, releaseId: string): Promise<void> {
  if (await runtime.hasRelease(work.bot_id, releaseId)) return
  if ((await findServer(app.pool.db, work.bot_id))?.deployment_id !== work.id) throw releaseGone()
}

const releaseGone = () => new StepError('release_gone', 'The files of that release are no longer there.')

/** From here on nobody else starts or stops this server. */
async function take({ app }: Deployer, work: Work, releaseId: string): Promise<Server> {
  return tx(app.pool.db, async (db) => {
    const server = await lockServer(db, work.bot_id)
    if (server.deployment_id === work.id) return server
    if (server.restore_id !== null) throw new NotNow('a restore that was interrupted goes first')
    if (server.expires_at <= app.clock.now()) throw new StepError('bot_expired', 'The bot has expired. Renew it first.')
    const changes = {
      deployment_id: work.id,
      is_swapped: false,
      wanted: 'running' as const,
      is_restart_wanted: false,
      is_expiry_stop: false,
      restart_at: null,
      crashes: [],
      backoff: 0,
      restarts: 0,
    }
    await changeServer(db, server, changes)
    if (server.release_id !== releaseId && (await hasWorked(db, server.release_id)))
      await changeDeployment(db, work.id, { previous_release_id: server.release_id })
    return { ...server, ...changes }
  })
}

/** Only a release that once stayed up is worth going back to. */
async function hasWorked(db: Db, releaseId: string | null): Promise<boolean> {
  if (releaseId === null) return false
  const row = await db.selectFrom('deployments').select('status').where('id', '=', releaseId).executeTakeFirst()
  return row?.status === 'succeeded'
}

export async function lockServer(db: Db, botId: string): Promise<Server> {
  await sql`select 1 from servers where bot_id = ${botId} for update`.execute(db)
  const server = await findServer(db, botId)
  if (!server) throw new StepError('bot_deleted', 'The bot was deleted.')
  return server
}

interface Trial {
  /** Undefined: it stayed up. */
  readonly exit: Exit | 'recorded' | undefined
  readonly instance: string | null
}

async function tryRelease(
  { app, runtime, supervisor }: Deployer,
  { work, server, releaseId }: { work: Work & Context; server: Server; releaseId: string },
): Promise<Trial> {
  let instance = server.instance_id
  if (!server.is_swapped) {
    if (!(await runtime.hasRelease(work.bot_id, releaseId))) throw releaseGone()
    if (instance) {
      work.say('Stopping the release that runs')
      await supervisor.stopInstance(server, instance)
    }
    work.say('Starting the new release')
    instance = (await supervisor.launch({ ...server, instance_id: null }, { releaseId })) ?? null
  } else if (server.release_id !== releaseId || !instance) return { exit: 'recorded', instance: null }
  else await supervisor.startInstance({ ...server, instance_id: instance }, releaseId)
  if (!instance) throw new StepError('start_failed', 'The server was changed while it was being started.')

  const known = (await runtime.list()).find(({ id }) => id === instance)
  const startedAt = known?.startedAt ?? app.clock.now()
  const { minReadyMs } = app.config
  if (known?.exit && hasStayedUp(known.exit, startedAt, minReadyMs)) return { exit: undefined, instance }
  const upMs = Math.max(0, Date.now() - startedAt.getTime())
  const exit = await supervisor.waitForExit(instance, Math.max(0, minReadyMs - upMs))
  const now = await findServer(app.pool.db, work.bot_id)
  // Somebody stopped it meanwhile: no fault of the release.
  return { exit: exit && now?.wanted === 'offline' ? undefined : exit, instance }
}

/**
 * Nobody was there to see it stay up: what ends it later is a crash like any other. When one was lost, with the machine say,
 * is not known.
 */
export function hasStayedUp({ code, signal, at }: Exit, startedAt: Date, minReadyMs: number): boolean {
  return (code !== null || signal !== null) && at.getTime() - startedAt.getTime() >= minReadyMs
}

async function complete({ app }: Deployer, work: Work): Promise<void> {
  await tx(app.pool.db, async (db) => {
    await release(db, work)
    await completeDeployment(db, work, app.clock.now())
  })
}

interface Failed {
  readonly releaseId: string
  readonly exit?: Exit | 'recorded'
}

/** Leaves the server as if this deployment had not been; returns the last lines of the release that failed. */
async function goBack(deployer: Deployer, work: Work & Context, failed: Failed): Promise<string> {
  try {
    return await bringBack(deployer, work, failed)
  } catch (error) {
    // Whatever went wrong in that: a server that stays in these hands could neither be started nor stopped any more.
    if (!(error instanceof DatabaseAway)) await tx(deployer.app.pool.db, (db) => release(db, work))
    throw error
  }
}

async function bringBack(deployer: Deployer, work: Work & Context, { releaseId, exit }: Failed): Promise<string> {
  const { app, runtime, supervisor, output } = deployer
  const { db } = app.pool
  const failed = await findServer(db, work.bot_id)
  const lastLog = failed ? await endFailed() : ''
  const row = await db
    .selectFrom('deployments')
    .select('previous_release_id')
    .where('id', '=', work.id)
    .executeTakeFirst()
  const previous = row?.previous_release_id
  const target =
    failed?.is_swapped && previous && (await runtime.hasRelease(work.bot_id, previous)) ? previous : undefined
  const isBack = await tx(db, async (inside) => {
    const ended = await lockServer(inside, work.bot_id)
    const goesBack = target !== undefined && ended.is_swapped && ended.release_id !== target
    // The supervisor starts it, and goes on trying if that fails; unless somebody stopped the bot meanwhile.
    const wanted = ended.state !== 'offline' && ({ wanted: 'running', state: 'starting' } as const)
    if (goesBack) await changeServer(inside, ended, { release_id: target, ...wanted })
    await release(inside, work)
    return goesBack
  })
  if (isBack) work.say('Starting the release before it again')
  return lastLog

  async function endFailed(): Promise<string> {
    if (!failed?.is_swapped || failed.release_id !== releaseId || failed.instance_id === null) return ''
    await runtime.stop(failed.instance_id, 0)
    await output.finish(work.bot_id, failed.instance_id)
    const gone = { code: null, signal: null, oomKilled: false, at: app.clock.now() }
    const words = supervisor.lastLog(failed)
    await supervisor.recordCrash(failed, exit === undefined || exit === 'recorded' ? gone : exit, { isFinal: true })
    await runtime.forget(failed.instance_id)
    return words
  }
}

export function describeExit({ code, signal }: Exit): string {
  return signal ? `, by ${signal}` : code === null ? '' : `, with exit code ${code}`
}

/** The server is the supervisor's again. */
async function release(db: Db, work: Work): Promise<void> {
  await db
    .updateTable('servers')
    .set({ deployment_id: null })
    .where('bot_id', '=', work.bot_id)
    .where('deployment_id', '=', work.id)
    .execute()
}
