import { pino } from 'pino'
import { Pool } from '../src/db/pool.ts'
import { tx } from '../src/db/tx.ts'
import { recordEvent } from '../src/webhooks/events.ts'

/** Makes things happen in the database of a server that runs elsewhere, as that server would write them down. */
export class EventSource {
  readonly pool: Pool

  /** `folder`: where the socket of its PostgreSQL is. */
  constructor(folder: string, connectionsMax = 4) {
    const connection = { host: folder, user: 'botberth', database: 'botberth' }
    this.pool = new Pool({ connection, log: pino({ level: 'silent' }), connectionsMax })
  }

  async crash(userId: string, lastLog = 'gone', at = new Date()): Promise<void> {
    const bot = { bot_id: 'bot_x', name: 'x', user_id: userId }
    await tx(this.pool.db, (db) => recordEvent(db, 'server.crashed', { bot, fields: { lastLog }, at }))
  }

  query<Row extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.pool.query<Row>(text, values)
  }

  async close(): Promise<void> {
    await this.pool.close()
  }
}
