import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import type { ServerState } from '../db/tables.ts'
import type { DeploymentRow } from '../deployments/queries.ts'
import { deploymentJson } from '../deployments/routes.ts'
import type { Wakes } from '../jobs/wake.ts'
import { Groups } from '../lib/groups.ts'

const batchMs = 50
// Of deployments, for whoever was away.
const recentMs = 60 * 60_000
const recentMax = 40
const retryMs = 1_000

/** Whoever wants to know about one bot or deployment: at once what it is like, then each change. */
export interface StateListener {
  /** Of the bot or the deployment. */
  readonly id: string
  /** The bot that it stands or falls with. */
  readonly botId: string
  /** `body`: a JSON object; equal ones are the same text. */
  changed(name: 'state' | 'deployment', body: string): void
  gone(): void
}

/** Whoever wants to know about everything of one person: each change, and after a hole everything. */
export interface UserListener {
  readonly userId: string
  changed(name: 'state' | 'deployment', body: string): void
}

type ServerRow = { bot_id: string; user_id: string; identifier: string; state: ServerState; restart_at: Date | null }

/** Reads what has changed, with the same few queries for however many listen. */
export class StateFeed {
  readonly #app: App
  readonly #byId = new Groups<StateListener>()
  readonly #byBot = new Groups<StateListener>()
  readonly #byUser = new Groups<UserListener>()
  /** To be read: bots and deployments, and people of whom everything is. */
  #ids = new Set<string>()
  #users = new Set<string>()
  /** Reading, or about to. */
  #isReading = false

  constructor(app: App, wakes: Wakes) {
    this.#app = app
    wakes.on('state', (id) => {
      if (id === undefined) this.#readAll()
      else if (this.#byUser.size > 0 || this.#byId.has(id)) this.read(id)
    })
    wakes.on('removal', (botId) => {
      if (botId !== undefined) for (const listener of this.#byBot.get(botId)) listener.gone()
    })
  }

  add(listener: StateListener): () => void {
    const leaveId = this.#byId.add(listener.id, listener)
    const leaveBot = this.#byBot.add(listener.botId, listener)
    this.read(listener.id)
    return () => {
      leaveId()
      leaveBot()
    }
  }

  addUser(listener: UserListener): () => void {
    return this.#byUser.add(listener.userId, listener)
  }

  read(id: string): void {
    this.#ids.add(id)
    this.#schedule(batchMs)
  }

  /** Everything of one person: the state of each bot, and its last deployment. */
  readUser(userId: string): void {
    this.#users.add(userId)
    this.#schedule(batchMs)
  }

  #readAll(): void {
    for (const id of this.#byId.keys()) this.read(id)
    for (const userId of this.#byUser.keys()) this.readUser(userId)
  }

  #schedule(delayMs: number): void {
    if (this.#isReading) return
    this.#isReading = true
    setTimeout(() => void this.#read(), delayMs).unref()
  }

  /** One at a time, so that nobody hears of an older state after a newer one. */
  async #read(): Promise<void> {
    const [ids, users] = [this.#ids, this.#users]
    this.#ids = new Set()
    this.#users = new Set()
    let delayMs = batchMs
    try {
      await this.#readServers([...ids].filter((id) => id.startsWith('bot_')))
      await this.#readDeployments([...ids].filter((id) => !id.startsWith('bot_')))
      if (users.size > 0) await this.#readUsers([...users])
    } catch (error) {
      if (!(error instanceof DatabaseAway)) this.#app.log.error({ err: error }, 'states could not be read')
      this.#ids = new Set([...this.#ids, ...ids])
      this.#users = new Set([...this.#users, ...users])
      delayMs = retryMs
    }
    this.#isReading = false
    if (this.#ids.size + this.#users.size > 0) this.#schedule(delayMs)
  }

  async #readServers(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const rows = await this.#app.pool.query<ServerRow>(`${selectServers} where s.bot_id = any($1)`, [ids])
    for (const row of rows) this.#tellServer(row)
    this.#tellGone(
      ids,
      rows.map(({ bot_id }) => bot_id),
    )
  }

  async #readDeployments(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const rows = await this.#app.pool.query<Owned>(`${selectDeployments} where d.id = any($1)`, [ids])
    for (const row of rows) this.#tellDeployment(row)
    this.#tellGone(
      ids,
      rows.map(({ id }) => id),
    )
  }

  async #readUsers(userIds: readonly string[]): Promise<void> {
    const servers = await this.#app.pool.query<ServerRow>(`${selectServers} where b.user_id = any($1)`, [userIds])
    const newest = '(select max(id) from deployments where bot_id = b.id)'
    const deployments = await this.#app.pool.query<Owned>(
      `${selectDeployments} where b.user_id = any($1) and d.id = ${newest}`,
      [userIds],
    )
    // And those before it that may have ended while nobody listened: few enough for a client to take at once.
    const recent = await this.#app.pool.query<Owned>(
      `select * from (
         select *, row_number() over (partition by user_id order by id desc) as place from (
           ${selectDeployments} where b.user_id = any($1) and d.id <> ${newest}
             and d.id in (select id from deployments where bot_id = b.id order by id desc limit ${recentMax})
             and (d.finished_at is null or d.finished_at > $2)
         ) recent
       ) placed where place <= ${recentMax} order by id`,
      [userIds, new Date(this.#app.clock.now().getTime() - recentMs)],
    )
    for (const row of servers) this.#tellServer(row)
    for (const row of [...deployments, ...recent]) this.#tellDeployment(row)
  }

  #tellServer({ bot_id, user_id, identifier, state, restart_at }: ServerRow): void {
    const server = { identifier, state, restartAt: restart_at?.toISOString() ?? null }
    const body = JSON.stringify({ botId: bot_id, server })
    for (const listener of this.#byId.get(bot_id)) listener.changed('state', body)
    for (const listener of this.#byUser.get(user_id)) listener.changed('state', body)
  }

  #tellDeployment(row: Owned): void {
    const body = JSON.stringify({ deployment: deploymentJson(row) })
    for (const listener of this.#byId.get(row.id)) listener.changed('deployment', body)
    for (const listener of this.#byUser.get(row.user_id)) listener.changed('deployment', body)
  }

  #tellGone(asked: readonly string[], found: readonly string[]): void {
    const there = new Set(found)
    for (const id of asked) if (!there.has(id)) for (const listener of this.#byId.get(id)) listener.gone()
  }
}

type Owned = DeploymentRow & { user_id: string }

const selectServers = `select s.bot_id, b.user_id, b.identifier, s.state, s.restart_at
  from servers s join bots b on b.id = s.bot_id`
const selectDeployments = 'select d.*, b.user_id from deployments d join bots b on b.id = d.bot_id'
