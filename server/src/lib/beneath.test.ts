import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { AppError } from './app-error.ts'
import {
  listBeneath,
  openForRead,
  readBeneath,
  removeBeneath,
  splitPath,
  streamBeneath,
  writeBeneath,
} from './beneath.ts'

const scratch = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'beneath-'))
after(() => rmSync(scratch, { recursive: true }))
const isRoot = process.getuid?.() === 0
const max = { bytesMax: 1_000_000 }

/** A root, and next to it what must never be touched. */
function newRoot(): { root: string; outside: string } {
  const folder = mkdtempSync(join(scratch, 'case-'))
  chmodSync(folder, 0o755)
  const [root, outside] = [join(folder, 'root'), join(folder, 'outside')]
  mkdirSync(root)
  mkdirSync(join(outside, 'folder'), { recursive: true })
  writeFileSync(join(outside, 'secret'), 'secret')
  writeFileSync(join(outside, 'folder', 'secret'), 'secret')
  return { root, outside }
}

const fails = (work: Promise<unknown>, code: string) =>
  assert.rejects(work, (error) => error instanceof AppError && error.code === code)
const openFiles = () => readdirSync('/proc/self/fd').length

test('paths that could lead elsewhere are refused', () => {
  const bad = ['', '/', '/a', 'a/', 'a//b', '.', '..', 'a/..', 'a/../b', './a', 'a\0b', 'x'.repeat(256), '\ud800']
  for (const path of [...bad, '€'.repeat(86), 'ab/'.repeat(1400) + 'c']) {
    assert.throws(
      () => splitPath(path),
      (error) => error instanceof AppError && error.code === 'validation_failed',
    )
  }
  assert.deepEqual(splitPath('a/..b/.c/\\../-rf/\n'), ['a', '..b', '.c', '\\..', '-rf', '\n'])
  assert.equal(splitPath('x'.repeat(255)).length, 1)
})

test('what is written is read, listed and removed, whatever it is called', async () => {
  const { root } = newRoot()
  for (const name of ['a', '--help', ' ', '\n', '$(id)', '\\', '😀', 'x'.repeat(255), '.hidden', '..x']) {
    const path = `one/two/${name}`
    await writeBeneath(root, path, Buffer.from(name))
    assert.equal((await readBeneath(root, path, max)).toString(), name)
    const [entry] = await listBeneath(root, 'one/two')
    assert.deepEqual(
      { ...entry, modifiedAt: 0 },
      { name, type: 'file', sizeBytes: Buffer.byteLength(name), modifiedAt: 0 },
    )
    assert.equal(await removeBeneath(root, path), true)
    assert.equal(await removeBeneath(root, path), false)
    await fails(readBeneath(root, path, max), 'not_found')
  }
  assert.deepEqual(
    (await listBeneath(root, '')).map(({ name, type }) => [name, type]),
    [['one', 'folder']],
  )
  assert.equal(await removeBeneath(root, 'one'), true)
  assert.deepEqual(await listBeneath(root, ''), [])
})

test('no symlink is followed, at the end of a path or on the way', async () => {
  const { root, outside } = newRoot()
  symlinkSync(join(outside, 'secret'), join(root, 'file'))
  symlinkSync('../outside', join(root, 'folder'))
  symlinkSync('.', join(root, 'self'))
  writeFileSync(join(root, 'own'), 'own')
  for (const path of ['file', 'folder/secret', 'folder/folder/secret', 'self/own', 'folder/new']) {
    await fails(readBeneath(root, path, max), 'not_found')
    await fails(openForRead(root, path), 'not_found')
    await fails(listBeneath(root, path), 'not_found')
  }
  for (const path of ['folder/new', 'folder/a/b', 'self/x'])
    await fails(writeBeneath(root, path, Buffer.from('x')), 'invalid_state')
  for (const path of ['folder/secret', 'folder/folder', 'self/own'])
    assert.equal(await removeBeneath(root, path), false)
  await fails(listBeneath(root, 'folder'), 'not_found')
  assert.equal((await listBeneath(root, '')).find(({ name }) => name === 'folder')?.type, 'other')

  await writeBeneath(root, 'file', Buffer.from('mine'))
  assert.equal(lstatSync(join(root, 'file')).isFile(), true)
  assert.equal(await removeBeneath(root, 'folder'), true)
  assert.deepEqual(readdirSync(outside), ['folder', 'secret'])
  assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'secret')
})

test('removing a folder removes the symlinks in it, not what they lead to', async () => {
  const { root, outside } = newRoot()
  mkdirSync(join(root, 'a/b/c'), { recursive: true })
  for (const folder of ['a', 'a/b', 'a/b/c']) {
    symlinkSync(outside, join(root, folder, 'link'))
    symlinkSync(join(outside, 'secret'), join(root, folder, 'file'))
    symlinkSync('nowhere', join(root, folder, 'broken'))
  }
  assert.equal(await removeBeneath(root, 'a'), true)
  assert.deepEqual(readdirSync(root), [])
  assert.deepEqual(readdirSync(join(outside, 'folder')), ['secret'])
})

test('FIFOs, sockets, devices and folders are no files, and nothing waits for them', async () => {
  const { root } = newRoot()
  execFileSync('mkfifo', [join(root, 'fifo')])
  mkdirSync(join(root, 'folder'))
  for (const path of ['fifo', 'folder', 'fifo/x', 'absent', 'absent/x']) {
    await fails(readBeneath(root, path, max), 'not_found')
    await fails(openForRead(root, path), 'not_found')
  }
  await fails(listBeneath(root, 'fifo'), 'not_found')
  await fails(writeBeneath(root, 'fifo/x', Buffer.from('')), 'invalid_state')
  assert.deepEqual(
    (await listBeneath(root, '')).map(({ type }) => type),
    ['other', 'folder'],
  )
  assert.equal(await removeBeneath(root, 'fifo'), true)
  await fails(listBeneath(join(root, 'absent'), ''), 'not_found')
})

test('a file may be at most as large as was asked for', async () => {
  const { root } = newRoot()
  await writeBeneath(root, 'file', Buffer.alloc(5000, 'x'))
  assert.equal((await readBeneath(root, 'file', { bytesMax: 5000 })).length, 5000)
  await fails(readBeneath(root, 'file', { bytesMax: 4999 }), 'payload_too_large')
  await writeBeneath(root, 'file', Buffer.alloc(0))
  assert.equal((await readBeneath(root, 'file', { bytesMax: 0 })).length, 0)
  const big = Buffer.alloc(3_000_000, 'abc')
  await writeBeneath(root, 'file', big)
  assert(big.equals(await readBeneath(root, 'file', { bytesMax: 3_000_000 })))
})

test('a folder is not replaced by a file, a file keeps its permissions, and no draft is left', async () => {
  const { root } = newRoot()
  mkdirSync(join(root, 'folder'))
  await fails(writeBeneath(root, 'folder', Buffer.from('x')), 'invalid_state')
  writeFileSync(join(root, 'run.sh'), 'old')
  chmodSync(join(root, 'run.sh'), 0o755)
  await writeBeneath(root, 'run.sh', Buffer.from('new'))
  await writeBeneath(root, 'plain', Buffer.from('new'))
  assert.equal(statSync(join(root, 'run.sh')).mode & 0o777, 0o755)
  assert.equal(statSync(join(root, 'plain')).mode & 0o777, 0o644)
  await fails(writeBeneath(root, 'plain/x', Buffer.from('x')), 'invalid_state')
  assert.deepEqual(readdirSync(root).toSorted(), ['folder', 'plain', 'run.sh'])
})

test('what is made belongs to the owner of the root folder', { skip: !isRoot }, async () => {
  const { root } = newRoot()
  chownSync(root, 4321, 4322)
  await writeBeneath(root, 'a/b/c', Buffer.from('x'))
  for (const path of ['a', 'a/b', 'a/b/c']) {
    const { uid, gid } = statSync(join(root, path))
    assert.deepEqual([uid, gid], [4321, 4322], path)
  }
})

test('a tree deeper than any path or number of open files is removed', { timeout: 60_000 }, async () => {
  const { root } = newRoot()
  const script = `for (let i = 0; i < 1200; i++) { fs.mkdirSync('deep-folder'); fs.writeFileSync('file', ''); process.chdir('deep-folder') }`
  execFileSync(process.execPath, ['-e', script], { cwd: root })
  const before = openFiles()
  assert.equal(await removeBeneath(root, 'deep-folder'), true)
  assert.deepEqual(readdirSync(root), ['file'])
  assert.equal(openFiles(), before)
})

test('names that are no UTF-8 are listed around and removed', async () => {
  const { root } = newRoot()
  mkdirSync(join(root, 'folder'))
  const bad = Buffer.concat([Buffer.from(join(root, 'folder/')), Buffer.from([0xff, 0xfe])])
  mkdirSync(bad)
  writeFileSync(Buffer.concat([bad, Buffer.from('/file')]), 'x')
  assert.deepEqual(await listBeneath(root, 'folder'), [])
  assert.equal(await removeBeneath(root, 'folder'), true)
})

test('a folder whose owner has no right to it is removed by that owner all the same', { skip: !isRoot }, () => {
  const { root } = newRoot()
  mkdirSync(join(root, 'a/b/c'), { recursive: true })
  writeFileSync(join(root, 'a/b/file'), 'x')
  for (const path of ['', 'a', 'a/b', 'a/b/c']) chownSync(join(root, path), 4321, 4321)
  for (const path of ['a/b/c', 'a/b', 'a']) chmodSync(join(root, path), 0)
  // The same steps with the rights of another user: a process of its own, which imports what it can still read.
  const script = `
    const { removeBeneath } = await import(${JSON.stringify(join(import.meta.dirname, 'beneath.ts'))})
    process.setgid(4321); process.setuid(4321)
    if (!(await removeBeneath('root', 'a'))) process.exit(9)`
  execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: join(root, '..'), // that user may not pass through the folders above
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  assert.equal(existsSync(join(root, 'a')), false)
})

test('symlinks swapped in between never lead outside', { timeout: 60_000 }, async () => {
  const { root, outside } = newRoot()
  mkdirSync(join(root, 'real/folder'), { recursive: true })
  writeFileSync(join(root, 'real/secret'), 'own')
  writeFileSync(join(root, 'real/folder/secret'), 'own')
  // `swap` is a folder, nothing, a symlink, nothing, and so on, as fast as it goes; folders we made are cleared away.
  const script = `
    const cell = new Int32Array(new SharedArrayBuffer(4))
    const wait = () => Atomics.wait(cell, 0, 0, Math.random() * 3)
    const attempt = (work) => { try { work(); return true } catch { return false } }
    for (;;) {
      if (attempt(() => fs.renameSync('real', 'swap'))) { wait(); fs.renameSync('swap', 'real') }
      else attempt(() => fs.rmSync('swap', { recursive: true, force: true }))
      if (attempt(() => fs.symlinkSync('../outside', 'swap'))) { wait(); fs.unlinkSync('swap') }
    }`
  const swapper = spawn(process.execPath, ['-e', script], { cwd: root, stdio: 'ignore' })
  const before = openFiles()
  const ignoreExpected = (error: unknown) => {
    assert(error instanceof AppError, String(error))
    return undefined
  }
  let reads = 0
  try {
    for (const endsAt = Date.now() + 1500; Date.now() < endsAt || (reads === 0 && swapper.exitCode === null); ) {
      for (const path of ['swap/secret', 'swap/folder/secret']) {
        const data = await readBeneath(root, path, max).catch(ignoreExpected)
        if (data) reads++
        assert.notEqual(data?.toString(), 'secret')
      }
      for (const { name } of (await listBeneath(root, 'swap').catch(ignoreExpected)) ?? [])
        assert.notEqual(name, 'only-outside')
      await writeBeneath(root, 'swap/folder/new', Buffer.from('x')).catch(ignoreExpected)
      await removeBeneath(root, 'swap/folder/new').catch(ignoreExpected)
    }
  } finally {
    swapper.kill('SIGKILL')
  }
  assert(reads > 0)
  assert.equal(openFiles(), before)
  assert.deepEqual(readdirSync(outside), ['folder', 'secret'])
  assert.deepEqual(readdirSync(join(outside, 'folder')), ['secret'])
  assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'secret')
})

test('a stream has as many bytes as the file had, and fails if they go meanwhile', async () => {
  const folder = mkdtempSync(join(scratch, 'stream-'))
  const file = join(folder, 'a')
  const sizeBytes = 1024 * 1024
  const readAll = async (change: () => void) => {
    writeFileSync(file, Buffer.alloc(sizeBytes))
    const { stream } = await streamBeneath(folder, 'a')
    change()
    let size = 0
    for await (const chunk of stream) size += (chunk as Buffer).length
    return size
  }
  assert.equal(await readAll(() => writeFileSync(file, 'more', { flag: 'a' })), sizeBytes)
  await assert.rejects(
    readAll(() => writeFileSync(file, 'less')),
    /cut short/,
  )
})
