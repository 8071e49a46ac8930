import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import { AppError } from '../lib/app-error.ts'
import { decidePairing, findPairing, insertAuditEvent, lockUser, type PairingRow } from './queries.ts'

interface Decision {
  /** As somebody typed it. */
  readonly userCode: string
  readonly approve: boolean
  readonly userId: string
  readonly ip: string
}

/** What somebody who is signed in says about a device that shows a code; once. */
export function decide({ pool, clock }: App, { userCode, approve, userId, ip }: Decision): Promise<PairingRow> {
  const now = clock.now()
  return tx(pool.db, async (db) => {
    await lockUser(db, userId)
    const pairing = await findPairing(db, readUserCode(userCode), now)
    if (!pairing) throw new AppError('not_found')
    const decided = await decidePairing(db, pairing.id, { status: approve ? 'approved' : 'denied', userId })
    if (!decided) throw new AppError('invalid_state', { detail: 'Somebody has decided about this pairing already.' })
    const kind = approve ? 'device_approved' : 'device_denied'
    await insertAuditEvent(db, { userId, kind, details: { clientName: decided.client_name }, ip }, now)
    return decided
  })
}

/** People type it in lower case and without the dash. */
export function readUserCode(typed: string): string {
  const code = typed.toUpperCase().replaceAll('-', '')
  return `${code.slice(0, 4)}-${code.slice(4)}`
}
