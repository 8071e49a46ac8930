// What happens when several ask at once; nothing is made here.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { makeBot, type TestBot } from '../../test/hosting.ts'
import { signIn } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import { pruneReleases } from '../deployments/queries.ts'
import { AppError } from '../lib/app-error.ts'
import {
  completeBackup,
  deleteBackup,
  findBackup,
  findUnfinished,
  insertBackup,
  insertRestore,
  listBackups,
  listDeleted,
  lockBackup,
  markDeleted,
} from './queries.ts'
import { makeBackupSchedule } from './schedule.ts'

const server = await startTestServer()
const ann = await signIn(server, 'ann')
const { db } = server.app.pool
const nodeId = 'node'

const ask = (inside: Db, bot: TestBot, isScheduled: boolean) =>
  insertBackup(inside, { botId: bot.id, nodeId, store: 'disk', isScheduled, now: server.clock.now() })

async function complete(id: string): Promise<void> {
  const work = await findUnfinished(db, id)
  assert(work)
  const made = { sizeBytes: 1, checksum: 'f'.repeat(64), contentBytes: 1 }
  assert(await tx(db, (inside) => completeBackup(inside, work, made, server.clock.now())))
}

async function make(bot: TestBot, isScheduled: boolean): Promise<string> {
  server.clock.advance(1) // ids are in the order of their times
  const { id } = await tx(db, (inside) => ask(inside, bot, isScheduled))
  await complete(id)
  return id
}

/** Lets another transaction run into what `work` holds, and ends it only then. */
async function meanwhile<T>(work: (inside: Db) => Promise<unknown>, other: () => Promise<T>): Promise<T> {
  let result: Promise<T> | undefined
  await tx(db, async (inside) => {
    await work(inside)
    result = other()
    result.catch(() => undefined) // whoever waits for it is told
    await until('the other one to wait', async () => {
      const rows = await server.pool.query("select 1 from pg_stat_activity where wait_event_type = 'Lock'")
      return rows.length > 0
    })
  })
  assert(result)
  return result
}

const keep = (bot: TestBot, count: number) => bot.ask('PATCH #', { backups: { daily: true, keep: count } })

async function getBackup(id: string) {
  const backup = await findBackup(db, id)
  assert(backup)
  return backup
}

test('a daily backup that was locked just now is not pruned', async () => {
  const bot = await makeBot(server, ann)
  await keep(bot, 1)
  const old = await make(bot, true)
  await meanwhile(
    (inside) => lockBackup(inside, old, true),
    () => make(bot, true),
  )
  assert.equal((await getBackup(old)).is_locked, true)
})

test('a daily backup and one that was asked for do not wait for each other', async () => {
  const bot = await makeBot(server, ann)
  await keep(bot, 1)
  const schedule = makeBackupSchedule({ app: server.app, nodeId, store: 'disk' })
  await tx(db, async (inside) => {
    await inside.selectFrom('servers').select('bot_id').where('bot_id', '=', bot.id).forUpdate().execute()
    const asked = schedule.run()
    await until('the daily one to wait', async () => {
      const rows = await server.pool.query("select 1 from pg_stat_activity where wait_event_type = 'Lock'")
      return rows.length > 0
    })
    await ask(inside, bot, false)
    return { asked }
  }).then(({ asked }) => asked)
  schedule.close()
  const rows = await listBackups(db, bot.id)
  assert.deepEqual(new Set(rows.map(({ is_scheduled: is }) => is)), new Set([false, true]))
  assert.equal(rows.length, 2)
})

test('daily backups go on where nine places are taken, and there are never more than ten for long', async () => {
  const bot = await makeBot(server, ann)
  await keep(bot, 3)
  const manual: string[] = []
  for (let index = 0; index < 9; index++) manual.push(await make(bot, false))
  for (let day = 0; day < 4; day++) {
    const newest = await make(bot, true)
    assert.deepEqual(
      (await listBackups(db, bot.id)).map(({ id }) => id),
      [newest, ...manual.toReversed()],
    )
  }
})

test('a daily backup that is being restored stays, and goes when there is another', async () => {
  const bot = await makeBot(server, ann)
  await keep(bot, 1)
  for (let index = 0; index < 9; index++) await make(bot, false)
  const restored = await getBackup(await make(bot, true))
  await tx(db, (inside) => insertRestore(inside, restored, server.clock.now()))
  await make(bot, true)
  assert.equal((await listBackups(db, bot.id)).length, 11)
  await server.pool.query("update restores set status = 'completed', step = 'done' where bot_id = $1", [bot.id])
  await make(bot, true)
  assert.equal((await listBackups(db, bot.id)).length, 10)
})

test('a backup is either restored or deleted, whoever comes first', async () => {
  const bot = await makeBot(server, ann)
  const backup = await getBackup(await make(bot, false))
  const hasCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code
  const start = (inside: Db) => insertRestore(inside, backup, server.clock.now())
  const remove = (inside: Db) => markDeleted(inside, backup)
  await assert.rejects(
    meanwhile(start, () => tx(db, remove)),
    hasCode('invalid_state'),
  )
  await server.pool.query("update restores set status = 'completed', step = 'cleaning' where bot_id = $1", [bot.id])
  await tx(db, remove)
  assert.deepEqual(await listDeleted(db, nodeId).then((rows) => rows.filter(({ id }) => id === backup.id)), [])
  await assert.rejects(tx(db, start), hasCode('not_found'))
  await server.pool.query("update restores set step = 'done' where bot_id = $1", [bot.id])
  assert.equal(
    (await listDeleted(db, nodeId)).some(({ id }) => id === backup.id),
    true,
  )
  const second = await getBackup(await make(bot, false))
  await assert.rejects(
    meanwhile(
      (inside) => markDeleted(inside, second),
      () => tx(db, (inside) => insertRestore(inside, second, server.clock.now())),
    ),
    hasCode('not_found'),
  )
})

test('a server is not held by a restore that is gone', async () => {
  const bot = await makeBot(server, ann)
  const backup = await getBackup(await make(bot, false))
  await tx(db, (inside) => insertRestore(inside, backup, server.clock.now()))
  await server.pool.query(
    'update servers set restore_id = (select id from restores where backup_id = $1) where bot_id = $2',
    [backup.id, bot.id],
  )
  await server.pool.query('update backups set is_deleted = true where id = $1', [backup.id])
  await deleteBackup(db, backup.id)
  const [row] = await server.pool.query('select restore_id from servers where bot_id = $1', [bot.id])
  assert.deepEqual(row, { restore_id: null })
})

test('the releases that a restore goes to, or back to, are kept until it is over', async () => {
  const bot = await makeBot(server, ann)
  const backup = await getBackup(await make(bot, false))
  const releases = Array.from({ length: 20 }, (_, index) => `dep_${bot.id}_${String(index).padStart(2, '0')}`)
  await server.pool.query(
    `insert into deployments (id, bot_id, node_id, source, status, is_release_kept, created_at)
     select id, $2, $3, 'files', 'succeeded', true, now() from unnest($1::text[]) as id`,
    [releases, bot.id, nodeId],
  )
  await tx(db, (inside) => insertRestore(inside, backup, server.clock.now()))
  const content = (index: number) => JSON.stringify({ releaseId: releases[index], variables: [] })
  await server.pool.query("update restores set step = 'trying', wanted = $2, previous = $3 where bot_id = $1", [
    bot.id,
    content(1),
    content(3),
  ])
  const isOld = (id: string) => releases.indexOf(id) < 5
  assert.deepEqual((await pruneReleases(db, bot.id)).filter(isOld), [releases[3], releases[1]])
  await server.pool.query("update restores set step = 'done' where bot_id = $1", [bot.id])
  assert.deepEqual((await pruneReleases(db, bot.id)).filter(isOld), [])
})

test('a backup is restored as often as its owner likes', async () => {
  const bot = await makeBot(server, ann)
  const backup = await getBackup(await make(bot, false))
  await tx(db, async (inside) => {
    // After five of one connection the database plans a statement without looking at its parameters.
    for (let count = 1; count <= 10; count++) {
      await insertRestore(inside, backup, server.clock.now())
      await inside.updateTable('restores').set({ status: 'completed', step: 'done' }).execute()
    }
  })
})
