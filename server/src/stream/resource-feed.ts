import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import { Groups } from '../lib/groups.ts'
import { listRunningServers } from '../servers/queries.ts'
import type { Resources } from '../servers/resources.ts'

const everyMs = 2_000

/** `body`: a JSON object. */
type Listener = (body: string) => void

/** Samples the bots that somebody looks at, once for all who do. */
export class ResourceFeed {
  readonly #app: App
  readonly #resources: Resources
  readonly #listeners = new Groups<Listener>()
  readonly #timer: NodeJS.Timeout
  #isSampling = false

  constructor(app: App, resources: Resources) {
    this.#app = app
    this.#resources = resources
    this.#timer = setInterval(() => void this.#sample(), everyMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  add(botId: string, listener: Listener): () => void {
    return this.#listeners.add(botId, listener)
  }

  async #sample(): Promise<void> {
    if (this.#isSampling || this.#listeners.size === 0) return
    this.#isSampling = true
    try {
      const servers = await listRunningServers(this.#app.pool.db, this.#listeners.keys())
      for (const server of servers) {
        const body = JSON.stringify(await this.#resources.read(server))
        for (const listener of this.#listeners.get(server.bot_id)) listener(body)
      }
    } catch (error) {
      // The next sample is two seconds away.
      if (!(error instanceof DatabaseAway)) this.#app.log.error({ err: error }, 'resources could not be sampled')
    } finally {
      this.#isSampling = false
    }
  }
}
