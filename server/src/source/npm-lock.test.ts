import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInRange, listLeftOut, listOptional } from './npm-lock.ts'

const lock = JSON.stringify({
  packages: {
    '': {
      dependencies: { sharp: '1' },
      optionalDependencies: { fast: '1' },
      devDependencies: { tool: '1' },
    },
    'node_modules/sharp': {
      optionalDependencies: { 'linux-x64': '1', musl: '1', wasm: '1', notwin: '1', 'old-arm': '1' },
    },
    'node_modules/linux-x64': {
      optional: true,
      os: ['linux'],
      cpu: ['x64'],
      libc: ['glibc'],
      optionalDependencies: { vips: '1' },
    },
    'node_modules/linux-x64/node_modules/vips': { optional: true },
    'node_modules/vips': { optional: true, engines: { node: '^18.17.0 || ^20.3.0 || >= 21.0.0' } },
    'node_modules/musl': { optional: true, os: ['linux'], cpu: ['x64'], libc: ['musl'] },
    'node_modules/wasm': { optional: true, cpu: ['wasm32'], dependencies: { emnapi: '1' } },
    'node_modules/emnapi': { optional: true },
    'node_modules/notwin': { optional: true, os: ['!win32'], dependencies: { bundled: '1', vips: '1' } },
    'node_modules/notwin/node_modules/bundled': { optional: true, inBundle: true },
    'node_modules/old-arm': { optional: true, cpu: ['!x64'] },
    'node_modules/fast': { optional: true, optionalDependencies: { built: '1', picky: '1', wrapper: '1' } },
    'node_modules/built': { optional: true, hasInstallScript: true, dependencies: { nan: '1' } },
    'node_modules/nan': { optional: true },
    'node_modules/wrapper': { optional: true, dependencies: { around: '1' } },
    'node_modules/around': { optional: true, dependencies: { built: '1' } },
    'node_modules/picky': { optional: true, engines: { node: '>=4 <24 || ~26.1 || nonsense' } },
    'node_modules/tool': { dev: true, optionalDependencies: { extra: '1' } },
    'node_modules/extra': { dev: true, optional: true },
  },
})
const machine = { platform: 'linux-x64', libc: 'glibc', nodeVersion: '24.1.0', npmVersion: '11.19.1' } as const

test('of optional packages those count that fit the machine and that something asks for there', () => {
  const expected = [
    'node_modules/fast',
    'node_modules/linux-x64',
    'node_modules/linux-x64/node_modules/vips',
    'node_modules/notwin',
    'node_modules/vips',
  ]
  assert.deepEqual(listOptional(lock, { ...machine, needsDev: false }).toSorted(), expected)
  const all = listOptional(lock, { ...machine, needsDev: true })
  assert.deepEqual(all.toSorted(), [...expected, 'node_modules/extra'].toSorted())
  for (const text of ['', '{}', '{"packages":5}', '[]', '{"packages":{"":{"dependencies":"x"}}}'])
    assert.deepEqual(listOptional(text, { ...machine, needsDev: true }), [])
})

test('ranges of versions are read as npm reads them', () => {
  const held = ',*,x,>=4,>= 21.0.0,^24,^24.1.0,^20 || >=22,~24.1,24,24.x,24.1.0,v24.1,>=4 <25,>23,<=24.1.0,>=24.1.0'
  for (const range of held.split(',')) assert(isInRange('24.1.0', range), range)
  assert(isInRange('24.1.0', '^18.17.0 || ^20.3.0 || >= 21.0.0'))
  for (const range of [
    '>=24.5.0',
    '^24.9',
    '~24.0',
    '24.0.0',
    '>24.1.0',
    '<24',
    '^23',
    '>=25',
    '^18 || ~20',
    'nonsense',
  ])
    assert(!isInRange('24.1.0', range), range)
})

test('what npm did not get is known by the list that it leaves', () => {
  const installed = JSON.stringify({ packages: { 'node_modules/fast': {} } })
  assert.deepEqual(listLeftOut(['node_modules/fast', 'node_modules/vips'], installed), ['node_modules/vips'])
  assert.deepEqual(listLeftOut(['node_modules/fast'], undefined), ['node_modules/fast'])
})
