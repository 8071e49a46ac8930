import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from '../test/call.ts'
import { packFolder } from './upload.ts'

const say = (name: string) => name

function fill(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

async function packed(folder: string): Promise<readonly string[]> {
  const { files, remove } = await packFolder(folder, say)
  await remove()
  return files
}

test('secrets of this machine stay here, whatever a rule says', async () => {
  const folder = makeFolder()
  const secrets = ['.env', '.env.local', '.envrc', '.netrc', '.git', 'id_rsa', 'deep/id_ed25519', '.aws/credentials']
  fill(folder, Object.fromEntries(secrets.map((name) => [name, 'x'])))
  fill(folder, {
    'botberth.json': '{"ignore": ["!.env", "!id_rsa", "!.env.local"]}',
    '.botberthignore': '!.env\n!.git\n!.aws\n!.netrc\n',
    '.npmrc': '//registry.npmjs.org/:_authToken=npm_secret\n',
    'deep/.npmrc': 'legacy-peer-deps=true\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n',
    '.env.example': 'TOKEN=',
    'index.js': '',
  })
  assert.deepEqual(await packed(folder), [
    '.botberthignore',
    '.env.example',
    'botberth.json',
    'deep/.npmrc',
    'index.js',
  ])
})

test('ignore files count from the top of the repository down, the deeper one more', async () => {
  const top = makeFolder()
  mkdirSync(join(top, '.git'))
  fill(top, {
    '.gitignore': '*.key\n/bots/one/dist\n',
    'bots/.gitignore': 'cache/\n',
    'bots/one/.gitignore': '*.log\n',
    'bots/one/[id]/.gitignore': '/hidden\n!kept.log\n',
    'bots/one/[id]/hidden': '',
    'bots/one/[id]/kept.log': '',
    'bots/one/i/hidden': '',
    'bots/one/a.key': '',
    'bots/one/b.log': '',
    'bots/one/dist/x': '',
    'bots/one/cache/x': '',
    'bots/one/index.js': '',
    'bots/one/botberth.json': '{"ignore": ["/notes"]}',
    'bots/one/notes': '',
    'bots/two/index.js': '',
  })
  assert.deepEqual(await packed(join(top, 'bots/one')), [
    '.gitignore',
    '[id]/.gitignore',
    '[id]/kept.log',
    'botberth.json',
    'i/hidden',
    'index.js',
  ])
})

test('a linked folder that its repository ignores is uploaded all the same', async () => {
  const top = makeFolder()
  mkdirSync(join(top, '.git'))
  fill(top, { '.gitignore': 'bots/\n', 'bots/one/index.js': '' })
  assert.deepEqual(await packed(join(top, 'bots/one')), ['index.js'])
})

test('links are packed where they stay inside, and named where they lead out', async () => {
  const folder = makeFolder()
  fill(folder, { 'src/index.js': '' })
  symlinkSync('index.js', join(folder, 'src/same.js'))
  symlinkSync('/usr/lib/node_modules', join(folder, 'node_modules'))
  assert.deepEqual(await packed(folder), ['src/index.js', 'src/same.js'])
  for (const target of ['/etc/hosts', '../../..', '../../x']) {
    const outer = makeFolder()
    mkdirSync(join(outer, 'src'))
    symlinkSync(target, join(outer, 'src/out'))
    await assert.rejects(packFolder(outer, say), { code: 'bad_link', message: 'linkLeadsOut' })
  }
})

test('a broken botberth.json is named', async () => {
  const folder = makeFolder()
  fill(folder, { 'botberth.json': '{' })
  await assert.rejects(packFolder(folder, say), { path: join(folder, 'botberth.json') })
})
