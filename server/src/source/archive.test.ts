import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  createWriteStream,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, test } from 'node:test'
import { createGzip, gzipSync } from 'node:zlib'
import { type TarEntry, tarOf, zipOfEntries } from '../../test/archives.ts'
import { timed } from '../../test/until.ts'
import { AppError } from '../lib/app-error.ts'
import { unpack } from './archive.ts'

const scratch = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'archive-'))
after(() => rmSync(scratch, { recursive: true }))
const newFolder = () => mkdtempSync(join(scratch, 'case-'))
const limits = { bytesMax: 10_000_000, entriesMax: 10_000 }

async function unpackBytes(bytes: Buffer, options = limits) {
  const folder = newFolder()
  const into = join(folder, 'into')
  mkdirSync(into)
  writeFileSync(join(folder, 'archive'), bytes)
  try {
    return { into, ...(await unpack(join(folder, 'archive'), into, options)) }
  } finally {
    assert.deepEqual(readdirSync(folder).toSorted(), ['archive', 'into']) // nothing got out
  }
}

const refused = (work: Promise<unknown>, reason: RegExp) =>
  assert.rejects(work, (error) => {
    assert(error instanceof AppError && error.code === 'archive_invalid', String(error))
    assert.match(error.message, reason)
    return true
  })

const read = (...path: string[]) => readFileSync(join(...path), 'utf8')
const modeOf = (...path: string[]) => statSync(join(...path)).mode & 0o7777

/** A project with everything that an honest one has. */
function makeProject(): string {
  const folder = join(newFolder(), 'project')
  mkdirSync(join(folder, 'src/deep'), { recursive: true })
  mkdirSync(join(folder, 'empty'))
  writeFileSync(join(folder, 'bot.js'), 'hello')
  writeFileSync(join(folder, 'run.sh'), '#!/bin/sh')
  chmodSync(join(folder, 'run.sh'), 0o6775)
  writeFileSync(join(folder, 'src/deep/data.bin'), Buffer.alloc(100_000, 'ab'))
  writeFileSync(join(folder, `src/${'long-'.repeat(40)}ü€😀`), 'long name')
  writeFileSync(join(folder, '--help\n'), 'odd name')
  symlinkSync('../bot.js', join(folder, 'src/link'))
  symlinkSync('src/deep', join(folder, 'folder-link'))
  linkSync(join(folder, 'bot.js'), join(folder, 'same.js'))
  return folder
}

function checkProject(into: string): void {
  assert.deepEqual(
    readdirSync(into).toSorted(),
    ['--help\n', 'bot.js', 'empty', 'folder-link', 'run.sh', 'same.js', 'src'].toSorted(),
  )
  assert.equal(read(into, 'bot.js'), 'hello')
  assert.equal(read(into, 'same.js'), 'hello')
  assert.equal(read(into, 'folder-link/data.bin').length, 100_000)
  assert.equal(readlinkSync(join(into, 'src/link')), '../bot.js')
  assert.equal(read(into, `src/${'long-'.repeat(40)}ü€😀`), 'long name')
  assert.deepEqual([modeOf(into, 'run.sh'), modeOf(into, 'bot.js'), modeOf(into, 'src')], [0o755, 0o644, 0o755])
}

for (const format of ['gnu', 'pax']) {
  test(`an archive made by tar in its ${format} format is unpacked, with and without an outer folder`, async () => {
    const project = makeProject()
    for (const args of [
      ['-C', join(project, '..'), 'project'],
      ['-C', project, '.'],
    ]) {
      for (const compress of [[], ['-z']]) {
        const bytes = execFileSync('tar', ['-c', ...compress, `--format=${format}`, '-f', '-', ...args])
        const { into, files } = await unpackBytes(bytes)
        checkProject(into)
        assert.equal(files, 6)
      }
    }
  })
}

test('an archive made by zip is unpacked, with and without an outer folder', async () => {
  const project = makeProject()
  for (const [cwd, name] of [
    [join(project, '..'), 'project'],
    [project, '.'],
  ] as const) {
    const file = join(newFolder(), 'made.zip')
    execFileSync('zip', ['-q', '-r', '-y', file, name], { cwd })
    const { into, files, sizeBytes } = await unpackBytes(readFileSync(file))
    checkProject(into)
    assert.equal(files, 6)
    assert.equal(sizeBytes, 100_000 + 5 + 5 + 9 + 9 + 8)
  }
})

test('only one outer folder is taken off, also if it holds another of its name', async () => {
  const wrapped = await unpackBytes(await tarOf({ name: 'a/a/a', data: 'x' }))
  assert.equal(read(wrapped.into, 'a/a'), 'x')
  const mixed = await unpackBytes(await tarOf({ name: 'a/b', data: 'x' }, { name: 'c', data: 'y' }))
  assert.deepEqual(readdirSync(mixed.into), ['a', 'c'])
  const alone = await unpackBytes(await tarOf({ name: 'file', data: 'x' }))
  assert.equal(read(alone.into, 'file'), 'x')
  assert.deepEqual(readdirSync((await unpackBytes(zipOfEntries())).into), [])
})

test('names that lead out of the folder are refused', async () => {
  for (const name of [
    '../evil',
    'a/../../evil',
    'a/..',
    '/etc/evil',
    '..',
    `${'x'.repeat(256)}/a`,
    'a/'.repeat(1500),
  ]) {
    await refused(unpackBytes(await tarOf({ name, data: 'x' })), /./)
    await refused(unpackBytes(zipOfEntries({ name, data: Buffer.from('x') })), /./)
  }
  await refused(unpackBytes(zipOfEntries({ name: '..\\evil' })), /\.\./)
  await refused(unpackBytes(zipOfEntries({ name: 'a\0b', data: Buffer.from('x') })), /NUL/)
  await refused(unpackBytes(await tarOf({ name: '../evil' })), /"\.\.\/evil" leads out/)
})

test('symlinks that could lead out are refused, alone or chained', async () => {
  const file = { name: 'top/deep/file', data: 'x' }
  for (const target of [
    '/etc/passwd',
    '..',
    '../x',
    '../../x',
    '../top/file',
    'deep/../../x',
    'l/..',
    '',
    '.'.repeat(3000),
  ]) {
    const link = { name: 'top/l', type: 'symlink' as const, linkname: target }
    if (target !== '') await refused(unpackBytes(await tarOf(file, link)), /symlink/)
    const asZip = [{ name: 'top/deep/file' }, { name: 'top/l', mode: 0o120777, data: Buffer.from(target) }]
    await refused(unpackBytes(zipOfEntries(...asZip)), /symlink/)
  }
  // Word by word both are inside; followed one after the other they are not.
  const chained = await tarOf(
    { name: 'a/b/c/up', type: 'symlink', linkname: '../../..' },
    { name: 'z', type: 'symlink', linkname: 'a/b/c/up/../etc' },
  )
  await refused(unpackBytes(chained), /may lead out/)
})

test('nothing is written through a symlink', async () => {
  for (const linkname of ['.', 'b', '/tmp', '..']) {
    const entries: TarEntry[] = [
      { name: 'b/x', data: 'x' },
      { name: 'a', type: 'symlink', linkname },
      { name: 'a/evil', data: 'evil' },
    ]
    await refused(unpackBytes(await tarOf(...entries)), /"a" is there twice, as a link and a folder/)
  }
  const replaced = tarOf({ name: 'a', type: 'symlink', linkname: '/tmp/evil' }, { name: 'a', data: 'evil' })
  await refused(unpackBytes(await replaced), /as a link and a file/)
})

test('hard links may only be to files of the same archive', async () => {
  const file = { name: 'a', data: 'x' }
  for (const linkname of ['/etc/passwd', '../outside', 'later', 'h', 'folder', 'l']) {
    const entries: TarEntry[] = [
      file,
      { name: 'folder', type: 'directory' },
      { name: 'l', type: 'symlink', linkname: 'a' },
      { name: 'h', type: 'link', linkname },
    ]
    await refused(unpackBytes(await tarOf(...entries)), /./)
  }
})

test('hard links count as what they lead to, also by others: each is a file for whoever copies them', async () => {
  const entries: TarEntry[] = [
    { name: 'a', data: 'x'.repeat(100) },
    { name: 'b', type: 'link', linkname: 'a' },
    { name: 'c', type: 'link', linkname: 'b' },
  ]
  const bytes = await tarOf(...entries)
  assert.equal((await unpackBytes(bytes, { ...limits, bytesMax: 300 })).sizeBytes, 300)
  await refused(unpackBytes(bytes, { ...limits, bytesMax: 299 }), /more than 299 bytes/)
})

test('devices and FIFOs are refused', async () => {
  for (const type of ['block-device', 'character-device', 'fifo'] as const) {
    await refused(unpackBytes(await tarOf({ name: 'x', type })), /"x" is neither/)
  }
  for (const mode of [0o010644, 0o020644, 0o060644, 0o140644]) {
    await refused(unpackBytes(zipOfEntries({ name: 'x', mode })), /"x" is neither/)
  }
})

test('names that come twice: the last file counts, another type is refused', async () => {
  const { into, files } = await unpackBytes(
    await tarOf(
      { name: 'a', data: 'first' },
      { name: 'h', type: 'link', linkname: 'a' },
      { name: './a', data: 'last' },
      { name: 'b', type: 'directory' },
      { name: 'b/', type: 'directory' },
    ),
  )
  assert.deepEqual([read(into, 'a'), read(into, 'h'), files], ['last', 'first', 2])
  await refused(unpackBytes(await tarOf({ name: 'a' }, { name: 'a', type: 'directory' })), /twice/)
  await refused(unpackBytes(await tarOf({ name: 'a' }, { name: 'a/b' })), /twice/)
  await refused(unpackBytes(zipOfEntries({ name: 'a/b' }, { name: 'a' })), /twice/)
})

test('setuid, setgid and sticky bits and write rights for others are dropped', async () => {
  const { into } = await unpackBytes(
    await tarOf(
      { name: 'x/s', mode: 0o7777 },
      { name: 'x/p', mode: 0o666 },
      { name: 'x/d', type: 'directory', mode: 0o7777 },
    ),
  )
  assert.deepEqual([modeOf(into, 's'), modeOf(into, 'p'), modeOf(into, 'd')], [0o755, 0o644, 0o755])
  const zipped = await unpackBytes(zipOfEntries({ name: 's', mode: 0o107777 }, { name: 'p', mode: 0o100606 }))
  assert.deepEqual([modeOf(zipped.into, 's'), modeOf(zipped.into, 'p')], [0o755, 0o644])
})

test('encrypted, damaged and lying zip entries are refused', async () => {
  const data = Buffer.from('hello'.repeat(100))
  await refused(unpackBytes(zipOfEntries({ name: 'x', data, flags: 1 })), /"x" is encrypted/)
  await refused(unpackBytes(zipOfEntries({ name: 'x', data, sum: 1 })), /checksum/)
  await refused(unpackBytes(zipOfEntries({ name: 'x', data, size: 10 })), /./)
  await refused(unpackBytes(zipOfEntries({ name: 'x', data, size: 1000 })), /./)
})

test('a bomb is refused while it is unpacked, however it lies about its size', async () => {
  const zeros = Buffer.alloc(50_000_000)
  await refused(unpackBytes(zipOfEntries({ name: 'x', data: zeros })), /more than 10000000 bytes/)
  await refused(unpackBytes(zipOfEntries({ name: 'x', data: zeros, size: 100 })), /./)
  await refused(unpackBytes(gzipSync(await tarOf({ name: 'x', data: zeros }))), /more than 10000000 bytes/)
  const overlapping = Array.from({ length: 200 }, (_, index) => ({ name: `x${index}`, isOverlapping: index > 0 }))
  const data = Buffer.alloc(1_000_000)
  await refused(
    unpackBytes(zipOfEntries(...overlapping.map((entry) => ({ ...entry, data })))),
    /more than 10000000 bytes/,
  )
  await refused(unpackBytes(gzipSync(Buffer.alloc(100_000_000))), /headers are too large/)
})

test('headers without end are refused', async () => {
  const [header] = [await tarOf({ name: 'x', type: 'file', data: 'x' })]
  const paxHeader = Buffer.from(header.subarray(0, 512))
  paxHeader.write('x', 156)
  paxHeader.write('77777777777\0', 124) // 8 GB
  paxHeader.fill(' ', 148, 156)
  const sum = paxHeader.reduce((total, byte) => total + byte, 0)
  paxHeader.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  await refused(unpackBytes(gzipSync(Buffer.concat([paxHeader, Buffer.alloc(30_000_000, 'a')]))), /broken/)
})

test('a million entries are refused early, and implied folders count', { timeout: 60_000 }, async () => {
  const file = join(newFolder(), 'many.tar.gz')
  const one = (await tarOf({ name: 'file' })).subarray(0, 512)
  const block = Buffer.concat(Array.from({ length: 1000 }, () => one))
  const source = Readable.from(
    (function* () {
      for (let count = 0; count < 1000; count++) yield block
    })(),
  )
  await pipeline(source, createGzip({ level: 1 }), createWriteStream(file))
  const bytes = readFileSync(file)
  const early = await timed(() =>
    refused(unpackBytes(bytes, { ...limits, entriesMax: 1000 }), /more than 1000 entries/),
  )
  assert(early.idleMs < 5_000, `${early.idleMs} ms`)
  const deep = Array.from({ length: 50 }, (_, index) => ({ name: `${index}/${'d/'.repeat(400)}x` }))
  await refused(unpackBytes(await tarOf(...deep)), /more than 10000 entries/)
  const tooMany = { bytesMax: 1000, entriesMax: 3 }
  await refused(
    unpackBytes(zipOfEntries({ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }), tooMany),
    /3 entries/,
  )
  await unpackBytes(zipOfEntries({ name: 'a' }, { name: 'b/' }, { name: 'b/d' }), tooMany)
})

test('what is no archive, or is cut off, is refused', async () => {
  const tar = await tarOf({ name: 'a', data: 'x'.repeat(5000) }, { name: 'b', data: 'y' })
  const zip = zipOfEntries({ name: 'a', data: Buffer.alloc(5000, 'x') })
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('P'),
    Buffer.from('hello'.repeat(200)),
    gzipSync('hello'),
    Buffer.from('PK\x03\x04'),
  ])
    await refused(unpackBytes(bytes), /./)
  for (const size of [513, 1000, 3000, 5700]) await refused(unpackBytes(tar.subarray(0, size)), /./)
  for (const size of [20, 60, gzipSync(tar).length - 4])
    await refused(unpackBytes(gzipSync(tar).subarray(0, size)), /./)
  for (const size of [4, 40, zip.length - 1]) await refused(unpackBytes(zip.subarray(0, size)), /./)
})

test('bytes changed at random give an error or a tree, never a hang or anything else', {
  timeout: 60_000,
}, async () => {
  const tar = await tarOf({ name: 'a', data: 'x'.repeat(600) }, { name: 'b', type: 'symlink', linkname: 'a' })
  const zip = zipOfEntries(
    { name: 'a/b', data: Buffer.alloc(600, 'xyz') },
    { name: 'c', mode: 0o120777, data: Buffer.from('a') },
  )
  for (const original of [tar, gzipSync(tar), zip]) {
    for (let round = 0; round < 150; round++) {
      const bytes = Buffer.from(original)
      bytes[(round * 7919) % bytes.length] = (round * 31) & 0xff
      await unpackBytes(bytes).catch((error: unknown) => {
        assert(error instanceof AppError && error.code === 'archive_invalid', (error as Error).stack)
      })
    }
  }
})

test('it stops when it is told to', async () => {
  const folder = newFolder()
  const file = join(folder, 'archive')
  for (const bytes of [await tarOf({ name: 'a' }), gzipSync(await tarOf({ name: 'a' })), zipOfEntries({ name: 'a' })]) {
    writeFileSync(file, bytes)
    const into = newFolder()
    await assert.rejects(unpack(file, into, { ...limits, signal: AbortSignal.abort() }), { name: 'AbortError' })
    assert.deepEqual(readdirSync(into), [])
  }
})

test('of 3,000 small files none stays open', async () => {
  const files = Array.from({ length: 3000 }, (_, index) => ({
    name: `p/m${index % 10}/${index}.js`,
    data: Buffer.alloc(3000, 'x'),
  }))
  const before = readdirSync('/proc/self/fd').length
  for (const bytes of [gzipSync(await tarOf(...files)), zipOfEntries(...files)]) {
    const { files: count, into } = await unpackBytes(bytes)
    assert.equal(count, 3000)
    assert.equal(lstatSync(join(into, 'm7/107.js')).size, 3000)
  }
  assert.equal(readdirSync('/proc/self/fd').length, before)
})
