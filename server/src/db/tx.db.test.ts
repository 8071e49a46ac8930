import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { createTestPool } from '../../test/db.ts'
import { tx } from './tx.ts'

test('of two transactions that wait for each other both are done in the end', async () => {
  const pool = await createTestPool()
  await pool.query(`insert into instance (name, value) values ('a', ''), ('b', '')`)
  let holding = 0
  let bothHold = () => {}
  const both = new Promise<void>((resolve) => (bothHold = resolve))
  let runs = 0
  const write = (...names: string[]) =>
    tx(pool.db, async (db) => {
      runs++
      for (const name of names) {
        await db.updateTable('instance').set({ value: sql<string>`value || 'x'` }).where('name', '=', name).execute()
        if (++holding === 2) bothHold()
        await both
      }
    })
  await Promise.all([write('a', 'b'), write('b', 'a')])
  // The other one too, if the machine is so slow that it has waited too long for the lock meanwhile.
  assert(runs >= 3, 'one of them anew')
  assert.deepEqual(await pool.query(`select value from instance where name in ('a', 'b')`), [
    { value: 'xx' },
    { value: 'xx' },
  ])
})

test('whatever else goes wrong ends a transaction at once', async () => {
  const pool = await createTestPool()
  let runs = 0
  const failing = tx(pool.db, () => {
    runs++
    return Promise.reject(new Error('no'))
  })
  await assert.rejects(failing, /^Error: no$/)
  assert.equal(runs, 1)
})
