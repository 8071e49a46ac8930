// Backups in a store that speaks S3.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { backUp, readText, restore, writeText } from '../../test/backups.ts'
import { makeBot, startHost } from '../../test/hosting.ts'
import { startS3 } from '../../test/s3.ts'
import { until } from '../../test/until.ts'
import { S3Store } from './s3-store.ts'

const s3 = await startS3()
after(() => s3.close())
const { server, ann } = await startHost({ env: s3.env })
const { backupS3 } = server.app.config
assert(backupS3)
const store = new S3Store(backupS3)
const { signal } = new AbortController()
const scratch = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 's3-test-'))
const never = { start: 0, end: 0 }

test('an archive of any size is kept, found, read in parts, fetched and removed', async () => {
  // The last is sent in three parts.
  for (const [index, size] of [1, 1_000_000, 16 * 1024 * 1024, 33 * 1024 * 1024 + 7].entries()) {
    const bytes = randomBytes(size)
    const file = join(scratch, `archive-${index}`)
    writeFileSync(file, bytes)
    const checksum = createHash('sha256').update(bytes).digest('hex')
    const key = { botId: 'bot_x', id: `bak_${index}` }
    assert.equal(await store.find(key, signal), undefined)
    await store.keep(key, file, { sizeBytes: size, checksum, signal })
    assert.deepEqual(await store.find(key, signal), { sizeBytes: size, checksum })
    await assert.rejects(store.fetch(key, { folder: scratch, sizeBytes: size + 1, signal }), {
      code: 'checksum_mismatch',
    })
    assert(!existsSync(join(scratch, 'archive')), 'nothing of it was written')
    const fetched = await store.fetch(key, { folder: scratch, sizeBytes: size, signal })
    assert(readFileSync(fetched).equals(bytes), String(size))
    rmSync(fetched)
    const part = await store.read(key, { start: size >> 1, end: size - 1 })
    assert(part)
    assert(Buffer.concat(await part.toArray()).equals(bytes.subarray(size >> 1)))
  }
  const [first, second] = [0, 1].map((index) => ({ botId: 'bot_x', id: `bak_${index}` }))
  assert(first && second)
  await store.remove(first)
  await store.remove(first) // once more is no failure
  assert.equal(await store.read(first, never), undefined)
  await store.removeAll('bot_x')
  assert.equal(await store.find(second, signal), undefined)
  await assert.rejects(store.fetch(second, { folder: scratch, sizeBytes: 1, signal }), { code: 'archive_gone' })
})

test('a bot is backed up to it and restored from it, and its archives go with it', async () => {
  const bot = await makeBot(server, ann)
  await writeText(server, ann, bot, { path: 'data.txt', text: 'one' })
  assert.equal((await bot.deploy())['status'], 'succeeded')
  const { id, status, error, checksum, sizeBytes } = await backUp(bot)
  assert.equal(status, 'completed', JSON.stringify(error))
  const key = { botId: bot.id, id: String(id) }
  assert.deepEqual(await store.find(key, signal), { sizeBytes, checksum })
  assert(!existsSync(join(server.app.config.dataDir, 'backups/archives', bot.id)))
  await writeText(server, ann, bot, { path: 'data.txt', text: 'two' })
  assert.equal((await restore(bot, id)).status, 'completed')
  assert.equal(await readText(server, ann, bot, 'data.txt'), 'one')
  // What would fill the server's own disk is not even begun.
  await server.pool.query('update backups set content_bytes = 9000000000000000 where id = $1', [id])
  assert.equal((await restore(bot, id)).error?.['code'], 'host_full')
  const { url } = (await bot.ask(`POST #/backups/${String(id)}/link`)).body
  const answer = await fetch(String(url), { headers: { range: 'bytes=0-3' } })
  assert.equal(answer.status, 206)
  assert.deepEqual([...new Uint8Array(await answer.arrayBuffer())], [0x28, 0xb5, 0x2f, 0xfd], 'how zstd begins')
  const other = await backUp(bot)
  await bot.ask(`DELETE #/backups/${String(other['id'])}`)
  const otherKey = { botId: bot.id, id: String(other['id']) }
  await until('the deleted one to go', async () => (await store.find(otherKey, signal)) === undefined)
  await bot.ask('DELETE #')
  assert.equal(await store.find(key, signal), undefined)
})

test('a store that is away fails the backup in words, and a restore changes nothing', async () => {
  const bot = await makeBot(server, ann)
  await writeText(server, ann, bot, { path: 'data.txt', text: 'one' })
  const { id } = await backUp(bot)
  await writeText(server, ann, bot, { path: 'data.txt', text: 'two' })
  await s3.close()
  assert.equal(((await backUp(bot)) as { error: { code: string } }).error.code, 'store_failed')
  assert.equal((await restore(bot, id)).error?.['code'], 'store_failed')
  assert.equal(await readText(server, ann, bot, 'data.txt'), 'two')
  const answer = await bot.ask(`GET #/backups/${String(id)}/download`)
  assert.deepEqual([answer.status, answer.body['code']], [503, 'unavailable'])
})
