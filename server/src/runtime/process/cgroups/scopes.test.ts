import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Scopes, type Systemd } from './scopes.ts'

const limits = { memoryBytes: 1_000_000, cpus: 0.5, processes: 30 }
const system: Systemd = { systemdRun: '/usr/bin/systemd-run', systemctl: '/usr/bin/systemctl', options: [], tag: 'x' }

/** A stand-in for the folder of botberth-x.slice. */
function makeTree() {
  const parent = mkdtempSync(join(tmpdir(), 'botberth-scopes-'))
  after(() => rmSync(parent, { recursive: true }))
  const put = (path: string, files: Record<string, string>) => {
    mkdirSync(join(parent, path), { recursive: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(parent, path, name), text)
  }
  const slice = 'botberth-x-bots.slice'
  const scope = (name: string) => `${slice}/botberth-x-bots-${name}.scope`
  const oomKills = (path: string, count: number) => put(path, { 'memory.events': `oom 9\noom_kill ${count}\n` })
  const run = (name: string) => put(scope(name), { 'cgroup.events': 'populated 1\nfrozen 0\n' })
  const end = (name: string) => rmSync(join(parent, scope(name)), { recursive: true })
  return { parent, put, slice, scope, oomKills, run, end }
}

test('a scope is started by root with its limits, no swap and its slice', () => {
  const { parent } = makeTree()
  const scopes = new Scopes(parent, { ...system, options: ['-p', 'OOMPolicy=continue'] })
  assert.deepEqual(scopes.make('ins_1', 'builds', limits), [
    '/usr/bin/systemd-run',
    '--scope',
    '--quiet',
    '--collect',
    '-p',
    'OOMPolicy=continue',
    '--unit=botberth-x-builds-ins_1.scope',
    '--slice=botberth-x-builds.slice',
    '-p',
    'MemoryMax=1000000',
    '-p',
    'MemorySwapMax=0',
    '-p',
    'CPUQuota=50%',
    '-p',
    'TasksMax=30',
    '--',
  ])
})

test("a user's manager is known to systemd-run only", () => {
  const { parent } = makeTree()
  const argv = new Scopes(parent, { ...system, runtimeDir: '/run/user/7' }).make('ins_1', 'bots', limits)
  assert.deepEqual(argv.slice(0, 5), [
    '/usr/bin/env',
    'XDG_RUNTIME_DIR=/run/user/7',
    '/usr/bin/systemd-run',
    '--user',
    '--scope',
  ])
  assert.deepEqual(argv.slice(-4), ['--', '/usr/bin/env', '-u', 'XDG_RUNTIME_DIR'])
})

test('a scope that runs gets new limits, and more commands enter it', () => {
  const { parent, run, scope } = makeTree()
  const systemctl = join(parent, 'systemctl')
  writeFileSync(systemctl, `#!/bin/sh\necho "$XDG_RUNTIME_DIR" "$@" >>${parent}/calls\n`)
  chmodSync(systemctl, 0o755)
  run('ins_1')
  const scopes = new Scopes(parent, { ...system, systemctl, runtimeDir: '/run/user/7' })
  const argv = scopes.make('ins_1', 'bots', limits)
  assert.deepEqual(argv.slice(3), ['botberth-enter', '1', join(parent, scope('ins_1'))])
  assert.equal(
    readFileSync(join(parent, 'calls'), 'utf8'),
    '/run/user/7 --user set-property --runtime botberth-x-bots-ins_1.scope ' +
      'MemoryMax=1000000 MemorySwapMax=0 CPUQuota=50% TasksMax=30\n',
  )
})

test('new limits that systemd refuses are an error in its words', () => {
  const { parent, run } = makeTree()
  const systemctl = join(parent, 'systemctl')
  writeFileSync(systemctl, '#!/bin/sh\necho "Access denied" >&2\nexit 1\n')
  chmodSync(systemctl, 0o755)
  run('ins_1')
  assert.throws(() => new Scopes(parent, { ...system, systemctl }).make('ins_1', 'bots', limits), /Access denied/)
})

test('scopes are listed by their names, killed by their folders, and gone when systemd has removed them', () => {
  const { parent, put, slice, scope, run, end } = makeTree()
  const scopes = new Scopes(parent, system)
  assert.deepEqual(scopes.list('bots'), [])
  put(`${slice}/another.service`, {})
  put(scope('ins_1'), { 'cgroup.kill': '' })
  run('ins_1')
  assert.deepEqual(scopes.list('bots'), ['ins_1'])
  assert.deepEqual(scopes.list('builds'), [])
  scopes.kill('ins_1', 'bots')
  assert.equal(readFileSync(join(parent, scope('ins_1'), 'cgroup.kill'), 'utf8'), '1')
  assert.equal(scopes.remove('ins_1', 'bots'), false)
  end('ins_1')
  assert.equal(scopes.remove('ins_1', 'bots'), true)
  assert.deepEqual(scopes.list('bots'), [])
})

test('a kill for want of memory is known after the scope is gone, and is put down to no other', () => {
  const { parent, slice, scope, oomKills, run, end } = makeTree()
  oomKills(slice, 7) // of the past
  const scopes = new Scopes(parent, system)
  for (const name of ['lives', 'bomb', 'calm']) run(name)
  oomKills(scope('lives'), 2)
  assert.equal(scopes.oomKills('lives', 'bots'), 2)
  oomKills(slice, 7 + 2 + 1)
  for (const name of ['bomb', 'calm']) end(name)
  assert.equal(scopes.oomKills('bomb', 'bots'), 1)
  assert.equal(scopes.oomKills('bomb', 'bots'), 1)
  assert.equal(scopes.oomKills('calm', 'bots'), 0)
  end('lives')
  assert.equal(scopes.remove('lives', 'bots'), true)
  assert.equal(scopes.oomKills('calm', 'bots'), 0)
  oomKills(slice, 1) // made anew
  assert.equal(scopes.oomKills('calm', 'bots'), 0)
  oomKills(slice, 2)
  assert.equal(scopes.oomKills('calm', 'bots'), 1)
})

test('kills of before the server started are not put down to a scope that it finds', () => {
  const { parent, slice, scope, oomKills, run } = makeTree()
  run('found')
  oomKills(scope('found'), 1)
  oomKills(slice, 5)
  const scopes = new Scopes(parent, system)
  assert.equal(scopes.oomKills('found', 'bots'), 1)
  assert.equal(scopes.oomKills('gone', 'bots'), 0)
})
