import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
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
