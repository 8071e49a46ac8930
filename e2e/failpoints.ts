import pg from 'pg'
import { until } from '../server/test/until.ts'

/** Where a delivery can be stopped, and when: as each is written, or as all of its transaction is committed. */
const points = {
  claiming: ['before', 'old.claim_id is null and new.claim_id is not null'],
  recovering: ['before', 'new.interruptions > old.interruptions'],
  settling: ['before', 'old.claim_id is not null and new.claim_id is null and new.tries > old.tries'],
  settled: ['commit', 'old.claim_id is not null and new.claim_id is null and new.tries > old.tries'],
} as const

export type Failpoint = keyof typeof points

/** Holds a server up within its database, so that it can be killed at that very point and at no other. */
export class Failpoints {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /** `folder`: where the socket of its PostgreSQL is. */
  static async open(folder: string): Promise<Failpoints> {
    const client = new pg.Client({ host: folder, user: 'botberth', database: 'botberth' })
    await client.connect()
    await client.query(`create function wait_at_failpoint() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint); return new; end $$`)
    for (const [key, [when, condition]] of Object.values(points).entries()) {
      const [kind, row] = when === 'before' ? ['', ''] : ['constraint', 'deferrable initially deferred']
      await client.query(`create ${kind} trigger failpoint_${key} ${when === 'before' ? 'before' : 'after'} update
        on webhook_deliveries ${row} for each row when (${condition}) execute function wait_at_failpoint(${key})`)
    }
    return new Failpoints(client)
  }

  async hold(point: Failpoint): Promise<void> {
    await this.#client.query('select pg_advisory_lock($1)', [keyOf(point)])
  }

  /** Returns the session that waits there. */
  async untilReached(point: Failpoint): Promise<number> {
    let pid = 0
    await until(`something to be ${point}`, async () => {
      const { rows } = await this.#client.query<{ pid: number }>(
        "select pid from pg_locks where locktype = 'advisory' and objid = $1 and not granted",
        [keyOf(point)],
      )
      pid = rows[0]?.pid ?? 0
      return pid !== 0
    })
    return pid
  }

  /** With the server gone: lets what it last asked for happen, or not. */
  async release(point: Failpoint, pid: number, { isDone }: { isDone: boolean }): Promise<void> {
    if (!isDone) await this.#client.query('select pg_terminate_backend($1)', [pid])
    await this.#client.query('select pg_advisory_unlock($1)', [keyOf(point)])
    await until('its session to end', async () => {
      const { rowCount } = await this.#client.query('select from pg_stat_activity where pid = $1', [pid])
      return rowCount === 0
    })
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

function keyOf(point: Failpoint): number {
  return Object.keys(points).indexOf(point)
}
