import { lookup } from 'node:dns/promises'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { BackupFolders, Stores } from './backups/keeper.ts'
import { S3Store } from './backups/s3-store.ts'
import { makeBackupSchedule } from './backups/schedule.ts'
import { DiskStore } from './backups/store.ts'
import { BackupWorker } from './backups/worker.ts'
import { CodehostWorker } from './codehost/worker.ts'
import type { App } from './context.ts'
import { DatabaseAway } from './db/pool.ts'
import { DeploymentLogs } from './deployments/logs.ts'
import { pushDeployer } from './deployments/push.ts'
import { Sources } from './deployments/sources.ts'
import { Tidying } from './deployments/tidying.ts'
import { DeploymentWorker } from './deployments/worker.ts'
import type { Rounds } from './jobs/rounds.ts'
import { Wakes } from './jobs/wake.ts'
import { AddressGuard } from './lib/address-guard.ts'
import { newId } from './lib/ids.ts'
import { Slots } from './lib/slots.ts'
import { pruneList } from './list/housekeeping.ts'
import type { Networks } from './runtime/process/networks.ts'
import { ProcessRuntime } from './runtime/process/process-runtime.ts'
import { DiskWatch } from './servers/disk-watch.ts'
import { makeExpiry } from './servers/expiry.ts'
import { Output } from './servers/output.ts'
import { Refusals } from './servers/refusals.ts'
import { Resources } from './servers/resources.ts'
import { Supervisor } from './servers/supervisor.ts'
import { Deliverer } from './webhooks/deliver.ts'
import { WebhookMetrics } from './webhooks/metrics.ts'
import { pruneEvents } from './webhooks/retention.ts'

const removalRetryMs = 1_000
// Somebody may flush all rules of the machine's firewall, ours too.
const repairMs = 60_000
const pruneMs = 10 * 60_000
// One slow build must not hold up all others.
const buildsMin = 2
// Each of them keeps a core and the disk busy, and nobody waits for one as for a build.
const backupsAtOnce = 2

/** Everything that goes on behind the API: deployments, servers, their output, backups, webhooks, expiry and removal. */
export class Work {
  readonly nodeId: string
  readonly wakes = new Wakes()
  readonly runtime: ProcessRuntime
  readonly output: Output
  readonly supervisor: Supervisor
  readonly resources: Resources
  readonly diskWatch: DiskWatch
  readonly logs: DeploymentLogs
  readonly sources: Sources
  readonly stores: Stores
  readonly guard: AddressGuard
  readonly metrics = new Registry()
  readonly #app: App
  readonly #worker: DeploymentWorker
  readonly #backups: BackupWorker
  readonly #schedule: Rounds
  readonly #expiry: Rounds
  readonly #deliverer: Deliverer
  readonly #codehost: CodehostWorker
  readonly #refusals: Refusals
  #pruning: NodeJS.Timeout | undefined
  #repairs: NodeJS.Timeout | undefined

  constructor(app: App, options: { sandbox?: 'bubblewrap' | 'shim' } = {}) {
    const { config, log, clock } = app
    const below = (name: string) => join(config.dataDir, name)
    this.#app = app
    this.nodeId = readNodeId(below('node-id'))
    this.sources = new Sources(config.dataDir)
    const disk = new DiskStore(config.dataDir)
    this.stores = new Stores(config.backupS3 ? [new S3Store(config.backupS3), disk] : [disk])
    this.runtime = new ProcessRuntime({ dataDir: config.dataDir, log, ...options })
    this.output = new Output({ runtime: this.runtime, clock, log, folder: below('logs') })
    this.supervisor = new Supervisor({
      app,
      runtime: this.runtime,
      output: this.output,
      nodeId: this.nodeId,
      wakes: this.wakes,
    })
    this.resources = new Resources(app, this.runtime)
    this.diskWatch = new DiskWatch({ ...this, app })
    this.#refusals = new Refusals({ runtime: this.runtime, output: this.output, clock, log })
    this.logs = new DeploymentLogs(below('deployments'), { clock, log })
    this.guard = new AddressGuard(config.allowedPrivateNets)
    const builds = new Slots(Math.max(buildsMin, cpus().length))
    const tidying = new Tidying({ ...this, app })
    this.#worker = new DeploymentWorker({ ...this, app, builds, tidying, startedAt: clock.now() }, this.nodeId)
    const folders = new BackupFolders(config.dataDir)
    this.#backups = new BackupWorker({ ...this, app, folders, slots: new Slots(backupsAtOnce) })
    this.#schedule = makeBackupSchedule({ app, nodeId: this.nodeId, store: this.stores.kind })
    this.#expiry = makeExpiry(app)
    const metrics = new WebhookMetrics(this.metrics, app, () => this.#deliverer.underWay)
    this.#codehost = new CodehostWorker(app, pushDeployer(app, this.nodeId))
    this.#deliverer = new Deliverer({ app, guard: this.guard, nodeId: this.nodeId, metrics })
  }

  /** Those that take a moment. Resolves with the network of bots, if they have their own: there they look for us. */
  async putUpWalls(): Promise<Networks | undefined> {
    const { botAllowedNets, publicUrl } = this.#app.config
    const allowedNets = [...botAllowedNets, ...(publicUrl === undefined ? [] : await findOpenings(publicUrl))]
    const network = await this.runtime.openNetwork({ allowedNets })
    for (const { name, state, detail, remedy } of this.runtime.walls)
      if (state !== 'on') this.#app.log.warn({ wall: name, state, remedy }, detail)
    const failed = (error: unknown) => this.#app.log.error({ err: error }, 'the rules around bots cannot be written')
    if (network) this.#repairs = setInterval(() => void network.repair().catch(failed), repairMs).unref()
    return network
  }

  /** Takes up what was under way. Expiry first: what has expired is not started again. `signal`: the start is given up. */
  async start(signal: AbortSignal): Promise<void> {
    await this.wakes.listen(this.#app.pool)
    this.wakes.on('removal', () => void this.#removeAll())
    await this.#expiry.run()
    await this.supervisor.start(signal)
    this.output.start()
    this.resources.start()
    this.diskWatch.start()
    this.#refusals.start()
    this.#backups.start(this.wakes)
    await this.#schedule.run()
    this.#worker.start(this.wakes)
    this.#deliverer.start(this.wakes)
    this.#codehost.start(this.wakes)
    this.#pruning = setInterval(() => void Promise.all([pruneEvents(this.#app), pruneList(this.#app)]), pruneMs).unref()
    await this.#removeAll()
  }

  /** Bots go on running. */
  async close(): Promise<void> {
    const running = (await this.runtime.list()).filter(({ exit }) => !exit).length
    if (running > 0) this.#app.log.info({ bots: running }, 'bots go on running; the next start finds them again')
    clearInterval(this.#repairs)
    clearInterval(this.#pruning)
    this.#expiry.close()
    this.#schedule.close()
    this.resources.close()
    this.#refusals.close()
    await Promise.all([
      this.diskWatch.close(),
      this.#worker.close(),
      this.#backups.close(),
      this.#deliverer.close(),
      this.#codehost.close(),
    ])
    this.supervisor.close()
    await this.output.close()
    await this.runtime.close()
  }

  /** What is left of bots whose rows are gone. */
  async #removeAll(): Promise<void> {
    const { pool, log } = this.#app
    try {
      const rows = await pool.query<{ bot_id: string }>("select bot_id from removals where node_id in ($1, 'any')", [
        this.nodeId,
      ])
      await Promise.all(rows.map(({ bot_id }) => this.#remove(bot_id)))
    } catch (error) {
      if (!(error instanceof DatabaseAway)) log.error({ err: error }, 'a deleted bot could not be removed')
      setTimeout(() => void this.#removeAll(), removalRetryMs).unref()
    }
  }

  async #remove(botId: string): Promise<void> {
    // First of all it stops, whatever else is under way.
    for (const { id } of (await this.runtime.list()).filter((instance) => instance.botId === botId))
      await this.runtime.stop(id, 0)
    await this.#worker.whenIdle(botId)
    await this.#backups.whenIdle(botId)
    await this.supervisor.exclusively(botId, async () => {
      await this.runtime.remove(botId)
      await this.output.remove(botId)
      await this.logs.remove(botId)
      await this.sources.removeAll(botId)
      await this.stores.removeAll(botId)
    })
    this.resources.forget(botId)
    this.diskWatch.forget(botId)
    await this.#app.pool.query('delete from removals where bot_id = $1', [botId])
  }

  /** Resolves when nothing of a deleted bot is left, or after a while. */
  async whenRemoved(botId: string, timeoutMs: number): Promise<void> {
    const until = Date.now() + timeoutMs
    while (Date.now() < until) {
      const rows = await this.#app.pool.query('select 1 from removals where bot_id = $1', [botId])
      if (rows.length === 0) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** Where others reach us, bots do too, also if that is this machine or the proxy before it. */
async function findOpenings(publicUrl: string): Promise<string[]> {
  const { hostname, port, protocol } = new URL(publicUrl)
  const addresses = await lookup(hostname, { all: true, family: 4 }).catch(() => [])
  return addresses.map(({ address }) => `${address}/32:${port || (protocol === 'https:' ? '443' : '80')}`)
}

/** Names this data directory for ever: the bots whose files are in it belong to it. */
function readNodeId(file: string): string {
  if (!existsSync(file)) writeFileSync(file, newId('nod', new Date()), { mode: 0o600, flush: true })
  return readFileSync(file, 'utf8').trim()
}
