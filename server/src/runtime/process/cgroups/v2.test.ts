import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { cgroupsBehave } from './conformance.ts'
import { findHierarchies } from './mounts.ts'
import { CgroupsV2 } from './v2.ts'

const limits = { memoryBytes: 1_000_000, cpus: 0.5, processes: 30 }
const groupFiles = {
  'cgroup.kill': '',
  'cpu.max': '',
  'memory.max': '',
  'memory.oom.group': '0\n',
  'memory.swap.max': '',
  'pids.max': '',
}

/** A stand-in for the kernel's files, which are there as soon as a folder is. Writing over a longer text leaves its rest. */
function makeTree(controllers = 'cpuset cpu io memory hugetlb pids\n') {
  const top = mkdtempSync(join(tmpdir(), 'botberth-v2-'))
  after(() => rmSync(top, { recursive: true }))
  const put = (path: string, files: Record<string, string>) => {
    mkdirSync(join(top, path), { recursive: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(top, path, name), text)
  }
  put('.', { 'cgroup.controllers': controllers, 'cgroup.subtree_control': '' })
  put('botberth-x', { 'cgroup.subtree_control': '' })
  for (const part of ['bots', 'builds']) {
    put(`botberth-x/${part}`, { 'cgroup.subtree_control': '', 'cpu.weight': '' })
    put(`botberth-x/${part}/ins_1`, groupFiles)
  }
  const read = (path: string) => readFileSync(join(top, path), 'utf8')
  return { top, put, read, cgroups: new CgroupsV2(join(top, 'botberth-x')) }
}

test('a group has its limits, no swap, and is entered by one folder', () => {
  const { top, read, cgroups } = makeTree()
  const argv = cgroups.make('ins_1', 'bots', limits)
  assert.deepEqual(argv.slice(0, 2), ['/bin/sh', '-c'])
  assert.deepEqual(argv.slice(3), ['botberth-enter', '1', `${top}/botberth-x/bots/ins_1`])
  const group = 'botberth-x/bots/ins_1'
  assert.equal(read(`${group}/memory.max`), '1000000')
  assert.equal(read(`${group}/memory.swap.max`), '0')
  assert.equal(read(`${group}/memory.oom.group`), '0\n')
  assert.equal(read(`${group}/cpu.max`), '125000 250000')
  assert.equal(read(`${group}/pids.max`), '30')
  assert.deepEqual(cgroups.lacks, [])
})

test('every group above offers the controllers, and only those that it does not yet offer', () => {
  const { read, put, cgroups } = makeTree()
  put('botberth-x', { 'cgroup.subtree_control': 'cpu memory pids\n' })
  cgroups.make('ins_1', 'bots', limits)
  assert.equal(read('cgroup.subtree_control'), '+memory +cpu +pids')
  assert.equal(read('botberth-x/cgroup.subtree_control'), 'cpu memory pids\n')
  assert.equal(read('botberth-x/bots/cgroup.subtree_control'), '+memory +cpu +pids')
})

test('builds together have a low weight, bots the usual one', () => {
  const { read, cgroups } = makeTree()
  cgroups.make('ins_1', 'bots', limits)
  cgroups.make('ins_1', 'builds', limits)
  assert.equal(read('botberth-x/builds/cpu.weight'), '10')
  assert.equal(read('botberth-x/bots/cpu.weight'), '')
})

test('what the kernel does not offer is said, and left alone', () => {
  const { top, read, cgroups } = makeTree('cpuset cpu pids\n')
  rmSync(join(top, 'botberth-x/bots/ins_1/memory.max'))
  rmSync(join(top, 'botberth-x/bots/ins_1/memory.swap.max'))
  assert.deepEqual(cgroups.lacks, ['memory'])
  cgroups.make('ins_1', 'bots', limits)
  assert.equal(read('cgroup.subtree_control'), '+cpu +pids')
  assert(!existsSync(join(top, 'botberth-x/bots/ins_1/memory.max')))
})

test('a kernel that does not count swap has the other limits', () => {
  const { top, read, cgroups } = makeTree()
  rmSync(join(top, 'botberth-x/bots/ins_1/memory.swap.max'))
  cgroups.make('ins_1', 'bots', limits)
  assert.equal(read('botberth-x/bots/ins_1/memory.max'), '1000000')
})

test('statistics and kills are read from the files of the group', () => {
  const { put, cgroups } = makeTree()
  put('botberth-x/bots/ins_1', {
    'cpu.stat': 'usage_usec 2500\nuser_usec 2000\nsystem_usec 500\n',
    'memory.current': '9000\n',
    'memory.stat': 'anon 5000\nfile 3000\nactive_file 1000\ninactive_file 2000\nworkingset_refault_file 7\n',
    'memory.events': 'low 0\nhigh 0\nmax 12\noom 5\noom_kill 3\noom_group_kill 0\n',
    'pids.current': '11\n',
    'pids.events': 'max 4\n',
  })
  assert.deepEqual(cgroups.stats('ins_1', 'bots'), { cpuMs: 2.5, memoryBytes: 7000, processes: 11 })
  assert.equal(cgroups.oomKills('ins_1', 'bots'), 3)
  assert.equal(cgroups.stats('ins_2', 'bots'), undefined)
  assert.equal(cgroups.refusedForks('ins_1', 'bots'), 4)
  assert.equal(cgroups.oomKills('ins_2', 'bots'), 0)
  assert.equal(cgroups.refusedForks('ins_2', 'bots'), 0)
  assert.deepEqual(cgroups.list('bots'), ['ins_1'])
})

test('killing lets the group have all the processor time that dying takes', () => {
  const { read, cgroups } = makeTree()
  cgroups.kill('ins_1', 'bots')
  assert.equal(read('botberth-x/bots/ins_1/cgroup.kill'), '1')
  assert.equal(read('botberth-x/bots/ins_1/cpu.max'), 'max')
  assert.equal(read('botberth-x/bots/ins_1/pids.max'), '')
})

// Where v1 has the controllers, v2 still has groups, with no limits: entering, killing and removing are tried for real.
const { v2 } = findHierarchies(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'))
const root = v2 && join(v2.top, `botberth-v2test${process.pid}`)
if (root !== undefined && process.getuid?.() === 0 && !existsSync('/run/systemd/system')) {
  const cgroups = new CgroupsV2(root)
  cgroupsBehave({ cgroups })
  after(() => {
    for (const folder of [join(root, 'bots'), join(root, 'builds'), root]) rmdirSync(folder)
  })
} else {
  test('real groups of cgroup v2', (t) =>
    t.diagnostic('NOT TESTED: only as root, where cgroup v2 is mounted without systemd'))
}
