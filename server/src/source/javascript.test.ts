import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryProject } from '../../test/memory-project.ts'
import { makePlan, type Wishes } from './plan.ts'

const always = ['--no-audit', '--no-fund', '--prefer-offline']

function plan(packageJson: object, files: Readonly<Record<string, string>> = {}, wishes: Partial<Wishes> = {}) {
  const project = memoryProject({ 'index.js': '', 'package.json': JSON.stringify(packageJson), ...files })
  return makePlan(project, { platform: 'linux-x64', nodeVersion: '24.21.0', language: 'javascript', ...wishes })
}

const integrity = `sha512-${'x'.repeat(86)}==`
const dependencies = { a: '^1.0.0' }

function lock(root: object, more: object = {}) {
  const a = { version: '1.0.0', resolved: 'https://registry.npmjs.org/a/-/a-1.0.0.tgz', integrity }
  const packages = { '': root, 'node_modules/a': a, ...more }
  return { 'package-lock.json': JSON.stringify({ lockfileVersion: 3, packages }) }
}

test('what npm may see otherwise than we do is not shared', () => {
  const files = lock({ dependencies })
  assert.equal(plan({ dependencies }, { ...files, '.npmrc': 'dry-run=true' }).install?.cache?.isShared, false)
  // A link, which npm follows and we do not: it is there, and cannot be read.
  for (const link of ['.npmrc', 'npm-shrinkwrap.json']) {
    const project = memoryProject({ 'index.js': '', 'package.json': JSON.stringify({ dependencies }), ...files })
    const withLink = {
      ...project,
      list: (folder: string) => [...project.list(folder), ...(folder === '' ? [link] : [])],
    }
    const made = makePlan(withLink, { platform: 'linux-x64', nodeVersion: '24.21.0', language: 'javascript' })
    assert.equal(made.install?.cache?.isShared ?? false, false, link)
  }
})

test('without dependencies nothing is installed', () => {
  for (const packageJson of [{}, { dependencies: {} }, { devDependencies: { eslint: '9' } }]) {
    const made = plan(packageJson)
    assert.equal(made.install, undefined)
    assert.equal(made.recipe, 'none')
  }
})

test('a lockfile without install scripts is installed without any and may be shared', () => {
  const made = plan({ dependencies }, lock({ dependencies }))
  assert.equal(made.recipe, 'npm')
  assert.deepEqual(made.tools, [])
  assert.deepEqual(made.install?.argv, ['npm', 'ci', ...always, '--omit=dev', '--ignore-scripts'])
  assert.equal(made.install?.cache?.folder, 'node_modules')
  assert.equal(made.install?.cache?.isShared, true)
  assert.match(made.install?.cache?.key ?? '', /^[0-9a-f]{64}$/)
  assert.deepEqual(made.notices, [])
  assert.deepEqual(made.env, { PATH_PREPEND: '{project}/node_modules/.bin' })
})

test('what runs scripts or is not pinned by a hash is not shared, and what is local is not kept', () => {
  const entry = { version: '1.0.0', resolved: 'https://registry.npmjs.org/b/-/b-1.0.0.tgz', integrity }
  const cases: readonly (readonly [string, object, 'kept' | 'not kept'])[] = [
    ['install script', { 'node_modules/b': { ...entry, hasInstallScript: true } }, 'kept'],
    ['no hash', { 'node_modules/b': { ...entry, integrity: undefined } }, 'kept'],
    ['odd hash', { 'node_modules/b': { ...entry, integrity: 'sha512-' } }, 'kept'],
    ['not really inside another', { 'node_modules/b': { ...entry, integrity: undefined, inBundle: true } }, 'kept'],
    ['git', { 'node_modules/b': { ...entry, resolved: 'git+ssh://git@github.com/x/b.git#0a' } }, 'kept'],
    ['file', { 'node_modules/b': { ...entry, resolved: 'file:b.tgz' } }, 'not kept'],
    ['link', { 'node_modules/b': { resolved: 'packages/b', link: true } }, 'not kept'],
    ['folder', { 'packages/b': { version: '1.0.0' } }, 'not kept'],
  ]
  for (const [name, more, kept] of cases) {
    const { install } = plan({ dependencies }, lock({ dependencies }, more))
    assert.deepEqual(install?.argv, ['npm', 'ci', ...always, '--omit=dev'], name)
    assert.equal(install?.cache?.isShared, kept === 'kept' ? false : undefined, name)
  }
  assert.deepEqual(plan({ dependencies }, lock({ dependencies }, cases[4]?.[1])).tools, ['git'])
  const bundled = { 'node_modules/b/node_modules/c': { version: '1.0.0', inBundle: true } }
  assert.equal(plan({ dependencies }, lock({ dependencies }, bundled)).install?.cache?.isShared, true)
})

test('workspaces are not kept', () => {
  const { install } = plan({ dependencies, workspaces: ['packages/*'] }, lock({ dependencies }))
  assert.deepEqual(install?.argv, ['npm', 'ci', ...always, '--omit=dev'])
  assert.equal(install?.cache, undefined)
})

test('the scripts that an installation left out come first in the build', () => {
  const scripts = { preinstall: 'a', postinstall: 'b', prepare: 'c', build: 'd' }
  const run = (...names: string[]) => names.map((name) => ({ argv: ['npm', 'run', name] }))
  const files = lock({ dependencies })
  assert.deepEqual(plan({ dependencies, scripts }, files).build, run('preinstall', 'postinstall', 'prepare', 'build'))
  // npm runs what comes before and after a script along with it.
  assert.deepEqual(
    plan({ dependencies, scripts: { ...scripts, install: 'x' } }, files).build,
    run('install', 'prepare', 'build'),
  )
  assert.deepEqual(plan({ scripts }).build, run('preinstall', 'postinstall', 'prepare', 'build'))
  assert.deepEqual(plan({ dependencies, scripts: { postinstall: 'b' } }, files, { buildCommand: 'make' }).build, [
    ...run('postinstall'),
    { argv: ['make'] },
  ])
})

test('where dependencies run scripts, those of the project run among them and nothing is kept', () => {
  const more = { 'node_modules/b': { version: '1.0.0', integrity, hasInstallScript: true } }
  const made = plan({ dependencies, scripts: { postinstall: 'b' } }, lock({ dependencies }, more))
  assert.deepEqual(made.build, [])
  assert.equal(made.install?.cache, undefined)
  assert.deepEqual(made.install?.argv, ['npm', 'ci', ...always, '--include=dev'])
})

test('dev dependencies are installed only when a build, a script or the start needs them', () => {
  const devDependencies = { typescript: '5', tsx: '4', '@swc/core': '1' }
  const hasDev = (more: object, wishes = {}) =>
    plan(
      { dependencies, devDependencies, ...more },
      lock({ dependencies, devDependencies }),
      wishes,
    ).install?.argv.includes('--include=dev')
  assert.equal(hasDev({}), false)
  assert.equal(hasDev({ scripts: { start: 'node x.js' } }), false)
  assert.equal(hasDev({ scripts: { build: 'tsc' } }), true)
  assert.equal(hasDev({}, { buildCommand: 'tsc' }), true)
  assert.equal(hasDev({ scripts: { start: 'tsx x.ts' } }), true)
  assert.equal(hasDev({ scripts: { start: 'tsc && node x.js' } }), true)
  assert.equal(hasDev({}, { startCommand: 'tsx x.ts' }), true)
  assert.equal(hasDev({}, { startCommand: 'node --import tsx x.ts' }), true)
})

test('a lockfile that does not match or cannot be read is not kept to, and the log says so', () => {
  const old = { 'package-lock.json': JSON.stringify({ lockfileVersion: 1, dependencies: {} }) }
  const files = [
    lock({ dependencies: { a: '^2.0.0' } }),
    lock({}),
    old,
    { 'package-lock.json': 'x' },
    { 'package-lock.json': '[]' },
    { 'package-lock.json': '{"packages":{"":{"dependencies":{"a":"^1.0.0"}},"node_modules/a":5}}' },
  ]
  for (const file of files) {
    const made = plan({ dependencies }, file)
    assert.deepEqual(made.install, { argv: ['npm', 'install', ...always, '--omit=dev'] }, JSON.stringify(file))
    assert.match(made.notices.join('\n'), /package-lock\.json does not match package\.json/)
  }
})

test('a package that is optional too counts as optional', () => {
  const optionalDependencies = { a: '^1.0.0' }
  const made = plan({ dependencies, optionalDependencies }, lock({ optionalDependencies }))
  assert.equal(made.install?.argv[1], 'ci')
})

test('a lockfile of npm 6 is kept to, with scripts', () => {
  const text = JSON.stringify({ lockfileVersion: 1, dependencies: { a: { version: '1.0.0', integrity } } })
  const { install } = plan({ dependencies }, { 'package-lock.json': text })
  assert.deepEqual(install?.argv, ['npm', 'ci', ...always, '--omit=dev'])
  assert.equal(install?.cache?.isShared, false)
})

test('without a lockfile npm installs, nothing is kept, and the log says so', () => {
  const made = plan({ dependencies })
  assert.deepEqual(made.install, { argv: ['npm', 'install', ...always, '--omit=dev'] })
  assert.match(made.notices.join('\n'), /no lockfile/)
})

test('each manager is run in the version that the project names or that wrote its lockfile', () => {
  const classic = '# yarn lockfile v1\n'
  const cases: readonly (readonly [Record<string, string>, string | undefined, string])[] = [
    [
      { 'yarn.lock': classic },
      undefined,
      'yarn@1 -- yarn install --non-interactive --prefer-offline --production=true --frozen-lockfile',
    ],
    [
      { 'yarn.lock': classic },
      'yarn@1.22.19',
      'yarn@1.22.19 -- yarn install --non-interactive --prefer-offline --production=true --frozen-lockfile',
    ],
    [{ 'yarn.lock': '__metadata:\n' }, undefined, '@yarnpkg/cli-dist@4 -- yarn install --immutable'],
    [{ 'yarn.lock': '__metadata:\n' }, 'yarn@3.6.1+sha256.0a', '@yarnpkg/cli-dist@3.6.1 -- yarn install --immutable'],
    [
      { 'pnpm-lock.yaml': "lockfileVersion: '9.0'\n" },
      undefined,
      'pnpm@10 -- pnpm install --frozen-lockfile --prefer-offline --prod',
    ],
    [
      { 'pnpm-lock.yaml': "lockfileVersion: '6.0'\n" },
      undefined,
      'pnpm@8 -- pnpm install --frozen-lockfile --prefer-offline --prod',
    ],
    [
      { 'pnpm-lock.yaml': 'lockfileVersion: 5.4\n' },
      undefined,
      'pnpm@7 -- pnpm install --frozen-lockfile --prefer-offline --prod',
    ],
    [
      { 'pnpm-lock.yaml': '' },
      'pnpm@9.1.0-rc.1',
      'pnpm@9.1.0-rc.1 -- pnpm install --frozen-lockfile --prefer-offline --prod',
    ],
    [{}, 'pnpm@9.1.0', 'pnpm@9.1.0 -- pnpm install --no-frozen-lockfile --prefer-offline --prod'],
  ]
  for (const [files, packageManager, expected] of cases) {
    const { install } = plan({ dependencies, packageManager }, files)
    assert.equal(install?.argv.join(' '), `npm exec --yes --package=${expected}`)
  }
  const built = plan({ dependencies, scripts: { build: 'x' } }, { 'pnpm-lock.yaml': "lockfileVersion: '9.0'" })
  assert.deepEqual(built.build, [{ argv: ['npm', 'exec', '--yes', '--package=pnpm@10', '--', 'pnpm', 'run', 'build'] }])
  assert.equal(plan({ dependencies }, { 'yarn.lock': '__metadata:\n' }).env['YARN_NODE_LINKER'], 'node-modules')
})

test('a version that is no plain version never gets into a command', () => {
  for (const packageManager of [
    'pnpm@latest',
    'pnpm@1.2.3 --x',
    'pnpm@$(id)',
    'pnpm@../x',
    'pnpm@1.2.3\n',
    'evil@1.0.0',
    '-x',
  ]) {
    const made = plan({ dependencies, packageManager }, { 'pnpm-lock.yaml': "lockfileVersion: '9.0'" })
    assert.equal(made.install?.argv[3], '--package=pnpm@10', packageManager)
    assert.match(made.notices.join('\n'), /packageManager ".*" is not understood/)
    assert(made.notices.every((notice) => !/\p{Cc}/u.test(notice)))
  }
})

test('of several lockfiles packageManager decides, else npm', () => {
  const files = { ...lock({ dependencies }), 'pnpm-lock.yaml': '', 'yarn.lock': '' }
  assert.equal(plan({ dependencies }, files).recipe, 'npm')
  assert.match(
    plan({ dependencies }, files).notices[0] ?? '',
    /several lockfiles.*package-lock\.json, yarn\.lock, pnpm-lock\.yaml.*npm installs/,
  )
  assert.equal(plan({ dependencies, packageManager: 'pnpm@9.0.0' }, files).recipe, 'pnpm')
  const one = plan({ dependencies, packageManager: 'pnpm@9.0.0' }, lock({ dependencies }))
  assert.equal(one.recipe, 'npm')
})

test('workspaces of pnpm are not kept, its settings are', () => {
  const files = { 'pnpm-lock.yaml': "lockfileVersion: '9.0'" }
  assert.equal(plan({ dependencies }, { ...files, 'pnpm-workspace.yaml': 'packages:\n - a' }).install?.cache, undefined)
  assert.equal(plan({ dependencies }, { ...files, 'pnpm-workspace.yaml': 'x: 1' }).install?.cache?.isShared, false)
  assert.equal(plan({ dependencies: { a: 'link:../a' } }, files).install?.cache, undefined)
})

test('the key changes with everything that decides the content, and with nothing else', () => {
  const base = { dependencies, scripts: { start: 'node index.js' } }
  const key = (packageJson: object, files = {}, wishes = {}) =>
    plan(packageJson, { ...lock({ dependencies }), ...files }, wishes).install?.cache?.key
  const first = key(base)
  for (const same of [
    key(base, { 'index.js': 'x' }),
    key({ ...base, version: '2.0.0', scripts: { start: 'node bot.js' } }),
    key(base, {}, { nodeVersion: '24.99.0' }),
  ]) {
    assert.equal(same, first)
  }
  const others = [
    key(base, lock({ dependencies }, { 'node_modules/b': { version: '1.0.0', integrity } })),
    key({ ...base, overrides: { a: '1' } }),
    key({ ...base, overrides: { a: '2' } }),
    key({ ...base, scripts: { build: 'x' } }),
    key(base, { '.npmrc': 'install-strategy=linked' }),
    key(base, {}, { platform: 'linux-arm64' }),
    key(base, {}, { nodeVersion: '25.0.0' }),
  ]
  assert.equal(new Set([first, ...others]).size, others.length + 1)
})

test('a lockfile of many megabytes is fine', () => {
  const more = Object.fromEntries(
    Array.from({ length: 30_000 }, (_, at) => [
      `node_modules/p${at}`,
      { version: '1.0.0', integrity, x: 'y'.repeat(150) },
    ]),
  )
  const files = lock({ dependencies }, more)
  assert(files['package-lock.json'].length > 4 * 1024 * 1024)
  assert.equal(plan({ dependencies }, files).install?.cache?.isShared, true)
})

test('a wish for another Node is named in the log', () => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['>=18', false],
    ['^20.1 || 22.x', true],
    ['>=16 <21', true],
    ['18 - 20', true],
    ['20 - 24', false],
    ['< 24', true],
    ['<=24', false],
    ['>24', true],
    ['24.x', false],
    ['v18.17.0', true],
    ['*', false],
    ['lts/iron', false],
    ['nonsense', false],
  ]
  for (const [node, isNamed] of cases) {
    assert.equal(plan({ engines: { node } }).notices.length, isNamed ? 1 : 0, node)
    assert.equal(plan({}, { '.nvmrc': `${node}\n` }).notices.length, isNamed ? 1 : 0, node)
  }
})
