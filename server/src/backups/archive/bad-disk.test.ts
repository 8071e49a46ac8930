import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { packTrees, unpackArchive } from './archive.ts'

const scratch = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'bad-disk-'))
after(() => rmSync(scratch, { recursive: true }))
const { signal } = new AbortController()
const limits = { bytesMax: 1e9, diskBytesMax: 1e9, entriesMax: 1_000 }
const mebibyte = 1024 * 1024

/** A folder on a disk that is gone from somewhere in the middle of a large file. Undefined: we may not mount. */
function makeBadDisk(): string | undefined {
  const [image, folder] = [join(scratch, 'image'), join(scratch, 'disk')]
  mkdirSync(folder)
  writeFileSync(image, '')
  truncateSync(image, 64 * mebibyte)
  const mount = () => execFileSync('mount', ['-o', 'loop', image, folder], { stdio: 'pipe' })
  try {
    // With large blocks it is one group: else folders are put anywhere, also where nothing can be read any more.
    execFileSync('mkfs.ext4', ['-q', '-F', '-b', '4096', '-J', 'size=4', image], { stdio: 'pipe' })
    mount()
  } catch {
    return undefined // not as root, or not in such a container
  }
  mkdirSync(join(folder, 'in'))
  writeFileSync(join(folder, 'in', 'large'), Buffer.alloc(40 * mebibyte, 'x'))
  writeFileSync(join(folder, 'small'), 'x')
  execFileSync('sync', ['-f', folder])
  execFileSync('umount', [folder])
  mount()
  readFileSync(join(folder, 'small'))
  truncateSync(image, 20 * mebibyte)
  // A namespace that somebody made meanwhile has the first mount still, and with it all that is in memory.
  execFileSync('dd', [`if=${join(folder, 'in', 'large')}`, 'iflag=nocache', 'count=0'], { stdio: 'pipe' })
  return folder
}

test('leniently, what a disk gives of a file is packed, the rest is zeros and told', async (t) => {
  const folder = makeBadDisk()
  if (folder === undefined) return t.skip('needs root, loop devices and mkfs.ext4')
  try {
    const file = join(scratch, 'archive')
    const tree = { prefix: 'files', folder, ignore: [], without: ['lost+found'] }
    const job = { file, texts: {}, trees: [tree], limits, hostFreeBytes: 0 }
    await assert.rejects(packTrees(job, signal), /EIO/)
    const { skipped } = await packTrees({ ...job, isLenient: true }, signal)
    assert.equal(skipped.count, 1, skipped.first.join())
    assert.match(skipped.first[0] ?? '', /files\/in\/large cannot be read, or not all of it \(EIO\)/)
    const to = join(scratch, 'to')
    mkdirSync(to)
    await unpackArchive({ file, folders: { files: to }, texts: [], ...limits }, signal)
    assert.equal(readFileSync(join(to, 'small'), 'utf8'), 'x')
    const large = readFileSync(join(to, 'in', 'large'))
    assert.deepEqual([large.length, large[0], large.at(-1)], [40 * mebibyte, 0x78, 0])
  } finally {
    execFileSync('umount', ['-l', folder])
  }
})
