import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  ftruncateSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { zstdCompressSync } from 'node:zlib'
import { type TarEntry, tarOf, tarOfBackup } from '../../../test/archives.ts'
import { StepError } from '../../lib/step-error.ts'
import { hashArchive, listCovered, measureArchive, packTrees, unpackArchive } from './archive.ts'
import type { PackLimits } from './budget.ts'
import { SeenFiles } from './seen-files.ts'

const scratch = mkdtempSync(join(tmpdir(), 'botberth-archive-'))
after(() => {
  execFileSync('chmod', ['-R', 'u+rwx', scratch]) // there are folders that only root could empty
  rmSync(scratch, { recursive: true })
})
const { signal } = new AbortController()
const limits = { bytesMax: 1e9, diskBytesMax: 1e9, entriesMax: 100_000 }
let count = 0

const newFolder = (): string => {
  const folder = join(scratch, String(++count))
  mkdirSync(folder)
  return folder
}

interface PackMore {
  ignore?: string[]
  without?: string[]
  limits?: object
  treeLimits?: PackLimits
  isLenient?: boolean
}

const pack = async (folder: string, more: PackMore = {}) => {
  const file = join(scratch, `${++count}.tar.zst`)
  const { ignore = [], without = [], isLenient = false, treeLimits } = more
  const tree = { prefix: 'files', folder, ignore, without, ...(treeLimits && { limits: treeLimits }) }
  const texts = { 'a.json': '{"a":1}' }
  const options = { texts, limits: { ...limits, ...more.limits }, isLenient, hostFreeBytes: 0 }
  return { file, ...(await packTrees({ file, trees: [tree], ...options }, signal)) }
}

const unpack = async (file: string, more: { diskBytesMax?: number; entriesMax?: number } = {}) => {
  const folder = newFolder()
  const texts = await unpackArchive({ file, folders: { files: folder }, texts: ['a.json'], ...limits, ...more }, signal)
  return { folder, texts }
}

/** Everything that can be seen of a tree, names as bytes. */
function describeTree(folder: string): string[] {
  const found: string[] = []
  const look = (path: Buffer, shown: string) => {
    const stats = lstatSync(path)
    const kind = stats.isDirectory() ? 'd' : stats.isSymbolicLink() ? 'l' : 'f'
    const mode = kind === 'l' ? '' : (stats.mode & 0o777).toString(8)
    const content =
      kind === 'l'
        ? readlinkSync(path, { encoding: 'buffer' }).toString('hex')
        : kind === 'f'
          ? readFileSync(path).toString('hex')
          : ''
    found.push([shown, kind, mode, Math.floor(stats.mtimeMs / 1000), content].join(' '))
    if (kind !== 'd') return
    for (const name of readdirSync(path, { encoding: 'buffer' }))
      look(Buffer.concat([path, Buffer.from('/'), name]), `${shown}/${name.toString('latin1')}`)
  }
  look(Buffer.from(folder), '')
  return found.toSorted()
}

async function rejectsWith(code: string, work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert(error instanceof StepError, String(error))
    assert.equal(error.code, code)
    return true
  })
}

function makeOddTree(): string {
  const folder = newFolder()
  const put = (name: string | Buffer, text: string, mode = 0o644) => {
    const path = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)])
    writeFileSync(path, text)
    chmodSync(path, mode)
    utimesSync(path, 1_700_000_000, 1_700_000_000)
  }
  put('plain.txt', 'hello')
  put('empty', '')
  put('run.sh', '#!/bin/sh', 0o755)
  put('secret', 'x', 0o400)
  put('-rf', 'an option in disguise')
  put(' space \n line\tand "quotes" \\ ', 'x')
  put('emoji 🤖', 'x')
  put(Buffer.from([0xff, 0xfe, 0x80]), 'no UTF-8')
  put('x'.repeat(255), 'a long name')
  mkdirSync(join(folder, 'none'))
  mkdirSync(join(folder, 'closed'))
  put('closed/inside', 'x')
  chmodSync(join(folder, 'closed'), 0o500)
  const deep = join(...Array.from({ length: 12 }, (_, index) => `${index}`.repeat(50)))
  mkdirSync(join(folder, deep), { recursive: true })
  put(join(deep, 'deep'), 'x'.repeat(100_000))
  symlinkSync('plain.txt', join(folder, 'link'))
  symlinkSync('/etc/passwd', join(folder, 'outside'))
  symlinkSync('../../..', join(folder, 'up'))
  symlinkSync('nowhere/'.repeat(40), join(folder, 'long link'))
  utimesSync(folder, 1_700_000_000, 1_700_000_000)
  return folder
}

test('a tree comes back as it was: modes, times, links, empty folders and names of any bytes', async () => {
  const folder = makeOddTree()
  const { file, sizeBytes, checksum } = await pack(folder)
  const back = await unpack(file)
  assert.deepEqual(describeTree(back.folder), describeTree(folder))
  assert.deepEqual(back.texts, { 'a.json': '{"a":1}' })
  assert.deepEqual(await hashArchive(file, signal), { sizeBytes, checksum })
  assert.equal(createHash('sha256').update(readFileSync(file)).digest('hex'), checksum)
})

test('every tar reads it', async () => {
  const folder = makeOddTree()
  writeFileSync(join(folder, 'large'), randomBytes(3_000_000))
  linkSync(join(folder, 'plain.txt'), join(folder, 'same'))
  const { file } = await pack(folder)
  const tar = join(scratch, 'plain.tar')
  writeFileSync(tar, await tarOfBackup(file))
  const into = newFolder()
  execFileSync('tar', ['-xpf', tar, '-C', into])
  assert.deepEqual(describeTree(join(into, 'files')), describeTree(folder))
})

test('sockets and pipes are left out, and nobody waits for a writer', async () => {
  const folder = newFolder()
  execFileSync('mkfifo', [join(folder, 'pipe')])
  writeFileSync(join(folder, 'file'), 'x')
  const back = await unpack((await pack(folder)).file)
  assert.deepEqual(readdirSync(back.folder), ['file'])
})

test('what is to be ignored is left out', async () => {
  const folder = newFolder()
  for (const path of [
    'a.log',
    'src/b.log',
    'src/c.js',
    'data/cache/x',
    'data/kept',
    'node_modules/m',
    'src/node_modules/m',
  ]) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), 'x')
  }
  const { file } = await pack(folder, { ignore: ['*.log', 'data/cache'], without: ['node_modules'] })
  const { folder: back } = await unpack(file)
  const files = describeTree(back).flatMap((line) => (line.includes(' f ') ? [line.split(' ')[0]] : []))
  assert.deepEqual(files, ['/data/kept', '/src/c.js', '/src/node_modules/m'])
})

test('a file that is mostly holes takes no more room than before', async () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'holes'), 'begin')
  truncateSync(join(folder, 'holes'), 300 * 1024 * 1024)
  const { file, contentBytes } = await pack(folder)
  assert(contentBytes <= 64 * 1024, String(contentBytes))
  const back = await unpack(file, { diskBytesMax: 1024 * 1024 })
  const { size, blocks } = lstatSync(join(back.folder, 'holes'))
  assert.equal(size, 300 * 1024 * 1024)
  assert(blocks * 512 < 1024 * 1024, `${blocks} blocks`)
  await rejectsWith('backup_too_large', pack(folder, { limits: { bytesMax: 299 * 1024 * 1024 } }))
})

test('a tree with too many files, or too deep a one, is refused in words', async () => {
  const folder = newFolder()
  for (let index = 0; index < 10; index++) writeFileSync(join(folder, String(index)), '')
  await rejectsWith('too_many_files', pack(folder, { limits: { entriesMax: 10 } }))
  mkdirSync(join(folder, 'd/'.repeat(250)), { recursive: true })
  await rejectsWith('tree_too_deep', pack(folder))
})

test('a bot that swaps folders for links meanwhile gets nothing into its backup that is not its own', async () => {
  const folder = newFolder()
  const outside = newFolder()
  mkdirSync(join(outside, 'in'))
  for (const path of ['secret', 'in/secret']) writeFileSync(join(outside, path), 'SECRET-OF-THE-HOST')
  // Folders that are links every other moment, beside enough files for the packing to take a while.
  for (let index = 0; index < 300; index++) {
    mkdirSync(join(folder, `d${index}`, 'in'), { recursive: true })
    for (const path of ['secret', 'in/secret']) writeFileSync(join(folder, `d${index}`, path), 'mine')
  }
  const attacker = new Worker(
    `const { renameSync, symlinkSync, unlinkSync } = require('node:fs')
    const { folder, outside } = require('node:worker_threads').workerData
    for (let index = 0; ; index = (index + 1) % 300) {
      const at = folder + '/d' + index
      renameSync(at, at + '.real')
      symlinkSync(outside, at)
      unlinkSync(at)
      renameSync(at + '.real', at)
      renameSync(at + '/secret', at + '/real')
      symlinkSync(outside + '/secret', at + '/secret')
      unlinkSync(at + '/secret')
      renameSync(at + '/real', at + '/secret')
    }`,
    { eval: true, workerData: { folder, outside } },
  )
  try {
    for (let round = 0; round < 4; round++) {
      const { file } = await pack(folder)
      const bytes = await tarOfBackup(file)
      assert(!bytes.includes('SECRET-OF-THE-HOST'))
      assert(bytes.includes('mine'))
      await unpack(file) // and it is a whole archive all the same
    }
  } finally {
    await attacker.terminate()
  }
})

test('files that change while they are read are whole', async () => {
  const folder = newFolder()
  const writer = new Worker(
    `const { writeFileSync, renameSync, appendFileSync, truncateSync } = require('node:fs')
    const { folder } = require('node:worker_threads').workerData
    writeFileSync(folder + '/grows', ''); writeFileSync(folder + '/shrinks', Buffer.alloc(8e6, 'x'))
    require('node:worker_threads').parentPort.postMessage('ready')
    for (let index = 0; ; index++) {
      writeFileSync(folder + '/draft', String(index % 10).repeat(200_000))
      renameSync(folder + '/draft', folder + '/swapped')
      appendFileSync(folder + '/grows', 'x'.repeat(10_000))
      truncateSync(folder + '/shrinks', (index % 8) * 1e6)
    }`,
    { eval: true, workerData: { folder } },
  )
  try {
    await new Promise((resolve) => writer.once('message', resolve))
    for (let round = 0; round < 5; round++) {
      const { folder: back } = await unpack((await pack(folder)).file)
      if (!existsSync(join(back, 'swapped'))) continue
      const swapped = readFileSync(join(back, 'swapped'), 'utf8')
      assert.match(swapped, /^(\d)\1{199999}$/)
      assert.match(readFileSync(join(back, 'grows'), 'utf8'), /^x*$/)
    }
  } finally {
    await writer.terminate()
  }
})

const archiveOf = async (...entries: TarEntry[]): Promise<string> => {
  const file = join(scratch, `${++count}.tar.zst`)
  writeFileSync(file, zstdCompressSync(await tarOf(...entries)))
  return file
}

test('a hostile archive writes nothing outside of its folder', async () => {
  const outside = newFolder()
  const folder = { name: 'files', type: 'directory' } as const
  const link = (name: string, linkname: string) => ({ name, type: 'symlink', linkname }) as const
  const hostile: TarEntry[][] = [
    [folder, link('files/a', outside), { name: 'files/a/through', data: 'x' }],
    [folder, link('files/a', '..'), { name: 'files/a/through', data: 'x' }],
    [folder, { name: 'files/../escaped', data: 'x' }],
    [folder, { name: '/files/absolute', data: 'x' }],
    [folder, { name: 'elsewhere', data: 'x' }],
    [folder, { name: 'files/hard', type: 'link', linkname: '/etc/passwd' }],
    [folder, { name: 'files/device', type: 'character-device', devmajor: 1, devminor: 3 }],
    [{ name: 'files', type: 'symlink', linkname: outside }],
    [folder, { name: 'files/a//b', data: 'x' }],
  ]
  for (const entries of hostile)
    await rejectsWith(
      'backup_invalid',
      archiveOf(...entries).then((file) => unpack(file)),
    )
  assert.deepEqual(readdirSync(outside), [])
  assert(!existsSync(join(scratch, 'escaped')))
})

test('of a name that comes twice the later one counts, and a link on its way is replaced', async () => {
  const outside = newFolder()
  const { folder } = await unpack(
    await archiveOf(
      { name: 'files', type: 'directory' },
      { name: 'files/a', type: 'symlink', linkname: outside },
      { name: 'files/a', type: 'directory' },
      { name: 'files/a/inside', data: 'x' },
      { name: 'files/b', data: 'one' },
      { name: 'files/b', data: 'two' },
    ),
  )
  assert.equal(readFileSync(join(folder, 'a/inside'), 'utf8'), 'x')
  assert.equal(readFileSync(join(folder, 'b'), 'utf8'), 'two')
  assert.deepEqual(readdirSync(outside), [])
})

test('a broken archive is refused, wherever it is broken', async () => {
  const { file } = await pack(makeOddTree())
  const whole = readFileSync(file)
  for (const part of [0, 10, 0.2, 0.5, 0.9, 0.99]) {
    const cut = join(scratch, `${++count}.cut`)
    writeFileSync(cut, whole.subarray(0, part > 1 ? part : Math.floor(whole.length * part)))
    await rejectsWith('backup_invalid', unpack(cut))
  }
  const bomb = await archiveOf(
    { name: 'files', type: 'directory' },
    { name: 'files/large', data: Buffer.alloc(900_000, 'x') },
  )
  await rejectsWith('disk_full', unpack(bomb, { diskBytesMax: 500_000 }))
  const larger = await archiveOf(
    { name: 'files', type: 'directory' },
    { name: 'files/x', data: Buffer.alloc(5_000_000) },
  )
  await rejectsWith('backup_invalid', unpack(larger))
})

test('it stops when it is told to', async () => {
  const folder = newFolder()
  for (let index = 0; index < 50; index++) writeFileSync(join(folder, String(index)), Buffer.alloc(1_000_000, 'x'))
  const abort = new AbortController()
  const file = join(scratch, 'aborted')
  const tree = { prefix: 'files', folder, ignore: [], without: [] }
  const packing = packTrees({ file, texts: {}, trees: [tree], limits, hostFreeBytes: 0 }, abort.signal)
  abort.abort(new Error('enough'))
  await assert.rejects(packing, /enough/)
})

test('what takes too long is given up', async () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'file'), 'x')
  const tree = { prefix: 'files', folder, ignore: [], without: [] }
  const job = { file: join(scratch, 'slow'), texts: {}, trees: [tree], limits, hostFreeBytes: 0 }
  await rejectsWith('backup_too_slow', packTrees({ ...job, timeLimitMs: 1 }, signal))
  const { file } = await pack(folder)
  const unpacking = { file, folders: { files: newFolder() }, texts: ['a.json'], ...limits }
  await rejectsWith('backup_too_slow', unpackArchive({ ...unpacking, timeLimitMs: 1 }, signal))
  await rejectsWith('backup_too_slow', listCovered(['a'], { globs: ['a'], timeLimitMs: 1 }, signal))
})

test('what globs cover is found while everybody else goes on', async () => {
  const name = 'a'.repeat(255)
  const hostile = Array.from({ length: 100 }, (_, index) => `${'*a'.repeat(120)}${index}b`)
  const paths = Array.from({ length: 300 }, (_, index) => `${name}/naïve ${index}/${name}`)
  let turns = 0
  let isDone = false
  const turn = () => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  turn()
  const covered = await listCovered(paths, { globs: [...hostile, 'naïve 7'] }, signal)
  isDone = true
  assert.deepEqual(covered, [paths[7]])
  assert(turns > 10, `others came in ${turns} times`)
})

test('nothing is written when the host has no room to spare', async () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'file'), 'x')
  const tree = { prefix: 'files', folder, ignore: [], without: [] }
  const job = { file: join(scratch, 'full'), texts: {}, trees: [tree], limits, hostFreeBytes: Number.MAX_SAFE_INTEGER }
  await rejectsWith('host_full', packTrees(job, signal))
  assert(!existsSync(job.file))
})

test('a file with several names is packed once, and has them all again', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'deep/er'), { recursive: true })
  writeFileSync(join(folder, 'one'), randomBytes(5_000_000))
  writeFileSync(join(folder, 'small'), 'x')
  for (const name of ['two', 'deep/er/three']) linkSync(join(folder, 'one'), join(folder, name))
  linkSync(join(folder, 'small'), join(folder, 'deep/small'))
  // A name outside of the tree is none.
  linkSync(join(folder, 'small'), join(newFolder(), 'outside'))
  const { file, sizeBytes, contentBytes } = await pack(folder, { limits: { bytesMax: 6e6, diskBytesMax: 6e6 } })
  assert(sizeBytes < 6_000_000, String(sizeBytes))
  assert(contentBytes < 6_000_000, String(contentBytes))
  const { folder: back } = await unpack(file, { diskBytesMax: 6_000_000 })
  assert.deepEqual(describeTree(back), describeTree(folder))
  const inodes = (...names: string[]) => new Set(names.map((name) => lstatSync(join(back, name)).ino)).size
  assert.deepEqual(
    [inodes('one', 'two', 'deep/er/three'), inodes('small', 'deep/small'), inodes('one', 'small')],
    [1, 1, 2],
  )
})

test('a bot cannot make us remember more names than there is room for', async () => {
  const folder = newFolder()
  const seen = new SeenFiles()
  const fds: number[] = []
  const add = (index: number, path: Buffer) => {
    const file = join(folder, String(index))
    writeFileSync(file, '')
    const fd = openSync(file, 'r')
    fds.push(fd)
    seen.add(fd, path, 2)
    return fd
  }
  const long = Buffer.alloc(1024 * 1024, 'x')
  const found = Array.from({ length: 10 }, (_, index) => add(index, long)).map((fd) => seen.find(fd) !== undefined)
  assert.deepEqual(found, [true, true, true, true, true, true, true, true, false, false])
  assert(seen.find(fds[0] ?? 0) === undefined, 'one that has come by all of its names is forgotten')
  const after = add(11, long)
  assert(seen.find(after), 'and leaves its room to others')
  for (const fd of fds) closeSync(fd)
})

test('names in a hostile archive lead to files of its own tree, or nowhere', async () => {
  const outside = newFolder()
  writeFileSync(join(outside, 'secret'), 'x')
  const folder = { name: 'files', type: 'directory' } as const
  const name = (linkname: string) => ({ name: 'files/name', type: 'link', linkname }) as const
  for (const target of ['/etc/passwd', '../secret', 'files/../../secret', 'files', 'elsewhere/x'])
    await rejectsWith(
      'backup_invalid',
      archiveOf(folder, name(target)).then((file) => unpack(file)),
    )
  const link = (linkname: string) => ({ name: 'files/link', type: 'symlink', linkname }) as const
  const nowhere: [string, ...TarEntry[]][] = [
    ['files/link', link(join(outside, 'secret'))],
    ['files/link/secret', link(outside)],
    ['files/folder', { name: 'files/folder', type: 'directory' }],
    ['files/gone'],
    ['files/name'],
    ['files/name/x', { name: 'files/name', type: 'directory' }, { name: 'files/name/x', data: 'x' }],
  ]
  for (const [target, ...before] of nowhere) {
    const file = await archiveOf(folder, ...before, name(target), { name: 'files/last', data: 'x' })
    const { folder: back } = await unpack(file)
    assert(!existsSync(join(back, 'name')), target)
    assert(existsSync(join(back, 'last')), 'the rest is there all the same')
  }
  const twice = await archiveOf(folder, { name: 'files/name', data: 'x' }, name('files/name'))
  assert.equal(readFileSync(join((await unpack(twice)).folder, 'name'), 'utf8'), 'x', 'one that came twice is kept')
})

test('trees that share a file come back apart', async () => {
  const [one, two] = [newFolder(), newFolder()]
  writeFileSync(join(one, 'file'), 'x')
  linkSync(join(one, 'file'), join(two, 'file'))
  const file = join(scratch, 'apart')
  const tree = (prefix: string, folder: string) => ({ prefix, folder, ignore: [], without: [] })
  const job = { file, texts: {}, limits, hostFreeBytes: 0 }
  await packTrees({ ...job, trees: [tree('one', one), tree('two', two)] }, signal)
  const folders = { one: newFolder(), two: newFolder() }
  await unpackArchive({ file, folders, texts: [], ...limits }, signal)
  const [first, second] = Object.values(folders).map((folder) => lstatSync(join(folder, 'file')))
  assert.deepEqual([first?.nlink, second?.nlink, first?.ino === second?.ino], [1, 1, false])
})

test('holes between a few bytes stay holes', async () => {
  const folder = newFolder()
  const fd = openSync(join(folder, 'sparse'), 'w')
  for (let at = 0; at < 16 * 1024 * 1024; at += 64 * 1024) writeSync(fd, 'data', at + 100)
  ftruncateSync(fd, 16 * 1024 * 1024)
  closeSync(fd)
  const { file } = await pack(folder)
  const { folder: back } = await unpack(file, { diskBytesMax: 2 * 1024 * 1024 })
  assert(readFileSync(join(back, 'sparse')).equals(readFileSync(join(folder, 'sparse'))))
  assert(lstatSync(join(back, 'sparse')).blocks * 512 <= 2 * 1024 * 1024)
})

test('what the content needs on a disk is never less than what it takes there', async () => {
  const folder = newFolder()
  for (let index = 0; index < 200; index++) {
    mkdirSync(join(folder, `d${index}`))
    writeFileSync(join(folder, `d${index}`, 'tiny'), 'x')
  }
  writeFileSync(join(folder, 'large'), randomBytes(1_000_001))
  const { file, contentBytes } = await pack(folder)
  const { folder: back } = await unpack(file)
  const taken = Number(execFileSync('du', ['-s', '-B1', back]).toString().split('\t')[0])
  assert(contentBytes >= taken, `${contentBytes} for ${taken}`)
  assert(contentBytes <= 2 * taken)
  // With the text at its top.
  assert.equal(await measureArchive({ file }, signal), contentBytes + 8192)
})

test('what takes more of a disk than it may is refused, however it is named', async () => {
  const folder = newFolder()
  for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, name), randomBytes(400_000))
  await rejectsWith('backup_too_large', pack(folder, { limits: { diskBytesMax: 1_000_000 } }))
  for (let index = 0; index < 20; index++) linkSync(join(folder, 'a'), join(folder, `name${index}`))
  await rejectsWith('too_many_files', pack(folder, { limits: { entriesMax: 20 } }))
  const { file } = await pack(folder)
  await rejectsWith('backup_invalid', unpack(file, { entriesMax: 20 }))
})

test('leniently, one file that cannot be read does not end the rest', async (t) => {
  // Files of the kernel that say they have 4096 bytes, some of which cannot be read.
  const folder = '/sys/devices/virtual/net/lo'
  if (!existsSync(join(folder, 'speed'))) return t.skip('needs sysfs')
  await assert.rejects(pack(folder), /E(IO|INVAL): /)
  const { file, skipped } = await pack(folder, { isLenient: true })
  assert(skipped.count > 0)
  assert.deepEqual(skipped.prefixes, ['files'])
  assert(
    skipped.first.some((text) => /files\/speed cannot be read, or not all of it \(E(IO|INVAL)\)/.test(text)),
    skipped.first.join(),
  )
  const { folder: back } = await unpack(file)
  assert(existsSync(join(back, 'mtu')))
  const none = { prefix: 'none', folder: join(scratch, 'none'), ignore: [], without: [] }
  const job = { file: join(scratch, 'lenient'), texts: {}, limits, hostFreeBytes: 0, isLenient: true }
  const gone = await packTrees({ ...job, trees: [none] }, signal)
  assert.deepEqual([gone.skipped.count, gone.skipped.prefixes], [1, ['none']])
})

test('a file that the bot has a lease on is told, not waited for', async (t) => {
  const folder = newFolder()
  writeFileSync(join(folder, 'held'), 'x')
  writeFileSync(join(folder, 'free'), 'x')
  // F_SETLEASE with F_WRLCK; Node.js has no such call.
  const script =
    'open F, "+<", $ARGV[0] or die; fcntl F, 1024, 1 or die; $SIG{IO} = "IGNORE"; $| = 1; print "held"; sleep 60'
  const holder = spawn('perl', ['-e', script, join(folder, 'held')])
  const isHeld = await Promise.race([
    once(holder.stdout, 'data').then(() => true),
    once(holder, 'error').then(() => false),
    once(holder, 'exit').then(() => false),
  ])
  if (!isHeld) return t.skip('needs perl and a file system with leases')
  try {
    await rejectsWith('file_unreadable', pack(folder))
    const { file, skipped } = await pack(folder, { isLenient: true })
    assert.deepEqual([skipped.count, /held is held by a program/.test(skipped.first.join())], [1, true])
    assert.deepEqual(readdirSync((await unpack(file)).folder), ['free'])
  } finally {
    holder.kill()
  }
})

test('a tree that never ends is cut, and those after it are whole', async () => {
  const [endless, next] = [newFolder(), newFolder()]
  writeFileSync(join(next, 'file'), 'x')
  const writer = new Worker(
    `const { symlinkSync } = require('node:fs')
    const { workerData, parentPort } = require('node:worker_threads')
    for (let index = 0; ; index++) {
      symlinkSync('x', workerData + '/' + index)
      if (index === 5_000) parentPort.postMessage('ready')
    }`,
    { eval: true, workerData: endless },
  )
  try {
    await once(writer, 'message')
    const tree = (prefix: string, folder: string) => ({ prefix, folder, ignore: [], without: [] })
    const file = join(scratch, 'endless')
    const job = { file, texts: {}, limits, hostFreeBytes: 0, isLenient: true }
    const trees = [{ ...tree('endless', endless), limits: { ...limits, entriesMax: 1_000 } }, tree('files', next)]
    const { skipped } = await packTrees({ ...job, trees }, signal)
    assert.deepEqual(skipped, {
      count: 1,
      first: ['endless: There are more than 1000 files and folders.'],
      prefixes: ['endless'],
    })
    const folders = { endless: newFolder(), files: newFolder() }
    await unpackArchive({ file, folders, texts: [], ...limits }, signal)
    assert.deepEqual([readdirSync(folders.endless).length, readdirSync(folders.files)], [999, ['file']])
    // What is left out ends too, although nothing of it is packed.
    const ignoring = { ...tree('files', endless), ignore: ['*'] }
    await rejectsWith(
      'too_many_files',
      packTrees(
        { ...job, isLenient: false, trees: [{ ...ignoring, limits: { ...limits, entriesMax: 1_000 } }] },
        signal,
      ),
    )
  } finally {
    await writer.terminate()
  }
})

test('leniently, what cannot be packed is left out and told, and the rest is there', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, ...Array.from({ length: 210 }, () => 'd')), { recursive: true })
  writeFileSync(join(folder, 'huge'), '')
  truncateSync(join(folder, 'huge'), 2e9)
  writeFileSync(join(folder, 'small'), 'x')
  const { file, skipped } = await pack(folder, { isLenient: true })
  assert.deepEqual(
    skipped.first.map((text) => text.replace(/^files\/(d\/)*d:/, 'deep:').replace(/: There.*|: The files.*/, '')),
    skipped.first[0]?.startsWith('files/huge') ? ['files/huge', 'deep'] : ['deep', 'files/huge'],
  )
  const { folder: to } = await unpack(file)
  assert.equal(readFileSync(join(to, 'small'), 'utf8'), 'x')
  assert.equal(existsSync(join(to, 'huge')), false)
})

test('a tree that has moved keeps its links, and root gives everything to whom it belonged', async () => {
  const isRoot = process.getuid?.() === 0
  const folder = newFolder()
  symlinkSync(join(folder, 'there'), join(folder, 'inside'))
  symlinkSync(`${folder}-not/there`, join(folder, 'outside'))
  writeFileSync(join(folder, 'theirs'), 'x', { mode: 0o640 })
  mkdirSync(join(folder, 'folder'))
  if (isRoot) {
    // More than octal digits have room for.
    for (const name of ['theirs', 'folder']) chownSync(join(folder, name), 1_900_000_007, 1_900_000_007)
    lchownSync(join(folder, 'inside'), 12, 13)
  }
  const file = join(scratch, `${++count}.tar.zst`)
  const tree = { prefix: 'files', folder, ignore: [], without: [], hasOwners: true }
  await packTrees({ file, trees: [tree], texts: { 'a.json': '{}' }, limits, hostFreeBytes: 0 }, signal)
  const to = newFolder()
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  const changes = { owners: isRoot ? own : undefined, movedLinks: { from: folder, to } }
  await unpackArchive({ file, folders: { files: to }, texts: ['a.json'], ...limits, ...changes }, signal)
  assert.equal(readlinkSync(join(to, 'inside')), join(to, 'there'))
  assert.equal(readlinkSync(join(to, 'outside')), `${folder}-not/there`)
  const ownerOf = (name: string) => [lstatSync(join(to, name)).uid, lstatSync(join(to, name)).gid]
  const theirs = isRoot ? [1_900_000_007, 1_900_000_007] : [own.uid, own.gid]
  assert.deepEqual([ownerOf('theirs'), ownerOf('folder')], [theirs, theirs])
  assert.deepEqual(ownerOf('inside'), isRoot ? [12, 13] : [own.uid, own.gid])
  assert.equal(lstatSync(join(to, 'theirs')).mode & 0o777, 0o640)
  assert.match(
    execFileSync('tar', ['--zstd', '--numeric-owner', '-tvf', file]).toString(),
    new RegExp(theirs.join('/')),
  )
})

test('the texts at the beginning are read without the rest', async () => {
  const { file } = await pack(makeOddTree())
  const job = { file, folders: {}, texts: ['a.json'], isHeadOnly: true, ...limits }
  assert.deepEqual(await unpackArchive(job, signal), { 'a.json': '{"a":1}' })
})
