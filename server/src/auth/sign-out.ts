import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import type { Credentials } from './credentials.ts'
import { announceChange, deletePairings, deleteSessions, insertAuditEvent, lockUser } from './queries.ts'

interface SignOut {
  readonly userId: string
  /** Left out: all of that person's sessions end, and what they approved but no device has come for. */
  readonly sessionId?: string
  readonly ip: string
}

/** Ends sessions with all their tokens, on every server. Returns how many there were. */
export async function signOut(
  { pool, clock }: App,
  credentials: Credentials,
  { userId, sessionId, ip }: SignOut,
): Promise<number> {
  const ended = await tx(pool.db, async (db) => {
    await lockUser(db, userId)
    const ended = await deleteSessions(db, { userId, ...(sessionId !== undefined && { sessionId }) })
    if (ended === 0 && sessionId !== undefined) return 0 // nobody has to hear of what was not there
    await announceChange(db)
    if (sessionId === undefined) await deletePairings(db, userId)
    const kind = sessionId === undefined ? 'logout_everywhere' : 'logout'
    const details = sessionId === undefined ? {} : { sessionId }
    await insertAuditEvent(db, { userId, kind, details, ip }, clock.now())
    return ended
  })
  if (ended > 0) credentials.forget()
  return ended
}
