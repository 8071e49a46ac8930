import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeLog } from '../lib/log.ts'
import { Folders } from '../runtime/process/folders.ts'
import { listTrees } from './trees.ts'

const scratch = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'trees-'))
after(() => rmSync(scratch, { recursive: true }))
const log = makeLog('silent')

function makeInstance(name: string): { dataDir: string; folders: Folders } {
  const dataDir = join(scratch, name)
  mkdirSync(dataDir)
  return { dataDir, folders: new Folders(dataDir) }
}

test('the tree of each bot is bounded by what it has, on its own', async () => {
  const { dataDir, folders } = makeInstance('bounded')
  for (const [id, bytes] of [
    ['bot_small', 1],
    ['bot_large', 50_000_000],
  ] as const) {
    mkdirSync(folders.home(id), { recursive: true })
    writeFileSync(join(folders.home(id), 'data'), Buffer.alloc(bytes, 'x'))
  }
  const { trees, lost } = await listTrees(dataDir, log)
  assert.deepEqual(
    [trees.map(({ prefix }) => prefix).toSorted(), lost],
    [['files', 'files/bots', 'files/bots/bot_large', 'files/bots/bot_small'], []],
  )
  const limitsOf = (id: string) => {
    const limits = trees.find(({ prefix }) => prefix === `files/bots/${id}`)?.limits
    assert(limits)
    return limits
  }
  const gibibyte = 1024 ** 3
  const [small, large] = [limitsOf('bot_small'), limitsOf('bot_large')]
  assert(small.diskBytesMax > gibibyte && small.diskBytesMax < gibibyte + 1_000_000, String(small.diskBytesMax))
  assert(large.diskBytesMax - small.diskBytesMax >= 99_000_000)
  const { blocks, bsize } = statfsSync(dataDir)
  for (const { bytesMax, diskBytesMax, entriesMax } of [small, large]) {
    assert(bytesMax >= diskBytesMax && bytesMax <= Math.max(diskBytesMax, 4 * blocks * bsize))
    assert.equal(entriesMax, 4_000_000)
  }
})

test('a disk that cannot be mounted is told, and the others are there', async () => {
  const { dataDir, folders } = makeInstance('damaged')
  writeFileSync(folders.image('bot_damaged'), 'no file system')
  mkdirSync(folders.bot('bot_damaged'))
  mkdirSync(folders.bot('bot_whole'))
  try {
    const { trees, lost } = await listTrees(dataDir, log)
    assert.deepEqual(
      trees.map(({ prefix }) => prefix),
      ['files', 'files/bots', 'files/bots/bot_whole'],
    )
    assert.equal(lost.length, 1)
    assert.match(lost[0] ?? '', /^The disk of bot_damaged cannot be mounted: ./)
  } finally {
    // Where disks are possible the folder of all of them is a mount.
    execFileSync('sh', ['-c', 'while umount -l "$0" 2>/dev/null; do :; done', folders.bots])
  }
})
