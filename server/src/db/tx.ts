import type { Db } from './pool.ts'

const attemptsMax = 3
// Of two that wait for each other's rows PostgreSQL ends one, and nothing of that one has happened.
const deadlock = '40P01'

/**
 * One transaction. No network, process or disk work inside: row locks are held meanwhile. It is rolled back when `work`
 * throws, and done anew if it waited for another one that waited for it: `work` may run more than once.
 */
export async function tx<T>(db: Db, work: (db: Db) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      if ((error as { code?: unknown }).code !== deadlock || attempt === attemptsMax) throw error
    }
  }
}
