import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Folders } from './folders.ts'
import { ProcessRuntime } from './process-runtime.ts'

const mebibyte = 1024 * 1024
const dataDir = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'staged-'))
const runtime = new ProcessRuntime({ dataDir, sandbox: 'shim' })
after(async () => {
  await runtime.close()
  rmSync(dataDir, { recursive: true })
})

test('what a restore has beside the bot’s files does not count as the bot’s, before and after the swap', async () => {
  const bot = { id: 'bot_x', limits: { memoryMb: 256, cpus: 1, diskMb: 16 } }
  const home = new Folders(dataDir).home(bot.id)
  // A folder of the bot's own that is called the same hides nothing.
  mkdirSync(join(home, 'staged'), { recursive: true })
  writeFileSync(join(home, 'staged', 'data'), Buffer.alloc(10 * mebibyte, 'x'))
  const usedMb = async () => Math.round((await runtime.disk(bot.id)).usedBytes / mebibyte)
  assert.equal(await usedMb(), 10)
  await assert.rejects(runtime.stageFiles(bot, { name: 'res_x', bytes: 7 * mebibyte }), { code: 'disk_full' })
  const folder = await runtime.stageFiles(bot, { name: 'res_x', bytes: 5 * mebibyte })
  writeFileSync(join(folder, 'data'), Buffer.alloc(8 * mebibyte, 'x'))
  assert.equal(await usedMb(), 10)
  await runtime.finishStaged(bot, { name: 'res_x', releaseId: null, isPlaced: false, missing: async () => [] })
  await runtime.swapStaged(bot.id, 'res_x')
  assert.equal(await usedMb(), 8)
  await runtime.removeStaged(bot.id, 'res_x')
  assert.equal(await usedMb(), 8)
})
