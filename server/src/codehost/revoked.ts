import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import { patienceMs } from './platform.ts'
import { deleteConnection, findConnection, listUsersOf } from './queries.ts'
import { findAccess, rejected } from './tokens.ts'

/**
 * Somebody is said to have taken our app's rights back. That may be old news, and they may have connected again since: the
 * platform is asked whether it still takes what we have. Rejects while it is away.
 */
export async function checkRevoked(app: App, accountId: number): Promise<void> {
  const { db } = app.pool
  const client = await app.codehost()
  if (!client) return
  for (const userId of await listUsersOf(db, accountId)) {
    const signal = AbortSignal.timeout(patienceMs)
    const access = await findAccess(app, client, { userId, signal })
    if (access && (await client.findUser(access.accessToken, signal))) continue
    if (access) await rejected(app, access.connection)
    // Whoever has connected again meanwhile stays connected.
    await tx(db, async (db) => {
      if (!(await findConnection(db, userId))) await deleteConnection(db, userId, app.clock.now())
    })
  }
}
