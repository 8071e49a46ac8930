import { type RawBuilder, sql } from 'kysely'
import type { Db, Pool } from '../db/pool.ts'

/** What there is to be done, or has changed. What exactly is in the tables: a message says only where to look. */
export type WakeKind = 'server' | 'deployment' | 'removal' | 'cancel' | 'state' | 'delivery' | 'codehost' | 'backup'

const channel = 'botberth_work'

/** Tells every server when the transaction commits, and nobody if it does not. */
export async function wake(db: Db, kind: WakeKind, id: string): Promise<void> {
  await sql`select ${waking(kind, id)}`.execute(db)
}

/** The same as a part of another statement, such as what an update returns: no round trip and no commit of its own. */
export function waking(kind: WakeKind, id: string | RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`pg_notify(${channel}, ${`${kind} `} || ${id})`
}

/** Hears what any server says. Undefined: messages may have been missed, so look at everything. */
export class Wakes {
  readonly #listeners = new Map<WakeKind, Set<(id: string | undefined) => void>>()

  async listen(pool: Pool): Promise<void> {
    await pool.listen(channel, (payload) => {
      const [kind, id] = payload?.split(' ') ?? []
      for (const [name, listeners] of this.#listeners) {
        if (kind !== undefined && kind !== name) continue
        for (const listener of listeners) listener(id)
      }
    })
  }

  on(kind: WakeKind, listener: (id: string | undefined) => void): () => void {
    const listeners = this.#listeners.get(kind) ?? new Set()
    this.#listeners.set(kind, listeners.add(listener))
    return () => listeners.delete(listener)
  }
}
