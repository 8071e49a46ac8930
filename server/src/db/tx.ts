import type { Db } from './pool.ts'

/**
 * One transaction. No network, process or disk work inside: row locks are held meanwhile.
 * It is rolled back when `work` throws.
 */
export function tx<T>(db: Db, work: (db: Db) => Promise<T>): Promise<T> {
  return db.transaction().execute(work)
}
