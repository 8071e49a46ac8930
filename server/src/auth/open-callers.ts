import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import type { Caller } from '../http/request.ts'
import type { Credentials } from './credentials.ts'

// A backstop, as for what credentials remember: revocations are pushed.
const everyMs = 2_000

interface Open {
  readonly caller: Caller
  readonly ended: () => void
}

/** Watches the credentials of requests that stay open, all of them with one query. */
export class OpenCallers {
  readonly #app: App
  readonly #open = new Set<Open>()
  readonly #timer: NodeJS.Timeout
  #isChecking = false
  #isAsked = false

  constructor(app: App, credentials: Credentials) {
    this.#app = app
    this.#timer = setInterval(() => void this.#check(), everyMs).unref()
    credentials.onChange(() => void this.#check())
  }

  /** Calls `ended` once when the credential is revoked, expired or signed out, or its account suspended or deleted. */
  watch(caller: Caller, ended: () => void): () => void {
    const open = { caller, ended }
    this.#open.add(open)
    return () => this.#open.delete(open)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** One at a time. Whoever asks meanwhile is told of what was true after they asked. */
  async #check(): Promise<void> {
    this.#isAsked = true
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      while (this.#isAsked && this.#open.size > 0) {
        this.#isAsked = false
        await this.#checkAll([...this.#open])
      }
    } catch (error) {
      // While the database is away nothing is revoked; the next round comes in seconds.
      if (!(error instanceof DatabaseAway)) this.#app.log.error({ err: error }, 'open streams could not be checked')
    } finally {
      this.#isChecking = false
    }
  }

  async #checkAll(open: readonly Open[]): Promise<void> {
    const now = this.#app.clock.now()
    const end = ({ caller, ended }: Open, isValid: boolean) => {
      if (!isValid || caller.expiresAt <= now.getTime()) ended()
    }
    for (const one of open) end(one, true)
    const ids = [...new Set(open.map(({ caller }) => caller.credential))]
    const rows = await this.#app.pool.query<{ id: string }>(
      `select k.id from api_keys k join users u on u.id = k.user_id where k.id = any($1) and u.suspended_at is null
       union all
       select s.id from sessions s join users u on u.id = s.user_id
       where s.id = any($1) and u.suspended_at is null and s.expires_at > $2`,
      [ids, now],
    )
    const valid = new Set(rows.map(({ id }) => id))
    for (const one of open) end(one, valid.has(one.caller.credential))
  }
}
