import type { AnswerOf } from '@botberth/contract/endpoints.ts'
import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import type { Instance, Runtime, Stats } from '../runtime/runtime.ts'
import type { Server } from './queries.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const historyMs = 7 * dayMs
/** Thinned out when they become a day old: a stretch of that time that is longer than any pause between two looks. */
const thinningMs = 60 * minuteMs
/** Two samples closer than this would be noise: the one before is answered. */
const freshMs = 1_000
const diskFreshMs = minuteMs
const mb = 1024 * 1024

interface Sample extends Stats {
  readonly instanceId: string
  readonly cpuPercent: number
  readonly atMs: number
}

/** What servers use: asked of the runtime when somebody looks, and once a minute for the history. */
export class Resources {
  readonly #app: App
  readonly #runtime: Runtime
  readonly #samples = new Map<string, Sample>()
  readonly #disks = new Map<string, { bytes: number; atMs: number }>()
  /** What became a day old while nobody looked is looked for once. */
  #isThinned = false
  #timer: NodeJS.Timeout | undefined

  constructor(app: App, runtime: Runtime) {
    this.#app = app
    this.#runtime = runtime
  }

  start(): void {
    this.#timer = setInterval(() => void this.keep(), minuteMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async read(server: Server): Promise<AnswerOf<'getResources'>> {
    const sample = server.instance_id === null ? undefined : await this.#sample(server.bot_id, server.instance_id)
    // By our clock, as the start is: their difference does not depend on when the sample was taken.
    const sampledAt = new Date(this.#app.clock.now().getTime() - (sample ? Date.now() - sample.atMs : 0))
    return {
      identifier: server.identifier,
      state: server.state,
      cpuPercent: sample?.cpuPercent ?? 0,
      memoryBytes: sample?.memoryBytes ?? 0,
      memoryLimitBytes: server.memory_mb * mb,
      diskBytes: server.node_id === null ? 0 : await this.#disk(server.bot_id),
      diskLimitBytes: server.disk_mb * mb,
      networkRxBytes: sample?.networkRxBytes ?? 0,
      networkTxBytes: sample?.networkTxBytes ?? 0,
      processes: sample?.processes ?? 0,
      uptimeMs: server.started_at === null ? 0 : Math.max(0, sampledAt.getTime() - server.started_at.getTime()),
      restarts: server.restarts,
      restartAt: server.restart_at?.toISOString() ?? null,
      lastExit: server.last_exit,
      sampledAt: sampledAt.toISOString(),
    }
  }

  async history(botId: string, minutes: number): Promise<AnswerOf<'listResourceHistory'>['data']> {
    const since = new Date(this.#app.clock.now().getTime() - minutes * minuteMs)
    const rows = await this.#app.pool.db
      .selectFrom('resource_samples')
      .selectAll()
      .where('bot_id', '=', botId)
      .where('at', '>', since)
      .orderBy('at')
      .execute()
    return rows.map((row) => ({
      at: row.at.toISOString(),
      cpuPercent: row.cpu_percent,
      memoryBytes: Number(row.memory_bytes),
      networkRxBytes: Number(row.network_rx_bytes),
      networkTxBytes: Number(row.network_tx_bytes),
      diskBytes: row.disk_bytes === null ? null : Number(row.disk_bytes),
    }))
  }

  /** By whoever has looked anyway: the history has only what is known. */
  noteDisk(botId: string, bytes: number): void {
    this.#disks.set(botId, { bytes, atMs: Date.now() })
  }

  forget(botId: string): void {
    this.#samples.delete(botId)
    this.#disks.delete(botId)
  }

  async #sample(botId: string, instanceId: string): Promise<Sample | undefined> {
    const before = this.#samples.get(botId)
    const isSame = before?.instanceId === instanceId
    const atMs = Date.now()
    if (isSame && atMs - before.atMs < freshMs) return before
    const stats = await this.#runtime.stats(instanceId)
    if (!stats) return undefined
    const usedMs = Math.max(0, stats.cpuMs - (isSame ? before.cpuMs : 0))
    const overMs = isSame ? atMs - before.atMs : Math.max(freshMs, stats.cpuMs)
    const sample = { ...stats, instanceId, atMs, cpuPercent: Math.round((usedMs / overMs) * 1000) / 10 }
    this.#samples.set(botId, sample)
    return sample
  }

  /** Looking through a bot's files is slow where it has no disk of its own: it is done at most once a minute, and only when somebody asks. */
  async #disk(botId: string): Promise<number> {
    const known = this.#disks.get(botId)
    if (known && Date.now() - known.atMs < diskFreshMs) return known.bytes
    const { usedBytes } = await this.#runtime.disk(botId)
    this.noteDisk(botId, usedBytes)
    return usedBytes
  }

  /** One statement for all of them. */
  async keep(): Promise<void> {
    const { pool, clock, log } = this.#app
    try {
      const running = (await this.#runtime.list()).filter(({ exit }) => !exit)
      const rows = await Promise.all(running.map((instance) => this.#row(instance)))
      const kept = rows.filter((row) => row !== undefined)
      if (kept.length > 0)
        await pool.query(
          `insert into resource_samples (bot_id, at, cpu_percent, memory_bytes, network_rx_bytes, network_tx_bytes, disk_bytes)
           select r.bot_id, $2, r.cpu, r.memory, r.rx, r.tx, r.disk
           from jsonb_to_recordset($1::jsonb) as r (bot_id text, cpu real, memory bigint, rx bigint, tx bigint, disk bigint)
           join bots on bots.id = r.bot_id
           on conflict do nothing`,
          [JSON.stringify(kept), clock.now()],
        )
      const ago = (ms: number) => new Date(clock.now().getTime() - ms)
      await pool.query('delete from resource_samples where at < $1', [ago(historyMs)])
      await pool.query(
        'delete from resource_samples where at between $1 and $2 and extract(minute from at)::integer % 10 <> 0',
        [ago(this.#isThinned ? dayMs + thinningMs : historyMs), ago(dayMs)],
      )
      this.#isThinned = true
    } catch (error) {
      this.#isThinned = false
      // The next minute is another one; a gap in a chart harms nobody.
      if (!(error instanceof DatabaseAway)) log.error({ err: error }, 'resources could not be recorded')
    }
  }

  async #row({ id, botId }: Instance): Promise<object | undefined> {
    const sample = await this.#sample(botId, id)
    if (!sample) return undefined
    const { cpuPercent, memoryBytes, networkRxBytes, networkTxBytes } = sample
    const disk = this.#disks.get(botId)?.bytes
    return { bot_id: botId, cpu: cpuPercent, memory: memoryBytes, rx: networkRxBytes, tx: networkTxBytes, disk }
  }
}
