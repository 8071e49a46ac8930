import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type TarEntry, tarOf } from '../../../test/archives.ts'
import { StepError } from '../../lib/step-error.ts'
import { hashArchive, listCovered, packTrees, unpackArchive } from './archive.ts'

const scratch = mkdtempSync(join(tmpdir(), 'botberth-archive-'))
after(() => {
  execFileSync('chmod', ['-R', 'u+rwx', scratch]) // there are folders that only root could empty
  rmSync(scratch, { recursive: true })
})
const { signal } = new AbortController()
const limits = { bytesMax: 1e9, entriesMax: 100_000 }
let count = 0

const newFolder = (): string => {
  const folder = join(scratch, String(++count))
  mkdirSync(folder)
  return folder
}

const pack = async (folder: string, more: { ignore?: string[]; without?: string[]; limits?: object } = {}) => {
  const file = join(scratch, `${++count}.tar.zst`)
  const tree = { prefix: 'files', folder, ignore: more.ignore ?? [], without: more.without ?? [] }
  const options = { texts: { 'a.json': '{"a":1}' }, limits: { ...limits, ...more.limits }, hostFreeBytes: 0 }
  return { file, ...(await packTrees({ file, trees: [tree], ...options }, signal)) }
}

const unpack = async (file: string, more: { bytesMax?: number } = {}) => {
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
  const { file } = await pack(folder)
  const tar = join(scratch, 'plain.tar')
  writeFileSync(tar, zstdDecompressSync(readFileSync(file)))
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
  const back = await unpack(file, { bytesMax: 1024 * 1024 })
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
      const bytes = zstdDecompressSync(readFileSync(file))
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
  await rejectsWith('disk_full', unpack(bomb, { bytesMax: 500_000 }))
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
  execFileSync('sh', ['-c', 'head -c 40000000 /dev/urandom >"$0"', join(folder, 'random')])
  const tree = { prefix: 'files', folder, ignore: [], without: [] }
  const job = { file: join(scratch, 'full'), texts: {}, trees: [tree], limits, hostFreeBytes: Number.MAX_SAFE_INTEGER }
  await rejectsWith('host_full', packTrees(job, signal))
})

test('leniently, what cannot be packed is left out and told, and the rest is there', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, ...Array.from({ length: 210 }, () => 'd')), { recursive: true })
  writeFileSync(join(folder, 'huge'), '')
  truncateSync(join(folder, 'huge'), 2e9)
  writeFileSync(join(folder, 'small'), 'x')
  const { file, skipped } = await pack(folder, { limits: { isLenient: true } })
  assert.deepEqual(
    skipped.map((text) => text.replace(/^files\/(d\/)*d:/, 'deep:').replace(/: There.*|: The files.*/, '')),
    skipped[0]?.startsWith('files/huge') ? ['files/huge', 'deep'] : ['deep', 'files/huge'],
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
