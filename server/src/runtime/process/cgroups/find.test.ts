import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, globSync, readFileSync, rmdirSync } from 'node:fs'
import { after, test } from 'node:test'
import { cgroupsBehave } from './conformance.ts'
import { findCgroups } from './find.ts'
import { findHierarchies } from './mounts.ts'

const tag = `test${process.pid}`
const found = findCgroups(tag)
const isRoot = process.getuid?.() === 0

after(() => {
  const folders = globSync(`/sys/fs/cgroup/{,*/}botberth-${tag}{,/bots,/builds}`)
  for (const folder of folders.toSorted().toReversed()) rmdirSync(folder)
})

if (found.cgroups) cgroupsBehave(found)

test('a machine offers groups, or says why not and what mends it', (t) => {
  if (!found.cgroups) t.diagnostic(`NOTHING OF CONTROL GROUPS IS TESTED: ${found.problem}`)
  assert(found.cgroups || found.problem)
  assert.equal(found.problem === undefined, found.remedy === undefined)
  for (const limit of found.cgroups?.lacks ?? []) t.diagnostic(`THE LIMIT ON ${limit} IS NOT TESTED: ${found.problem}`)
  assert(found.problem !== undefined || found.cgroups?.lacks.length === 0)
  assert(!found.cgroups?.list('builds').includes('probe'), 'the trial was left behind')
})

test('root has all limits where the hierarchies of cgroup v1 can be written', (t) => {
  const { v1 } = findHierarchies(
    readFileSync('/proc/self/mountinfo', 'utf8'),
    readFileSync('/proc/self/cgroup', 'utf8'),
  )
  const tops = ['memory', 'cpu', 'pids'].map((controller) => v1.get(controller)?.top)
  if (!isRoot || !tops.every(canWrite)) return t.diagnostic('NOT TESTED: they cannot')
  assert.deepEqual([found.problem, found.cgroups?.kind, found.cgroups?.lacks], [undefined, 'cgroup v1', []])
})

function canWrite(folder: string | undefined): boolean {
  if (folder === undefined) return false
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false // whatever the reason, it is what was asked
  }
}

test('a tag that could be a path is refused', () => {
  assert.throws(() => findCgroups('../x'), /not a name/)
})

test('an ordinary user who may not make groups is told what mends it', (t) => {
  if (!isRoot || found.cgroups?.kind === 'systemd scopes')
    return t.diagnostic('only where there is no systemd, as root')
  const module = `${import.meta.dirname}/find.ts`
  const script = `import(${JSON.stringify(module)}).then((m) => console.log(JSON.stringify(m.findCgroups('x'))))`
  const nobody = { uid: 65534, gid: 65534 }
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { ...nobody, encoding: 'utf8' })
  assert.match(
    stdout,
    /^\{"problem":"nobody may not make groups in \/sys[^"]*","remedy":"run the server as root"\}$/m,
    stderr,
  )
  assert(!existsSync('/sys/fs/cgroup/memory/botberth-x'))
})

test('controllers are found wherever they are mounted', () => {
  const mountinfo = [
    '29 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
    '34 33 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct',
    '37 33 0:34 / /odd\\040place/memory rw,relatime - cgroup cgroup rw,memory',
    '41 33 0:38 /docker/abc /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids',
    '42 33 0:39 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd',
    '43 33 0:40 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate',
  ].join('\n')
  const own = '5:cpu,cpuacct:/a\n4:memory:/b/c:d\n3:pids:/docker/abc/x\n1:name=systemd:/s\n0::/u\n'
  const { v1, v2 } = findHierarchies(mountinfo, own)
  const cpu = { top: '/sys/fs/cgroup/cpu,cpuacct', own: '/sys/fs/cgroup/cpu,cpuacct/a' }
  assert.deepEqual(Object.fromEntries(v1), {
    cpu,
    cpuacct: cpu,
    memory: { top: '/odd place/memory', own: '/odd place/memory/b/c:d' },
    pids: { top: '/sys/fs/cgroup/pids', own: '/sys/fs/cgroup/pids/x' },
    'name=systemd': { top: '/sys/fs/cgroup/systemd', own: '/sys/fs/cgroup/systemd/s' },
  })
  assert.deepEqual(v2, { top: '/sys/fs/cgroup/unified', own: '/sys/fs/cgroup/unified/u' })
})

test('in a container that shows only its own part of the hierarchy, our group is what is mounted', () => {
  const mountinfo = '37 33 0:34 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory'
  const { v1, v2 } = findHierarchies(mountinfo, '4:memory:/\n0::/\n')
  assert.deepEqual(v1.get('memory'), { top: '/sys/fs/cgroup/memory', own: '/sys/fs/cgroup/memory' })
  assert.equal(v2, undefined)
})

test('builds weigh less than bots', (t) => {
  if (found.cgroups?.kind !== 'cgroup v1') return t.diagnostic('only where there is cgroup v1')
  const [file = ''] = globSync(`/sys/fs/cgroup/cpu*/botberth-${tag}/builds/cpu.shares`)
  assert.equal(Number(readFileSync(file, 'utf8')), 102)
  assert.equal(Number(readFileSync(file.replace('/builds/', '/bots/'), 'utf8')), 1024)
})
