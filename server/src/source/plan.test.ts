import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryProject } from '../../test/memory-project.ts'
import { StepError } from '../lib/step-error.ts'
import { makePlan, type Wishes } from './plan.ts'

type Files = Readonly<Record<string, string>>

function plan(files: Files, wishes: Partial<Wishes> = {}) {
  return makePlan(memoryProject(files), { platform: 'linux-x64', nodeVersion: '24.21.0', ...wishes })
}

function refuses(files: Files, code: string, message: RegExp, wishes: Partial<Wishes> = {}) {
  assert.throws(
    () => plan(files, wishes),
    (error) => {
      assert(error instanceof StepError, String(error))
      assert.equal(error.code, code)
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /\p{Cc}/u)
      return true
    },
  )
}

test('the wished language wins over botberth.json, which wins over the files', () => {
  const files = { 'botberth.json': '{"language":"py"}', 'main.py': '', 'index.js': '' }
  assert.equal(plan(files, { language: 'Node.JS' }).language, 'javascript')
  assert.equal(plan(files).language, 'python')
  assert.equal(plan({ 'main.py': '', 'index.js': '' }, { language: ' ' }).language, 'python')
})

test('an unknown language is refused and says where the known ones are', () => {
  refuses({ 'index.js': '' }, 'language_unsupported', /"cobol".*GET \/languages/, { language: 'cobol' })
  refuses({ 'botberth.json': '{"language":"cob\\u202eol"}' }, 'language_unsupported', /GET \/languages/)
})

test('the language is found from the files', () => {
  const jar = { 'bot.jar': '' }
  const cases: readonly (readonly [string, Files])[] = [
    ['javascript', { 'package.json': '{}', 'index.js': '' }],
    ['javascript', { 'index.mjs': '' }],
    ['typescript', { 'package.json': '{}', 'tsconfig.json': '{}', 'index.ts': '' }],
    ['typescript', { 'package.json': '{"main":"src/index.ts"}', 'src/index.ts': '' }],
    ['typescript', { 'src/index.ts': '' }],
    ['deno', { 'deno.json': '{}', 'main.ts': '' }],
    ['deno', { 'deno.json': '{}', 'discloud.config': 'MAIN=x.ts', 'x.ts': '' }],
    ['bun', { 'package.json': '{}', 'bun.lock': '', 'index.ts': '' }],
    ['javascript', { 'package.json': '{"scripts":{"start":"node a"}}', 'bun.lock': '', 'yarn.lock': '' }],
    ['python', { 'requirements.txt': '', 'bot.py': '' }],
    ['python', { 'pyproject.toml': '', 'bot.py': '' }],
    ['python', { Pipfile: '', 'bot.py': '' }],
    ['python', { 'bot.py': '' }],
    ['python', { 'package.json': '{"devDependencies":{"prettier":"3"}}', 'requirements.txt': '', 'bot.py': '' }],
    ['javascript', { 'package.json': '{"scripts":{"start":"node x"}}', 'requirements.txt': '' }],
    ['go', { 'go.mod': 'module x', 'main.go': 'package main' }],
    ['rust', { 'Cargo.toml': '[package]\nname = "x"', 'src/main.rs': '' }],
    ['java', { 'pom.xml': '<artifactId>a</artifactId><version>1</version>' }],
    ['kotlin', { 'build.gradle.kts': 'plugins { kotlin("jvm") }', 'settings.gradle.kts': 'rootProject.name = "x"' }],
    ['java', jar],
    ['ruby', { Gemfile: '', 'bot.rb': '' }],
    ['php', { 'composer.json': '{}', 'bot.php': '' }],
    ['csharp', { 'x.csproj': '' }],
    ['java', { ...jar, 'discloud.config': 'MAIN=bot.jar' }],
    ['python', { 'package.json': '{"main":"index.js"}', 'index.js': '', 'x.py': '', 'discloud.config': 'MAIN=x.py' }],
  ]
  for (const [language, files] of cases) assert.equal(plan(files).language, language, JSON.stringify(files))
})

test('an empty project is JavaScript with nothing to start', () => {
  refuses({}, 'start_unknown', /scripts\.start.*index\.js.*startCommand.*botberth\.json.*Procfile/)
})

test('the start command is the first that is said', () => {
  const all: Files = {
    'botberth.json': '{"start":"node own.js"}',
    Procfile: 'web: node web.js\nworker: node worker.js',
    'discloud.config': 'MAIN=main2.js\nSTART=node brought.js',
    'package.json': '{"scripts":{"start":"node script.js"},"main":"entry.js"}',
    'entry.js': '',
    'main2.js': '',
    'index.js': '',
  }
  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)))
  assert.equal(plan(all, { startCommand: 'node wish.js' }).start, 'node wish.js')
  assert.equal(plan(all).start, 'node own.js')
  assert.equal(plan(without('botberth.json')).start, 'node worker.js')
  assert.equal(plan(without('botberth.json', 'Procfile')).start, 'node brought.js')
  const rest = without('botberth.json', 'Procfile', 'discloud.config')
  assert.equal(plan({ ...rest, 'discloud.config': 'MAIN=main2.js' }).start, 'node main2.js')
  assert.equal(plan(rest).start, 'node script.js')
  assert.equal(plan({ ...rest, 'package.json': '{"main":"./entry"}' }).start, 'node entry.js')
  assert.equal(plan({ ...rest, 'package.json': '{"main":"gone.js"}' }).start, 'node index.js')
})

test('the process of a Procfile is the worker, the bot, the web or the only one', () => {
  const start = (text: string) => plan({ Procfile: text, 'index.js': '' }).start
  assert.equal(start('web: a\r\nbot: b\r\n'), 'b')
  assert.equal(start('web: a'), 'a')
  assert.equal(start('# x\nclock: c\nrelease: r'), 'c')
  assert.equal(start('clock: c\nother: d'), 'node index.js')
})

test('npm is left out of a start script that is a plain node command', () => {
  const start = (scripts: object) => plan({ 'package.json': JSON.stringify({ scripts }) }).start
  assert.equal(start({ start: ' node --enable-source-maps dist/x.js ' }), 'node --enable-source-maps dist/x.js')
  assert.equal(start({ start: 'node .' }), 'node .')
  for (const line of ['node a && node b', 'NODE_ENV=x node a', 'tsx a.ts', 'node', 'node $X']) {
    assert.equal(start({ start: line }), 'npm start', line)
  }
  assert.equal(start({ start: 'node a', prestart: 'x' }), 'npm start')
})

test('a file that is named like an option or with spaces stays a file', () => {
  assert.equal(plan({ 'discloud.config': 'MAIN=--eval.js', './--eval.js': '' }).start, 'node ./--eval.js')
  assert.equal(plan({ 'discloud.config': 'MAIN=my bot.js', 'my bot.js': '' }).start, "node 'my bot.js'")
  assert.equal(plan({ 'package.json': '{"main":"$(id).js"}', '$(id).js': '' }).start, "node '$(id).js'")
  assert.equal(plan({ 'package.json': '{"main":"../../etc/x.js"}', 'index.js': '' }).start, 'node index.js')
})

test('MAIN has to be there unless a build makes it', () => {
  refuses({ 'discloud.config': 'MAIN=x.js' }, 'start_unknown', /MAIN names "x\.js"/)
  assert.equal(plan({ 'discloud.config': 'MAIN=dist/x.js\nBUILD=npm run x' }).start, 'node dist/x.js')
})

test('the build command is the first that is said', () => {
  const files = { 'index.js': '', 'package.json': '{"scripts":{"build":"tsc"}}' }
  const build = (more: Files, wishes = {}) => plan({ ...files, ...more }, wishes).build
  assert.deepEqual(build({ 'botberth.json': '{"build":"x"}' }, { buildCommand: 'a && b' }), [
    { argv: ['/bin/sh', '-c', 'a && b'] },
  ])
  assert.deepEqual(build({ 'botberth.json': '{"build":"make all"}', 'discloud.config': 'BUILD=z' }), [
    { argv: ['make', 'all'] },
  ])
  assert.deepEqual(build({ 'discloud.config': 'BUILD=z' }), [{ argv: ['z'] }])
  assert.deepEqual(build({}), [{ argv: ['npm', 'run', 'build'] }])
})

test('TypeScript without a build is run by Node itself, and the log says so', () => {
  const { start, notices } = plan({ 'tsconfig.json': '{}', 'package.json': '{}', 'src/index.ts': '', 'index.js': '' })
  assert.equal(start, 'node src/index.ts')
  assert.match(notices.join('\n'), /Node 24 runs "src\/index\.ts" directly.*enums/)
  assert.deepEqual(
    plan({ 'tsconfig.json': '{}', 'package.json': '{"scripts":{"build":"tsc"},"main":"dist/a.js"}' }).notices,
    [],
  )
})

test('Bun starts what is written for it', () => {
  const made = plan({ 'package.json': '{"dependencies":{"a":"1"}}', 'bun.lock': '{}', 'index.ts': '' })
  assert.equal(made.start, 'bun run index.ts')
  assert.deepEqual(made.tools, ['bun'])
  assert.deepEqual(made.install?.argv, ['bun', 'install', '--no-progress', '--frozen-lockfile', '--production'])
  assert.deepEqual(plan({ 'index.ts': '' }, { language: 'bun' }).tools, ['bun'])
})

test('keys of other hosts that have no effect are named one by one', () => {
  const config =
    'MAIN=a.js\nSUBDOMAIN=x\nvlan=true\nAPT=ffmpeg\nHOSTNAME=h\nRAM=512\nMEMORY=1\nVERSION=latest\nNAME=n\nTYPE=bot\nAUTORESTART=true\nSTORAGE=1\n'
  const { notices } = plan({ 'discloud.config': config, 'a.js': '' })
  for (const key of ['SUBDOMAIN', 'VLAN', 'APT', 'HOSTNAME', 'STORAGE']) {
    assert(notices.includes(`discloud.config: ${key} cannot be served here and has no effect.`), key)
  }
  assert(notices.includes('discloud.config: RAM has no effect, limits are set on the bot.'))
  assert(notices.includes('discloud.config: MEMORY has no effect, limits are set on the bot.'))
  assert.equal(notices.length, 9)
})

test('of several config files of other hosts the first one counts', () => {
  const made = plan({ 'squarecloud.app': 'MAIN=a.js', 'discloud.config': 'MAIN=b.js', 'a.js': '', 'b.js': '' })
  assert.equal(made.start, 'node a.js')
  assert.match(made.notices.join('\n'), /discloud\.config is left aside/)
  assert.equal(plan({ 'squarecloud.config': '\uFEFF# c\nMAIN = a.js', 'a.js': '' }).start, 'node a.js')
})

test('a malformed config is refused with the reason', () => {
  const cases: readonly (readonly [Files, string, RegExp])[] = [
    [{ 'botberth.json': '{' }, 'config_invalid', /botberth\.json is not valid JSON: ./],
    [{ 'botberth.json': '{\n\u001b[31m' }, 'config_invalid', /not valid JSON/],
    [{ 'botberth.json': '[]' }, 'config_invalid', /must hold a JSON object/],
    [{ 'botberth.json': 'null' }, 'config_invalid', /must hold a JSON object/],
    [{ 'botberth.json': '{"start":5}' }, 'config_invalid', /start must be text/],
    [{ 'botberth.json': '{"start":" "}' }, 'config_invalid', /start must not be empty/],
    [{ 'botberth.json': '{"start":"a\\u0000b"}' }, 'config_invalid', /start holds control characters/],
    [{ 'botberth.json': '{"build":"a\\nb"}' }, 'config_invalid', /build holds control characters/],
    [{ 'botberth.json': `{"build":"${'x'.repeat(5000)}"}` }, 'config_invalid', /4096/],
    [{ 'botberth.json': '{"watch":"*"}' }, 'config_invalid', /watch must be a list/],
    [{ 'botberth.json': '{"ignore":[1]}' }, 'config_invalid', /ignore must be a list/],
    [{ 'discloud.config': 'MAIN=a\u0007.js' }, 'config_invalid', /MAIN holds control characters/],
    [{ 'discloud.config': 'MAIN=/etc/passwd' }, 'config_invalid', /MAIN must be a file of the project/],
    [{ 'discloud.config': 'MAIN=../x.js' }, 'config_invalid', /MAIN must be a file of the project/],
    [{ Procfile: 'worker: a\u001b[0m' }, 'config_invalid', /Procfile holds control characters/],
    [{ 'package.json': '{"main":"a\\u0000"}' }, 'config_invalid', /main holds control characters/],
    [{ 'package.json': 'x' }, 'package_json_invalid', /not valid JSON/],
    [{ 'package.json': '' }, 'package_json_invalid', /not valid JSON/],
    [{ 'package.json': '[1]' }, 'package_json_invalid', /must hold a JSON object/],
  ]
  for (const [files, code, message] of cases) refuses({ 'index.js': '', ...files }, code, message)
  refuses({}, 'config_invalid', /start command holds control/, { startCommand: 'a\u0000' })
})

test('nulls and unknown fields in botberth.json do no harm', () => {
  const made = plan({
    'index.js': '',
    'botberth.json': '{"start":null,"language":null,"__proto__":{"start":"evil"},"constructor":1,"watch":["a"]}',
  })
  assert.equal(made.start, 'node index.js')
  assert.deepEqual(made.notices, ['botberth.json: "__proto__", "constructor" is not known and has no effect.'])
})

test('a package.json with odd types and prototype names does no harm', () => {
  const texts = [
    '{"scripts":{"__proto__":{"start":"evil"},"constructor":"x"},"dependencies":{"__proto__":"1"}}',
    '{"__proto__":{"scripts":{"start":"evil"}}}',
    '{"scripts":[],"dependencies":"x","main":5,"engines":"node","workspaces":null,"packageManager":{}}',
    '{"packages":{"":{"toString":5},"node_modules/a":{"resolved":{"toString":5},"version":{"valueOf":1}}}}',
    '{"dependencies":{"a":{"version":{"toString":5}}},"scripts":{"start":5,"build":null},"main":""}',
    `{"overrides":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`,
  ]
  for (const text of texts) {
    const made = plan({ 'package.json': text, 'index.js': '', 'package-lock.json': text })
    assert.equal(made.start, 'node index.js', text.slice(0, 80))
  }
})

test('a plan can be kept as JSON', () => {
  const made = plan({ 'package.json': '{"dependencies":{"a":"1"}}', 'index.js': '' })
  assert.deepEqual(JSON.parse(JSON.stringify(made)), made)
})
