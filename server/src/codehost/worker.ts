import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import type { Wakes } from '../jobs/wake.ts'
import { forgetEvents, handleNext, nextEventAt } from './event-queue.ts'
import type { PushDeployer } from './handle.ts'
import { fetchMissed, hasLinks } from './missed.ts'
import { nextStatusAt, reportNext } from './statuses.ts'

const retryMs = 500
// A clock that was set forward is noticed within this.
const longestMs = 60_000
const forgetMs = 60 * 60_000
const missedMs = 60 * 60_000
const missedRetryMs = 5 * 60_000
// A platform that is slow to take one status must not hold up all others.
const reportersMax = 2

/**
 * Handles what the code host tells us, and tells it what became of its commits. The tables are the queues: whatever is
 * due in them when a server starts, or when a timer or a message says so, is done.
 */
export class CodehostWorker {
  readonly #app: App
  readonly #loops: readonly Loop[]
  #forgetting: NodeJS.Timeout | undefined
  readonly #stopping = new AbortController()
  #missed: Promise<void> | undefined
  #missedTimer: NodeJS.Timeout | undefined

  constructor(app: App, deployer: PushDeployer) {
    this.#app = app
    const { db } = app.pool
    const events = new Loop(app, { next: () => handleNext(app, deployer), nextAt: () => nextEventAt(db) })
    const statuses: Queue = {
      next: async () => {
        // Asked first: most servers have nothing to tell, and some nobody to tell it to.
        const at = await nextStatusAt(db)
        const client = at && at <= app.clock.now() ? await app.codehost() : undefined
        return client !== undefined && reportNext(app, client)
      },
      nextAt: async () => {
        const at = await nextStatusAt(db)
        return at && (await app.codehost()) ? at : undefined
      },
    }
    this.#loops = [events, ...Array.from({ length: reportersMax }, () => new Loop(app, statuses))]
  }

  start(wakes: Wakes): void {
    wakes.on('codehost', () => this.#loops.forEach((loop) => loop.look()))
    for (const loop of this.#loops) loop.look()
    this.#missed = this.#fetchMissed()
    this.#forgetting = setInterval(() => void this.#forget(), forgetMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#forgetting)
    clearTimeout(this.#missedTimer)
    this.#stopping.abort()
    await Promise.all([this.#missed, ...this.#loops.map((loop) => loop.close())])
  }

  /** What was sent while nobody was here, and now and then what got lost otherwise. */
  async #fetchMissed(): Promise<void> {
    const { pool, codehost, log } = this.#app
    let delayMs = missedMs
    try {
      const client = (await hasLinks(pool.db)) ? await codehost() : undefined
      const look = client && (await fetchMissed(this.#app, client, this.#stopping.signal))
      if (client && !look?.isAll) delayMs = missedRetryMs
    } catch (error) {
      delayMs = missedRetryMs
      if (!this.#stopping.signal.aborted) log.warn({ err: error }, 'nobody knows which events were missed')
    }
    if (this.#stopping.signal.aborted) return
    this.#missedTimer = setTimeout(() => {
      this.#missed = this.#fetchMissed()
    }, delayMs).unref()
  }

  async #forget(): Promise<void> {
    try {
      await forgetEvents(this.#app.pool.db, this.#app.clock.now())
    } catch (error) {
      if (!(error instanceof DatabaseAway)) this.#app.log.error({ err: error }, 'old events could not be forgotten')
    }
  }
}

interface Queue {
  /** Does one; false: none is due. */
  readonly next: () => Promise<boolean>
  readonly nextAt: () => Promise<Date | undefined>
}

/** Does what is due one after the other, then sleeps until something is. */
class Loop {
  readonly #app: App
  readonly #queue: Queue
  #running: Promise<void> | undefined
  #isAsked = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(app: App, queue: Queue) {
    this.#app = app
    this.#queue = queue
  }

  look(): void {
    this.#isAsked = true
    if (this.#isClosed) return
    this.#running ??= this.#run()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer)
    let waitMs: number | undefined
    do {
      this.#isAsked = false
      waitMs = await this.#drain()
    } while (this.#isAsked && !this.#isClosed)
    // Nothing comes between this and the question above: whoever asks from here on starts a new run.
    this.#running = undefined
    if (waitMs !== undefined && !this.#isClosed) this.#timer = setTimeout(() => this.look(), waitMs).unref()
  }

  /** Returns how long to wait for the next one; undefined: until somebody says that there is one. */
  async #drain(): Promise<number | undefined> {
    const { clock, log } = this.#app
    try {
      while (!this.#isClosed && (await this.#queue.next()));
      const at = await this.#queue.nextAt()
      if (!at) return undefined
      const waitMs = at.getTime() - clock.now().getTime()
      // What is due and was not to be had is in another server's hands: it says nothing if it fails.
      return waitMs <= 0 ? retryMs : Math.min(waitMs, clock.pollMs ?? longestMs)
    } catch (error) {
      if (!(error instanceof DatabaseAway)) log.error({ err: error }, 'a queue of the code host cannot be worked off')
      return retryMs
    }
  }
}
