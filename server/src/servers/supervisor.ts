import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { whenBack } from '../db/when-back.ts'
import type { Wakes } from '../jobs/wake.ts'
import { isDiskFull } from '../lib/disk-full.ts'
import { newId } from '../lib/ids.ts'
import { KeyedLock } from '../lib/keyed-lock.ts'
import { StepError } from '../lib/step-error.ts'
import type { Exit, Instance, Runtime } from '../runtime/runtime.ts'
import { toArgv } from '../source/command-line.ts'
import { lastBytes, recordEvent } from '../webhooks/events.ts'
import { stopExpired } from './expiry.ts'
import type { Output } from './output.ts'
import {
  changeServer,
  exitJson,
  findRelease,
  findServer,
  isHeld,
  listServersInUse,
  lockWanted,
  type Server,
} from './queries.ts'
import { readVariables } from './variables.ts'

const stopGraceMs = 10_000
const backoffMaxMs = 60_000
/** So long up, and the next crash is the first one again. */
const steadyMs = 5 * 60_000
const crashWindowMs = 2 * 60_000
const crashesMax = 5
const lastLogBytesMax = 8 * 1024
const retryMs = 500

interface Options {
  readonly app: App
  readonly runtime: Runtime
  readonly output: Output
  readonly nodeId: string
  readonly wakes: Wakes
}

/**
 * Brings what runs in line with what is wanted, for the bots of this node. What is wanted stands in the database and
 * what runs is asked of the runtime, so it does not matter when we were killed: looking again is enough.
 */
export class Supervisor {
  readonly #options: Options
  readonly #lock = new KeyedLock()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  readonly #retries = new Map<string, NodeJS.Timeout>()
  /** Instances whose end somebody waits for, who then deals with it. */
  readonly #awaited = new Map<string, (exit: Exit) => void>()
  readonly #stopping = new AbortController()
  #unwatch = () => {}

  constructor(options: Options) {
    this.#options = options
  }

  /** Finds again what was running, and goes on with what was under way. `signal`: the start is given up. */
  async start(signal: AbortSignal): Promise<void> {
    const { app, runtime, output, nodeId, wakes } = this.#options
    const inUse = new Set<string>()
    for (const { id, botId, exit } of await runtime.list()) {
      inUse.add(botId)
      if (!exit) output.follow(botId, id)
    }
    wakes.on('server', (botId) => (botId === undefined ? this.#lookAtAll() : this.look(botId)))
    this.#unwatch = runtime.watch((instance) => this.#ended(instance))
    // Listened first: what is asked for from now on is told, what was asked for before is read.
    const servers = await whenBack(() => listServersInUse(app.pool.db, nodeId), signal)
    for (const { bot_id } of servers) inUse.add(bot_id)
    for (const botId of inUse) this.look(botId)
  }

  close(): void {
    this.#stopping.abort()
    this.#unwatch()
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  /** Work on one bot, one after the other. */
  exclusively<T>(botId: string, work: () => Promise<T>): Promise<T> {
    return this.#lock.run(botId, work)
  }

  /** Brings a bot in line, now or as soon as the database is back. */
  look(botId: string): void {
    this.#run(botId, () => this.#reconcile(botId))
  }

  #lookAtAll(): void {
    const { app, nodeId } = this.#options
    listServersInUse(app.pool.db, nodeId).then(
      (servers) => servers.forEach(({ bot_id }) => this.look(bot_id)),
      (error: unknown) => this.#later('all', error, () => this.#lookAtAll()),
    )
  }

  #run(botId: string, work: () => Promise<void>): void {
    if (this.#stopping.signal.aborted) return
    // Looking again is enough, whatever it was: exits that were not dealt with are found by that too.
    this.exclusively(botId, work).catch((error: unknown) => this.#later(botId, error, () => this.look(botId)))
  }

  /** Nothing is given up: what failed is looked at again, once for each bot however often it failed. */
  #later(what: string, error: unknown, again: () => void): void {
    if (this.#stopping.signal.aborted || this.#retries.has(what)) return
    const isAway = error instanceof DatabaseAway
    if (!isAway) this.#options.app.log.error({ err: error, bot: what }, 'a bot could not be brought in line')
    const timer = setTimeout(
      () => {
        this.#retries.delete(what)
        again()
      },
      isAway ? retryMs : retryMs * 20,
    ).unref()
    this.#retries.set(what, timer)
  }

  async #reconcile(botId: string): Promise<void> {
    const { app, runtime, nodeId } = this.#options
    const server = await findServer(app.pool.db, botId)
    const instances = (await runtime.list()).filter((instance) => instance.botId === botId)
    if (server && isHeld(server)) return // whoever holds it deals with it, and asks us to look after that
    for (const { id, exit } of instances) {
      // Neither current nor ended: left by a start that was killed before it was written down.
      if (id !== server?.instance_id && !exit) await runtime.stop(id, 0)
    }
    if (!server || server.node_id !== nodeId) return
    const current = instances.find(({ id }) => id === server.instance_id)
    if (current?.exit) return this.#settle(current, this.#byOurClock(current.exit))
    if (server.wanted === 'offline' || (await this.#hasExpired(server))) await this.#rest(server, current)
    else await this.#keepUp(server, current)
  }

  /** A start and the end of a bot's time may cross, and nobody expires it a second time. */
  async #hasExpired({ bot_id, expires_at }: Server): Promise<boolean> {
    const { app } = this.#options
    const now = app.clock.now()
    return expires_at <= now && (await tx(app.pool.db, (db) => stopExpired(db, bot_id, now)))
  }

  async #rest(server: Server, current: Instance | undefined): Promise<void> {
    const { app } = this.#options
    if (current) await this.stopInstance(server, current.id)
    else if (server.state !== 'offline' && server.state !== 'crashed')
      await changeServer(app.pool.db, server, {
        state: 'offline',
        state_at: app.clock.now(),
        instance_id: null,
        restart_at: null,
      })
  }

  async #keepUp(server: Server, current: Instance | undefined): Promise<void> {
    const { app } = this.#options
    if (current) {
      if (server.is_restart_wanted) {
        await this.stopInstance(server, current.id)
        await this.#reconcile(server.bot_id) // something else may be wanted by now
      } else if (server.state !== 'running')
        await changeServer(app.pool.db, server, { state: 'running', state_at: app.clock.now() })
      return
    }
    const waitMs = server.state === 'crashed' ? (server.restart_at?.getTime() ?? 0) - app.clock.now().getTime() : 0
    if (waitMs > 0 && !server.is_restart_wanted) this.#lookIn(server.bot_id, waitMs)
    else await this.#launch(server)
  }

  async #launch(server: Server): Promise<void> {
    if (server.release_id === null) return // its deployment starts it
    const isRestart = server.state === 'crashed' && !server.is_restart_wanted
    try {
      const instanceId = await this.launch(server, { releaseId: server.release_id, isRestart })
      if (instanceId !== undefined) this.#options.output.say(server.bot_id, 'Started.')
    } catch (error) {
      if (error instanceof DatabaseAway) throw error
      await this.#failToStart(server.bot_id, error)
    }
  }

  /** What cannot even be started has crashed, with all that follows from that: it is told, and tried again later. */
  async #failToStart(botId: string, error: unknown): Promise<void> {
    const { app, output } = this.#options
    if (!(error instanceof StepError)) app.log.error({ err: error, bot: botId }, 'a bot could not be started')
    const server = await findServer(app.pool.db, botId)
    const reason = describeFailure(error, server)
    output.say(botId, `The bot could not be started. ${reason.text}`)
    const exit = { code: null, signal: null, oomKilled: false, diskFull: reason.isDiskFull, at: app.clock.now() }
    if (server?.instance_id) await this.recordCrash(server, exit)
    this.look(botId)
  }

  #lookIn(botId: string, ms: number): void {
    clearTimeout(this.#timers.get(botId))
    const timer = setTimeout(
      () => {
        this.#timers.delete(botId)
        this.look(botId)
      },
      Math.min(ms, this.#options.app.clock.pollMs ?? ms),
    ).unref()
    this.#timers.set(botId, timer)
  }

  /** Starts a release; the caller has the bot for itself. Undefined: somebody wanted something else meanwhile. */
  async launch(
    server: Server,
    { releaseId, isRestart = false }: { releaseId: string; isRestart?: boolean },
  ): Promise<string | undefined> {
    const { app } = this.#options
    const { db } = app.pool
    const id = newId('ins', app.clock.now())
    const isMine = await changeServer(db, server, {
      instance_id: id,
      release_id: releaseId,
      state: 'starting',
      state_at: app.clock.now(),
      started_at: app.clock.now(),
      is_restart_wanted: false,
      is_swapped: true,
      restart_at: null,
      restarts: isRestart ? server.restarts + 1 : server.restarts,
    })
    if (!isMine) return undefined
    await this.startInstance({ ...server, instance_id: id }, releaseId)
    return id
  }

  /** Once for each instance, however often it is called. */
  async startInstance(server: Server & { instance_id: string }, releaseId: string): Promise<void> {
    const { app, runtime, output } = this.#options
    const env = await this.#environment(server, releaseId)
    output.follow(server.bot_id, server.instance_id)
    await runtime.start({
      id: server.instance_id,
      botId: server.bot_id,
      releaseId,
      argv: toArgv(env.start),
      releaseEnv: env.release,
      env: env.own,
      limits: { memoryMb: server.memory_mb, cpus: server.cpus, diskMb: server.disk_mb },
    })
    await changeServer(app.pool.db, server, { state: 'running', state_at: app.clock.now() })
  }

  async #environment(server: Server, releaseId: string) {
    const { app } = this.#options
    const row = await findRelease(app.pool.db, releaseId)
    if (!row?.release) throw new Error(`the release ${releaseId} is not known`)
    const url = app.botUrl()
    const own = {
      ...(await readVariables(app, server.bot_id, server.deployment_id)),
      BOTBERTH_BOT_ID: server.bot_id,
      BOTBERTH_API_URL: `${url}/api/v1`,
      BOTBERTH_LIST_API_URL: `${url}/list/api`,
    }
    return { start: server.start_command ?? row.release.start, release: row.release.env, own }
  }

  /** The whole tree is gone and its output is read when this resolves. The caller has the bot for itself. */
  async stopInstance(server: Server, instanceId: string): Promise<void> {
    const { app, runtime, output } = this.#options
    const { db } = app.pool
    const current = { ...server, instance_id: instanceId }
    await changeServer(db, current, { state: 'stopping', state_at: app.clock.now() })
    await runtime.stop(instanceId, stopGraceMs)
    const exit = (await runtime.list()).find(({ id }) => id === instanceId)?.exit
    await output.finish(server.bot_id, instanceId)
    output.say(server.bot_id, 'Stopped.')
    await changeServer(db, current, {
      state: 'offline',
      state_at: app.clock.now(),
      instance_id: null,
      started_at: null,
      ...(exit && { last_exit: exitJson(exit) }),
    })
    await runtime.forget(instanceId)
  }

  /** At once, past whatever is under way: a stop that waits for a bot gets it out of the way. */
  async kill(botId: string): Promise<void> {
    const { app, runtime } = this.#options
    const server = await findServer(app.pool.db, botId)
    if (server?.instance_id) await runtime.stop(server.instance_id, 0)
  }

  /**
   * Nothing but us keeps it from filling the machine's disk: it is not started again before somebody made room. False: not
   * now, because others have it in their hands.
   */
  stopOverfull(botId: string, { isCounted } = { isCounted: true }): Promise<boolean> {
    return this.exclusively(botId, async () => {
      const { app, runtime, output } = this.#options
      const server = await findServer(app.pool.db, botId)
      if (!server?.instance_id || isHeld(server)) return false // the next look finds it again
      const { instance_id: id } = server
      const what = isCounted
        ? `more than the ${server.disk_mb} MB of files that it may have`
        : 'too many files to count'
      output.say(botId, `This bot has ${what}: it is stopped.`)
      await runtime.stop(id, stopGraceMs)
      const exit = (await runtime.list()).find((instance) => instance.id === id)?.exit
      await output.finish(botId, id)
      const ended = exit ? this.#byOurClock(exit) : { code: null, signal: null, oomKilled: false, at: app.clock.now() }
      await this.recordCrash(server, { ...ended, diskFull: true }, { isFinal: true })
      await runtime.forget(id)
      return true
    })
  }

  /** Resolves with the exit, or undefined if it is still up after so long. */
  async waitForExit(instanceId: string, ms: number): Promise<Exit | undefined> {
    const { promise, resolve } = Promise.withResolvers<Exit | undefined>()
    this.#awaited.set(instanceId, resolve)
    const ended = (await this.#options.runtime.list()).find(({ id }) => id === instanceId)?.exit
    if (ended) resolve(this.#byOurClock(ended))
    const timer = setTimeout(() => resolve(undefined), ms)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#awaited.delete(instanceId)
    }
  }

  /** The runtime knows only the system's time. */
  #byOurClock(exit: Exit): Exit {
    return { ...exit, at: new Date(exit.at.getTime() + this.#options.app.clock.now().getTime() - Date.now()) }
  }

  #ended(instance: Instance): void {
    const { botId, id } = instance
    const exit = instance.exit && this.#byOurClock(instance.exit)
    if (!exit) return
    const awaited = this.#awaited.get(id)
    if (awaited) awaited(exit)
    else this.#run(botId, () => this.#settle(instance, exit))
  }

  async #settle({ id, botId }: Instance, exit: Exit): Promise<void> {
    const { app, runtime, output } = this.#options
    const server = await findServer(app.pool.db, botId)
    if (server && isHeld(server)) return // whoever holds it deals with it
    if (server?.instance_id === id) {
      await output.finish(botId, id)
      if (server.wanted === 'offline' || server.is_restart_wanted) await this.stopInstance(server, id)
      else await this.recordCrash(server, exit)
    }
    await runtime.forget(id)
    this.look(botId)
  }

  /** The exit, the state and the event are one transaction. The caller has the bot for itself. */
  async recordCrash(server: Server, exit: Exit, { isFinal = false } = {}): Promise<void> {
    const { app, output } = this.#options
    const now = app.clock.now()
    const isOom = exit.oomKilled || this.#ranOutOfHeap(server)
    const uptimeMs = exit.at.getTime() - (server.started_at?.getTime() ?? exit.at.getTime())
    const backoff = uptimeMs >= steadyMs ? 0 : server.backoff
    const crashes = [...server.crashes.filter((at) => at.getTime() > exit.at.getTime() - crashWindowMs), exit.at]
    const isLoop = isFinal || crashes.length >= crashesMax
    const waitMs = Math.min(1000 * 2 ** backoff, backoffMaxMs)
    output.say(server.bot_id, crashText(exit, { isOom, waitMs: isLoop ? undefined : waitMs }))
    const lastLog = this.lastLog(server)
    const last_exit = exitJson({ ...exit, oomKilled: isOom })
    const isStopped = await tx(app.pool.db, async (db) => {
      const ended = { state_at: now, instance_id: null, started_at: null, last_exit }
      const { wanted, is_restart_wanted: isRestarted } = (await lockWanted(db, server.bot_id)) ?? server
      // Somebody stopped it between its end and this: then that is what happened.
      if (wanted === 'offline') return changeServer(db, server, { ...ended, state: 'offline', restart_at: null })
      const since = {
        crashes,
        backoff: backoff + 1,
        restart_at: isLoop ? null : new Date(exit.at.getTime() + waitMs),
        // Nothing more until somebody starts it.
        ...(isLoop && { wanted: 'offline' as const }),
      }
      // Who started it anew meanwhile holds nothing against it.
      const isMine = await changeServer(db, server, { ...ended, state: 'crashed', ...(!isRestarted && since) })
      if (isMine) await recordEvent(db, 'server.crashed', { bot: server, fields: { lastLog }, at: exit.at })
      return false
    })
    if (isStopped) output.say(server.bot_id, 'Stopped.')
  }

  /** Of the present run. */
  lastLog({ bot_id, started_at }: Pick<Server, 'bot_id' | 'started_at'>): string {
    const since = started_at ?? undefined
    const { data } = this.#options.output.read(bot_id, { limit: 50, ...(since && { since }) })
    return lastBytes(data.map(({ text }) => text).join('\n'), lastLogBytesMax)
  }

  /** V8 says so itself before it gives up. */
  #ranOutOfHeap({ bot_id, started_at }: Server): boolean {
    const since = started_at ?? undefined
    const { data } = this.#options.output.read(bot_id, { limit: 50, stream: 'stderr', ...(since && { since }) })
    return data.some(({ text }) => text.includes('JavaScript heap out of memory'))
  }
}

/** In words for its owner, where it is the owner who can mend it. */
function describeFailure(error: unknown, server: Server | undefined): { text: string; isDiskFull: boolean } {
  if (error instanceof StepError) return { text: error.message, isDiskFull: error.code === 'disk_full' }
  if (isDiskFull(error))
    return { text: `Its disk is full (${server?.disk_mb} MB): delete some of its files first.`, isDiskFull: true }
  return { text: 'The operator of this server finds the reason in its log.', isDiskFull: false }
}

function crashText(
  { code, signal, diskFull }: Exit,
  { isOom, waitMs }: { isOom: boolean; waitMs: number | undefined },
): string {
  const how = diskFull
    ? 'has no room left on its disk'
    : isOom
      ? 'ran out of memory'
      : signal
        ? `was ended by ${signal}`
        : code === null
          ? 'was lost'
          : `exited with code ${code}`
  return waitMs === undefined
    ? `The bot ${how}. It is not started again until you start it.`
    : `The bot ${how}. It is started again in ${waitMs / 1000} s.`
}
