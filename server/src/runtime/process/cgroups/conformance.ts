import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../../../test/until.ts'
import type { GroupLimits, GroupStats, Limit, Part } from './cgroups.ts'
import type { FoundCgroups } from './find.ts'

const mb = 1024 * 1024
const limits: GroupLimits = { memoryBytes: 128 * mb, cpus: 2, processes: 64 }
const killedMs = 20_000 // less than what hops from pid to pid lives
// The bombs are bounded by other means as well, so that a limit that fails costs a test and not the machine.
const memoryBomb = 'ulimit -v 1000000; exec tail /dev/zero'
const asNobody = process.getuid?.() === 0 ? 'setpriv --reuid 65534 --regid 65534 --clear-groups' : ''
const forkBomb = `exec prlimit --nproc=2000 ${asNobody} perl -e '
  $SIG{CHLD} = "IGNORE";
  while (time < $^T + 30) { fork }'`
// One process that is another one all the time: who reads its pid, comes too late.
const hopper = `exec perl -e 'while (time < $^T + 30) { exit if fork }'`

/** What all kinds of groups have to do, on a machine where `found` was found. */
export function cgroupsBehave(found: FoundCgroups): void {
  const { cgroups } = found
  assert(cgroups, `NOTHING OF CONTROL GROUPS IS TESTED: ${found.problem}`)
  const limitTest = (limit: Limit, title: string, body: () => Promise<void>) => {
    if (!cgroups.lacks.includes(limit)) test(title, body)
  }

  describe(`groups by ${cgroups.kind}`, () => {
    const made: { name: string; part: Part }[] = []
    const children: ChildProcess[] = []
    after(async () => {
      for (const { name, part } of made) await end(name, part)
      for (const child of children) child.kill('SIGKILL')
    })

    const newName = (part: Part = 'bots'): string => {
      const name = `ins_${process.pid}_${made.length}`
      made.push({ name, part })
      return name
    }
    const end = async (name: string, part: Part = 'bots') => {
      cgroups.kill(name, part)
      await until(`the end of ${name}`, () => cgroups.remove(name, part))
    }
    /** Runs a shell script in the group. */
    const start = (name: string, script: string, change: Partial<GroupLimits> & { part?: Part } = {}) => {
      const { part = 'bots', ...others } = change
      const child = startCommand(cgroups.make(name, part, { ...limits, ...others }), ['/bin/sh', '-c', script])
      children.push(child.process)
      return child
    }
    const statsOf = (name: string): GroupStats => {
      const stats = cgroups.stats(name, 'bots')
      assert(stats, `there is no group ${name}`)
      return stats
    }

    test('a command runs in the group with the pid, the descriptors and the variables that it was given', async () => {
      const name = newName()
      const child = start(name, 'echo "pid $$"; echo "fd" >&3; env; exec sleep 60')
      await child.says('VARIABLE=a b')
      assert.equal(child.process.pid, Number(/pid (\d+)/.exec(child.text())?.[1]))
      await child.says('fd')
      assert.doesNotMatch(child.text(), /XDG_RUNTIME_DIR/)
      assert.deepEqual(
        cgroups.list('bots').filter((other) => other === name),
        [name],
      )
      assert(!cgroups.list('builds').includes(name))
    })

    test('a command keeps its arguments as they are', async () => {
      const prefix = cgroups.make(newName(), 'bots', limits)
      const child = startCommand(prefix, ['/bin/echo', '--', '$HOME ${HOME} %h', '', '*', "'"])
      assert.equal((await child.ended).code, 0)
      assert.equal(child.text(), "-- $HOME ${HOME} %h  * '\n")
    })

    test('a group that ends is gone, and nothing of it is an error', async () => {
      const name = newName()
      const child = start(name, 'echo up; exec sleep 60')
      await child.says('up')
      assert.equal(cgroups.remove(name, 'bots'), false)
      cgroups.kill(name, 'bots')
      assert.equal((await child.ended).signal, 'SIGKILL')
      await until('its removal', () => cgroups.remove(name, 'bots'))
      assert.equal(cgroups.remove(name, 'bots'), true)
      assert.equal(cgroups.stats(name, 'bots'), undefined)
      assert.equal(cgroups.oomKills(name, 'bots'), 0)
      assert(!cgroups.list('bots').includes(name))
      cgroups.kill(name, 'bots')
    })

    test('names that could be paths or options are refused', () => {
      for (const name of ['', '.', '..', '../x', 'a/b', '-x', 'a b', 'a\n', 'a.scope', 'ä', 'x'.repeat(101)]) {
        for (const part of ['bots', 'builds'] as const) {
          assert.throws(() => cgroups.make(name, part, limits), /not a name/)
          assert.throws(() => cgroups.stats(name, part), /not a name/)
          assert.throws(() => cgroups.oomKills(name, part), /not a name/)
          assert.throws(() => cgroups.kill(name, part), /not a name/)
          assert.throws(() => cgroups.remove(name, part), /not a name/)
        }
      }
    })

    test('one group is a bot and a build of the same name: neither sees the other', async () => {
      const name = newName()
      made.push({ name, part: 'builds' })
      const bot = start(name, 'echo up; exec sleep 60')
      const build = start(name, 'echo up; exec sleep 60', { part: 'builds' })
      await Promise.all([bot.says('up'), build.says('up')])
      await end(name, 'builds')
      assert.equal((await build.ended).signal, 'SIGKILL')
      assert.equal(bot.process.exitCode ?? bot.process.signalCode, null)
    })

    test('killing ends what has left its session and its parent', async () => {
      const name = newName()
      const script = `(setsid sh -c 'trap "" TERM HUP; echo stray; sleep 300; sleep 300' &) ; setsid sleep 300 & wait`
      const child = start(name, script)
      await child.says('stray')
      cgroups.kill(name, 'bots')
      // The strays hold its output open.
      await child.ended
      await until('its removal', () => cgroups.remove(name, 'bots'), killedMs)
    })

    limitTest('memory', 'a memory bomb is killed and counted, and its parent in the group lives', async () => {
      const name = newName()
      const child = start(name, `(${memoryBomb}); echo "code $?"; exec sleep 60`)
      await child.says('code 137')
      assert.equal(cgroups.oomKills(name, 'bots'), 1)
      assert.equal(child.process.exitCode, null)
    })

    limitTest('memory', 'a memory bomb that is alone in its group is counted after its end', async () => {
      const [name, other] = [newName(), newName()]
      const neighbour = start(other, 'echo up; exec sleep 60')
      await neighbour.says('up')
      const child = start(name, memoryBomb)
      assert.equal((await child.ended).signal, 'SIGKILL')
      assert.equal(cgroups.oomKills(name, 'bots'), 1)
      assert.equal(cgroups.oomKills(name, 'bots'), 1)
      await end(other)
      assert.equal(cgroups.oomKills(other, 'bots'), 0)
    })

    limitTest('memory', 'files in memory are charged to the group that writes them', async () => {
      const name = newName()
      const folder = mkdtempSync('/dev/shm/botberth-')
      try {
        const child = start(name, `dd if=/dev/zero of=${folder}/file bs=1M count=400; echo "code $?"; exec sleep 60`)
        await child.says('code')
        assert(!child.text().includes('code 0'), child.text())
        assert(statSync(join(folder, 'file')).size <= limits.memoryBytes)
        assert(cgroups.oomKills(name, 'bots') >= 1)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })

    limitTest('memory', 'statistics show what is allocated, and no files that the kernel only keeps', async () => {
      const name = newName()
      const folder = mkdtempSync('/var/tmp/botberth-')
      try {
        const child = start(name, `dd if=/dev/zero of=${folder}/file bs=1M count=50 2>&1; echo written; ${holdMb(50)}`)
        await child.says('written')
        const memory = () => statsOf(name).memoryBytes
        await until('50 MB', () => memory() > 50 * mb)
        await sleep(200)
        assert(memory() < 75 * mb, `${memory()} bytes`)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })

    limitTest('memory', 'limits that are made again hold at once for what runs', async () => {
      const name = newName()
      const child = start(name, `echo up; sleep 1; ${holdMb(100)}`, { memoryBytes: 64 * mb })
      await child.says('up')
      cgroups.make(name, 'bots', { ...limits, memoryBytes: 256 * mb })
      await until('100 MB', () => statsOf(name).memoryBytes > 100 * mb)
      cgroups.make(name, 'bots', { ...limits, memoryBytes: 160 * mb })
      const second = startCommand(cgroups.make(name, 'bots', { ...limits, memoryBytes: 160 * mb }), [
        '/bin/sleep',
        '60',
      ])
      children.push(second.process)
      assert.equal(cgroups.oomKills(name, 'bots'), 0)
      const more = start(name, `(${memoryBomb}) & wait`, { memoryBytes: 160 * mb })
      await until('a kill', () => cgroups.oomKills(name, 'bots') > 0)
      assert.equal(second.process.exitCode, null)
      more.process.kill()
    })

    limitTest('processes', 'a fork bomb stops at the limit, and killing ends it', async () => {
      const name = newName()
      const processes = 200
      start(name, `(${forkBomb}) & exec sleep 60`, { processes })
      const hasAll = () => (cgroups.stats(name, 'bots')?.processes ?? 0) > processes * 0.9 // none before it has entered
      await until('as many as there may be', hasAll)
      for (let round = 0; round < 50; round++) {
        assert(statsOf(name).processes <= processes)
        await sleep(2)
      }
      assert.equal(spawnSync('/bin/sh', ['-c', ':']).status, 0)
      const startedAt = performance.now()
      cgroups.kill(name, 'bots')
      await until('its end', () => cgroups.remove(name, 'bots'), killedMs)
      assert(performance.now() - startedAt < killedMs)
    })

    limitTest('processes', 'killing ends processes that change their pids all the time', async () => {
      const name = newName()
      const child = start(name, `for n in 1 2 3 4 5 6; do (${hopper}) & done; echo up; exec sleep 60`)
      await child.says('up')
      await sleep(100)
      assert(statsOf(name).processes > 1, 'they have died out')
      cgroups.kill(name, 'bots')
      await until('its end', () => cgroups.remove(name, 'bots'), killedMs)
    })

    limitTest('cpu', 'two busy processes get the processor time of their limit', async () => {
      const name = newName()
      const child = start(name, 'while :; do :; done & echo up; while :; do :; done', { cpus: 0.5 })
      await child.says('up')
      // Others may need the machine just now: it has to get its share at some time, and never more.
      const limited = await until('its share', async () => {
        const share = await measureCpus(() => statsOf(name))
        assert(share < 0.7, `${share} of 0.5`)
        return share > 0.3 && share
      })
      cgroups.make(name, 'bots', { ...limits, cpus: 64 })
      const isMore = async () => (await measureCpus(() => statsOf(name))) > limited * 1.15
      await until(`more than the ${limited} of a limited one`, isMore)
      assert.equal(cgroups.setCpus(name, 'bots', 0.25), true)
      const least = await measureCpus(() => statsOf(name))
      assert(least < 0.4, `${least} of 0.25`)
      assert.equal(cgroups.setCpus(newName(), 'bots', 1), false)
    })

    if (cgroups.kind !== 'systemd scopes') {
      test('a command that cannot enter is not run, and says so in one line', async () => {
        const name = newName()
        const prefix = cgroups.make(name, 'bots', limits)
        assert(cgroups.remove(name, 'bots'))
        const child = startCommand(prefix, ['/bin/echo', 'run'])
        assert.equal((await child.ended).code, 125)
        assert.match(child.text(), /^botberth: the process could not enter the group \/\S+\n$/)
      })
    }
  })
}

/** Holds so much memory: tail keeps a last line that has no end yet. */
function holdMb(count: number): string {
  return `{ head -c ${count * mb} /dev/zero; exec sleep 60; } | tail`
}

async function measureCpus(read: () => GroupStats): Promise<number> {
  const [startedAt, before] = [performance.now(), read().cpuMs]
  await sleep(1_500)
  const used = read().cpuMs - before
  return used / (performance.now() - startedAt)
}

/** With all of its output, that of descriptor 3 too. */
function startCommand(prefix: readonly string[], argv: readonly string[]) {
  const [command = '', ...args] = [...prefix, ...argv]
  const child = spawn(command, args, {
    env: { VARIABLE: 'a b', PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of child.stdio.slice(1)) stream?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  return {
    process: child,
    ended,
    text: () => text,
    says: (part: string) => until(`"${part}" in ${JSON.stringify(text)}`, () => text.includes(part)),
  }
}
