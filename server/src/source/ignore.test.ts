import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { matchesGlob } from './glob.ts'
import { removeIgnored } from './ignore.ts'

const scratch = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'ignore-'))
after(() => rmSync(scratch, { recursive: true }))

function folderOf(files: Record<string, string>): string {
  const folder = mkdtempSync(join(scratch, 'case-'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

test('globs match names at any depth, and paths from the top', () => {
  for (const [path, glob, expected] of [
    ['a.log', '*.log', true],
    ['deep/er/a.log', '*.log', true],
    ['a.logs', '*.log', false],
    ['data', 'data/', true],
    ['src/data', 'data', true],
    ['src/data', '/data', false],
    ['data', '/data', true],
    ['src/a/b/c.js', 'src/**/*.js', true],
    ['src/c.js', 'src/**/*.js', true],
    ['lib/c.js', 'src/**/*.js', false],
    ['ab', 'a?', true],
    ['a', 'a?', false],
    ['a/b', 'a?b', false],
    ['a/b/c', '**', true],
    ['x', '', false],
    ['x', '/', false],
    ['naïve🤖', 'na?ve?', true],
  ] as const)
    assert.equal(matchesGlob(path, glob), expected, `${path} ${glob}`)
})

test('a glob that would ruin a regular expression takes no time', () => {
  const startedAt = Date.now()
  assert.equal(matchesGlob('a'.repeat(255), `${'*a'.repeat(127)}b`), false)
  assert.equal(matchesGlob('a/'.repeat(1000), `${'**/a/'.repeat(50)}b`), false)
  assert(Date.now() - startedAt < 1_000)
})

test('installed packages, git’s own folder and what the project ignores are taken out', async () => {
  const folder = folderOf({
    'index.js': '12345',
    'botberth.json': '{"ignore":["*.log","/data"]}',
    'node_modules/x/index.js': 'x',
    'packages/a/node_modules/y.js': 'y',
    'packages/a/index.js': '1',
    '.git/config': 'x',
    'a.log': 'x',
    'data/db': 'x',
    'packages/data/keep': '12',
  })
  assert.deepEqual(await removeIgnored(folder), { files: 4, sizeBytes: 5 + 28 + 1 + 2 })
  for (const gone of ['node_modules', 'packages/a/node_modules', '.git', 'a.log', 'data'])
    assert.equal(existsSync(join(folder, gone)), false, gone)
})

test('a botberth.json that cannot be read ignores nothing', async () => {
  for (const text of ['{', '[]', '{"ignore":"*"}', '{"ignore":[1,null,""]}', '{"ignore":{"length":1}}'])
    assert.equal((await removeIgnored(folderOf({ 'botberth.json': text, a: '' }))).files, 2, text)
})
