import { sql } from 'kysely'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { Rounds } from '../jobs/rounds.ts'
import { AppError } from '../lib/app-error.ts'
import { insertBackup, insertFailed } from './queries.ts'

const batch = 100

interface Options {
  readonly app: App
  readonly nodeId: string
  readonly store: 'disk' | 's3'
}

/**
 * Asks for the daily backups, when they are due. Expired bots have none: nothing of them changes. A bot whose owner wants
 * daily ones from now on is noticed within a round.
 */
export function makeBackupSchedule(options: Options): Rounds {
  const { app } = options
  return new Rounds({
    app,
    failure: 'daily backups could not be asked for',
    round: async () => {
      while ((await tx(app.pool.db, (db) => askForDue(db, options))) === batch);
      return Number.POSITIVE_INFINITY
    },
  })
}

/** Returns how many were due. What was missed while nobody was there is made up for once. */
async function askForDue(db: Db, { app, nodeId, store }: Options): Promise<number> {
  const now = app.clock.now()
  const due = await db
    .selectFrom('bots')
    .select('id')
    .where('backups_daily', '=', true)
    .where('is_expired', '=', false)
    .where('backup_due_at', '<=', now)
    .orderBy('backup_due_at')
    .limit(batch)
    // Not more: whoever asks for a backup holds its server and then the key of its bot, we the other way round.
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  for (const { id: botId } of due) {
    const wanted = { botId, nodeId, store, isScheduled: true, now }
    try {
      await insertBackup(db, wanted)
    } catch (error) {
      // All places are taken by those that nobody but their owner may remove, who has to be told.
      if (!(error instanceof AppError) || error.code !== 'limit_reached') throw error
      await insertFailed(db, wanted, { code: 'limit_reached', message: error.message })
    }
    await db
      .updateTable('bots')
      .set({
        backup_due_at: sql<Date>`case when backup_due_at + interval '1 day' > ${now} then backup_due_at + interval '1 day'
          else ${now}::timestamptz + interval '1 day' end`,
      })
      .where('id', '=', botId)
      .execute()
  }
  return due.length
}
