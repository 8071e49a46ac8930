import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryProject } from '../../test/memory-project.ts'
import { StepError } from '../lib/step-error.ts'
import { makePlan, type Wishes } from './plan.ts'

type Files = Readonly<Record<string, string>>

function plan(files: Files, wishes: Partial<Wishes> = {}) {
  return makePlan(memoryProject(files), { platform: 'linux-x64', nodeVersion: '24.21.0', ...wishes })
}

const pip = 'python3 -m pip install --disable-pip-version-check --no-input --target .botberth/python'

test('Python installs into a folder of the project and finds it there', () => {
  const made = plan({ 'requirements.txt': 'discord.py==2.4\n', 'bot.py': '' })
  assert.equal(made.recipe, 'pip')
  assert.deepEqual(made.tools, ['python3'])
  assert.equal(made.install?.argv.join(' '), `${pip} -r requirements.txt`)
  assert.equal(made.install?.cache?.folder, '.botberth/python')
  assert.equal(made.install?.cache?.isShared, false)
  assert.equal(made.start, 'python3 bot.py')
  assert.deepEqual(made.env, {
    PYTHONPATH: '{project}/.botberth/python',
    PYTHONUNBUFFERED: '1',
    PATH_PREPEND: '{project}/.botberth/python/bin',
  })
})

test('a start by `python` is one by python3', () => {
  assert.equal(plan({ 'bot.py': '', Procfile: 'worker: python bot.py' }).start, 'python3 bot.py')
  assert.equal(plan({ 'bot.py': '' }, { startCommand: 'python-x bot.py' }).start, 'python-x bot.py')
})

test('Python without requirements installs nothing, or itself if it is a package', () => {
  assert.equal(plan({ 'requirements.txt': '# none\n\n', 'bot.py': '' }).install, undefined)
  assert.equal(plan({ 'pyproject.toml': '[tool.black]\n', 'bot.py': '' }).install, undefined)
  const made = plan({ 'pyproject.toml': '[project]\nname = "x"\n', 'uv.lock': '', 'src/main.py': '' })
  assert.deepEqual(made.install, { argv: [...pip.split(' '), '.'] })
  assert.match(made.notices.join('\n'), /uv\.lock is not read/)
  assert.match(plan({ Pipfile: '', 'bot.py': '' }).notices.join('\n'), /Pipfile is not read/)
})

test('requirements that name further files are kept by all of their texts, local ones not at all', () => {
  const key = (files: Files) => plan({ 'bot.py': '', ...files }).install?.cache?.key
  const one = key({ 'requirements.txt': '-r base.txt', 'base.txt': 'a==1' })
  assert(one)
  assert.notEqual(key({ 'requirements.txt': '-r base.txt', 'base.txt': 'a==2' }), one)
  assert(key({ 'requirements.txt': '-r requirements.txt\na' }))
  for (const line of ['-e .', '.', './lib', '-r ../x.txt', '-r gone.txt', 'a @ file:///x', '-f wheels', 'libs/a.whl']) {
    assert.equal(key({ 'requirements.txt': line }), undefined, line)
  }
})

const cases: readonly {
  readonly title: string
  readonly files: Files
  readonly language?: string
  readonly tools: string[]
  readonly install?: string
  readonly build?: string[]
  readonly start: string
}[] = [
  {
    title: 'Go',
    files: { 'go.mod': 'module x\nrequire a v1', 'go.sum': '', 'main.go': 'package main' },
    tools: ['go'],
    install: 'go mod download',
    build: ['go build -o .botberth/app .'],
    start: '.botberth/app',
  },
  {
    title: 'Go without go.sum',
    files: { 'go.mod': 'module x\nrequire a v1', 'main.go': 'package main' },
    tools: ['go'],
    install: 'go mod tidy',
    build: ['go build -o .botberth/app .'],
    start: '.botberth/app',
  },
  {
    title: 'Go with one command',
    files: { 'go.mod': 'module x', 'cmd/bot/main.go': 'package main' },
    tools: ['go'],
    build: ['go build -o .botberth/app ./cmd/bot/'],
    start: '.botberth/app',
  },
  {
    title: 'Go without a module',
    files: { 'main.go': 'package main', 'b.go': 'package main', 'b_test.go': '' },
    tools: ['go'],
    build: ['go build -o .botberth/app ./b.go ./main.go'],
    start: '.botberth/app',
  },
  {
    title: 'Go by MAIN',
    files: { 'go.mod': 'module x', 'bot/main.go': 'package main', 'discloud.config': 'MAIN=bot/main.go' },
    tools: ['go'],
    build: ['go build -o .botberth/app ./bot'],
    start: '.botberth/app',
  },
  {
    title: 'Rust',
    files: { 'Cargo.toml': '[package]\nname = "my-bot"\n[dependencies]\na = "1"', 'Cargo.lock': '' },
    tools: ['cargo', 'cc'],
    install: 'cargo fetch --locked',
    build: ['cargo build --release --locked'],
    start: 'target/release/my-bot',
  },
  {
    title: 'Rust with a named binary',
    files: { 'Cargo.toml': '[package]\nname = "lib"\n\n[[bin]]\nname = "bot"' },
    tools: ['cargo', 'cc'],
    build: ['cargo build --release'],
    start: 'target/release/bot',
  },
  {
    title: 'Maven',
    files: {
      'pom.xml':
        '<project><parent><artifactId>p</artifactId><version>3</version></parent><artifactId>bot</artifactId><dependencies><dependency><artifactId>x</artifactId><version>9</version></dependency></dependencies></project>',
    },
    tools: ['mvn', 'java'],
    build: ['mvn --batch-mode --no-transfer-progress -DskipTests package'],
    start: 'java -jar target/bot-3.jar',
  },
  {
    title: 'Maven with its wrapper and a final name',
    files: {
      mvnw: '',
      'pom.xml':
        '<artifactId>bot</artifactId><version>1</version><build><finalName>app</finalName><descriptorRef>jar-with-dependencies</descriptorRef></build>',
    },
    tools: ['java'],
    build: ['/bin/sh ./mvnw --batch-mode --no-transfer-progress -DskipTests package'],
    start: 'java -jar target/app-jar-with-dependencies.jar',
  },
  {
    title: 'Gradle, an application',
    files: { 'build.gradle': "plugins { id 'application' }", 'settings.gradle': "rootProject.name = 'bot'" },
    tools: ['gradle', 'java'],
    build: ['gradle --no-daemon --console=plain installDist'],
    start: '/bin/sh build/install/bot/bin/bot',
  },
  {
    title: 'Gradle in Kotlin with a fat jar',
    files: {
      gradlew: '',
      'build.gradle.kts': 'plugins {\n kotlin("jvm")\n id("com.gradleup.shadow")\n}\nversion = "1.2"',
      'settings.gradle.kts': 'rootProject.name = "bot"',
    },
    tools: ['java'],
    build: ['/bin/sh ./gradlew --no-daemon --console=plain shadowJar'],
    start: 'java -jar build/libs/bot-1.2-all.jar',
  },
  { title: 'a jar', files: { 'bot.jar': '' }, tools: ['java'], start: 'java -jar bot.jar' },
  { title: 'a single Java file', files: { 'Main.java': '' }, tools: ['java'], start: 'java Main.java' },
  {
    title: 'a single Kotlin file',
    files: { 'Main.kt': '' },
    tools: ['kotlinc', 'java'],
    build: ['kotlinc ./Main.kt -include-runtime -d .botberth/app.jar'],
    start: 'java -jar .botberth/app.jar',
  },
  {
    title: 'a Kotlin script',
    files: { 'main.kts': '' },
    tools: ['kotlinc', 'java'],
    start: 'kotlinc -script main.kts',
  },
  {
    title: 'Ruby with gems',
    files: { Gemfile: 'gem "x"', 'Gemfile.lock': '', 'bot.rb': '' },
    tools: ['ruby', 'bundle'],
    install: 'bundle install',
    start: 'bundle exec ruby bot.rb',
  },
  { title: 'Ruby', files: { 'main.rb': '' }, tools: ['ruby'], start: 'ruby main.rb' },
  {
    title: 'PHP with packages',
    files: { 'composer.json': '{}', 'composer.lock': '{}', 'bot.php': '' },
    tools: ['php', 'composer'],
    install: 'composer install --no-dev --no-interaction --no-progress --prefer-dist',
    start: 'php bot.php',
  },
  { title: 'PHP', files: { 'main.php': '' }, tools: ['php'], start: 'php main.php' },
  {
    title: 'C#',
    files: { 'My.Bot.csproj': '<Project/>', 'Program.cs': '' },
    tools: ['dotnet'],
    install: 'dotnet restore ./My.Bot.csproj',
    build: ['dotnet publish ./My.Bot.csproj --no-restore --nologo --configuration Release --output .botberth/app'],
    start: 'dotnet .botberth/app/My.Bot.dll',
  },
  {
    title: 'Deno',
    files: { 'deno.json': '{}', 'main.ts': '' },
    tools: ['deno'],
    start: 'deno run --allow-all main.ts',
  },
  {
    title: 'Deno with a lockfile',
    files: { 'deno.lock': '{}', 'main.ts': '' },
    tools: ['deno'],
    install: 'deno cache --frozen ./main.ts',
    start: 'deno run --allow-all main.ts',
  },
  {
    title: 'Deno with a task',
    files: { 'deno.json': '{"tasks":{"start":"x"}}', 'deno.lock': '{}' },
    tools: ['deno'],
    install: 'deno install --frozen',
    start: 'deno task start',
  },
]

for (const { title, files, tools, install, build = [], start } of cases) {
  test(`${title} is installed, built and started as expected`, () => {
    const made = plan(files)
    assert.deepEqual(made.tools, tools)
    assert.equal(made.install?.argv.join(' '), install)
    assert.deepEqual(
      made.build.map(({ argv }) => argv.join(' ')),
      build,
    )
    assert.equal(made.start, start)
  })
}

test('gems and packages of PHP are kept if only their own files decide them', () => {
  const ruby = { Gemfile: 'gem "x"', 'Gemfile.lock': 'GEM', 'bot.rb': '' }
  assert.equal(plan(ruby).install?.cache?.folder, '.botberth/ruby')
  assert.equal(plan({ ...ruby, 'Gemfile.lock': 'PATH\n' }).install?.cache, undefined)
  const php = { 'composer.json': '{"require":{"a/b":"1"}}', 'composer.lock': '{}', 'bot.php': '' }
  assert.equal(plan(php).install?.cache?.folder, 'vendor')
  assert.equal(plan({ ...php, 'composer.json': '{"scripts":{}}' }).install?.cache, undefined)
})

test('a build of one’s own takes the place of the recipe’s and needs a start', () => {
  const files = { 'go.mod': 'module x', 'main.go': 'package main' }
  const made = plan(files, { buildCommand: 'go build -o bot', startCommand: './bot' })
  assert.deepEqual(made.build, [{ argv: ['go', 'build', '-o', 'bot'] }])
  assert.equal(made.start, './bot')
  assert.throws(() => plan(files, { buildCommand: 'go build -o bot' }), { code: 'start_unknown' })
})

test('hostile names in manifests never get into a command', () => {
  const files: readonly Files[] = [
    { 'Cargo.toml': '[package]\nname = "$(id)"' },
    { 'pom.xml': '<artifactId>$(id)</artifactId><version>1</version>' },
    { 'pom.xml': '<artifactId>a</artifactId><version>${revision}</version>' },
    { 'build.gradle': '', 'settings.gradle': 'rootProject.name = "a;b"' },
    { 'go.mod': 'module x', 'cmd/$(id)/main.go': 'package main' },
    { 'a.jar': '', 'b.jar': '' },
    { 'a.csproj': '', 'b.csproj': '' },
  ]
  for (const one of files) {
    assert.throws(
      () => plan(one),
      (error) => error instanceof StepError && error.code === 'start_unknown',
      JSON.stringify(one),
    )
  }
  assert.equal(plan({ '$(id).jar': '' }).start, "java -jar '$(id).jar'")
})

test('huge and unclosed manifests are read in no time', () => {
  const long = 'a '.repeat(1_000_000)
  const files: readonly Files[] = [
    { 'pom.xml': `<artifactId>${long}` },
    { 'pom.xml': '<build>'.repeat(300_000) },
    { 'Cargo.toml': `[package]\n${' '.repeat(1_000_000)}` },
    { 'build.gradle': `version${' '.repeat(1_000_000)}` },
    { 'deno.jsonc': '"tasks":{'.repeat(100_000) },
    { 'requirements.txt': long, 'bot.py': '' },
    { Procfile: `worker:${' '.repeat(500_000)}` },
    { 'discloud.config': `MAIN${' '.repeat(500_000)}` },
    { 'go.mod': `require${'\n'.repeat(1_000_000)}` },
  ]
  for (const one of files) {
    const before = process.cpuUsage()
    try {
      plan(one)
    } catch (error) {
      assert(error instanceof StepError, String(error))
    }
    const { user } = process.cpuUsage(before)
    assert(user < 5_000_000, `${Object.keys(one).join()} took ${user} µs of processor time`)
  }
})
