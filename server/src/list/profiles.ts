import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { type ChatPlatform, fetchBotProfile } from '../chat/client.ts'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import { updateProfile } from './listings.ts'

const dayMs = 86_400_000
// Nobody is in a hurry, and the platform limits us.
const betweenMs = 1000
const afterFailureMs = 10 * 60_000
// Whoever finds no place is looked at again some other time.
const waitingMax = 500

type Platform = Pick<ChatPlatform, 'apiUrl'>

/**
 * Keeps the names and pictures of listed bots as the chat platform has them. It is asked at most once a day for each,
 * one after the other, when somebody looks at a bot or the bot tells its statistics; nobody waits for it.
 */
export class Profiles {
  readonly #app: App
  readonly #waiting = new Map<string, Platform>()
  readonly #closing = new AbortController()
  #isAsking = false

  constructor(app: App, server: FastifyInstance) {
    this.#app = app
    server.addHook('onClose', () => this.#closing.abort())
  }

  /** `askedAt`: when it was last asked for, if that is known. No platform: there is nobody to ask. */
  note(botId: string, platform: Platform | undefined, askedAt?: Date | null): void {
    const now = this.#app.clock.now()
    if (!platform || this.#waiting.size >= waitingMax || (askedAt && isOfToday(askedAt, now))) return
    this.#waiting.set(botId, platform)
    if (!this.#isAsking) void this.#askAll()
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true
    const { signal } = this.#closing
    // Those that come meanwhile are gone through too.
    for (const [botId, platform] of this.#waiting) {
      this.#waiting.delete(botId)
      const isWell = await this.#ask(botId, platform)
      // Rejects when the server closes; then nothing is left to do.
      await sleep(isWell ? betweenMs : afterFailureMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
    }
    this.#isAsking = false
  }

  /** False: the platform or the database is not well. What is on the list stays then, until the next day. */
  async #ask(botId: string, platform: Platform): Promise<boolean> {
    const { pool, clock, log } = this.#app
    try {
      const applicationId = await this.#claim(botId)
      const profile = applicationId === undefined ? undefined : await fetchBotProfile(platform, applicationId)
      if (!profile || this.#closing.signal.aborted) return true
      await tx(pool.db, (db) => updateProfile(db, botId, profile, clock.now()))
      return true
    } catch (error) {
      log.info({ err: error, botId }, 'the profile of a listed bot could not be read anew')
      return false
    }
  }

  /** Its application, if no server has asked for it within a day. */
  async #claim(botId: string): Promise<string | undefined> {
    const now = this.#app.clock.now()
    const [claimed] = await this.#app.pool.query<{ application_id: string }>(
      `update standings s set profile_at = $2 from listings l
       where s.bot_id = $1 and l.bot_id = s.bot_id and (s.profile_at > $3 and s.profile_at <= $2) is not true
       returning l.application_id`,
      [botId, now, new Date(now.getTime() - dayMs)],
    )
    return claimed?.application_id
  }
}

/** Not if it is in the future: then the clock was set back. */
function isOfToday(askedAt: Date, now: Date): boolean {
  const ageMs = now.getTime() - askedAt.getTime()
  return ageMs >= 0 && ageMs < dayMs
}
