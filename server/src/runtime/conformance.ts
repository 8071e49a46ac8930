import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../test/until.ts'
import { newId } from '../lib/ids.ts'
import { RunError } from '../lib/run.ts'
import type { DependencyCache, Exit, Instance, InstanceSpec, OutputStream, Runtime, Task } from './runtime.ts'

type Closable = Runtime & { close(): void | Promise<void> }

const limits = { memoryMb: 256, cpus: 1, diskMb: 256 }
// For what has to end before: by itself, or because it was asked to.
const graceMs = 600_000
/** Ignores whatever asks it to leave, and shows that it lives. */
const stray = `trap '' TERM HUP INT; while :; do echo beat; sleep 0.02; done`
const strayBot = `
(sh stray.sh &)
setsid sh stray.sh &
nohup sh stray.sh &
setsid sh -c 'sh stray.sh & exit' &
`

/**
 * What every runtime has to do, seen through its interface alone. `makeRuntime` opens one on a data directory, which
 * another that was closed may have used before. `skip`: why it cannot be tried on this machine.
 */
export function testRuntime(name: string, makeRuntime: (dataDir: string) => Closable, skip?: string): void {
  describe(name, { skip: skip ?? false }, () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'botberth-runtime-'))
    let runtime: Closable
    before(() => {
      runtime = makeRuntime(dataDir)
    })
    after(async () => {
      for (const botId of new Set((await runtime.list()).map((instance) => instance.botId))) await runtime.remove(botId)
      await runtime.close()
      rmSync(dataDir, { recursive: true, force: true })
    })

    /** A release with these files, ready to be started. */
    const makeRelease = async (botId: string, files: Record<string, string>): Promise<string> => {
      const releaseId = newId('dep', new Date())
      const workspace = await runtime.prepare({ id: botId, limits }, releaseId)
      put(workspace.folder, files)
      await workspace.keep()
      return releaseId
    }
    const specOf = (fields: Partial<InstanceSpec> & { botId: string; releaseId: string }): InstanceSpec => ({
      id: newId('ins', new Date()),
      argv: ['sh', 'bot.sh'],
      releaseEnv: {},
      env: {},
      limits,
      ...fields,
    })
    const startScript = async (script: string, fields: Partial<InstanceSpec> = {}): Promise<InstanceSpec> => {
      const botId = fields.botId ?? newId('bot', new Date())
      const releaseId = await makeRelease(botId, { 'bot.sh': script, 'stray.sh': stray })
      const spec = specOf({ ...fields, botId, releaseId })
      await runtime.start(spec)
      return spec
    }
    const find = async (id: string): Promise<Instance | undefined> =>
      (await runtime.list()).find((instance) => instance.id === id)
    const exitOf = (id: string): Promise<Exit> => until(`the end of ${id}`, async () => (await find(id))?.exit)
    const read = async (id: string, stream: OutputStream = 'stdout', from = 0): Promise<string> => {
      const chunks: Buffer[] = []
      for (let offset = from; ; ) {
        const chunk = await runtime.readOutput(id, stream, offset)
        if (chunk.length === 0) return Buffer.concat(chunks).toString()
        chunks.push(chunk)
        offset += chunk.length
      }
    }
    const readUntil = (id: string, part: string, stream: OutputStream = 'stdout') =>
      until(`"${part}" from ${id}`, async () => {
        const text = await read(id, stream)
        return text.includes(part) && text
      })
    /** What a script prints that runs to its end. */
    const printed = async (script: string, fields: Partial<InstanceSpec> = {}): Promise<string> => {
      const { id } = await startScript(script, fields)
      await exitOf(id)
      return read(id)
    }
    const assertQuiet = async (id: string) => {
      const { length } = await read(id)
      await sleep(80)
      assert.equal((await read(id)).length, length, 'something of it still writes')
    }

    describe('a build', { concurrency: 4 }, () => {
      const exec = async (argv: readonly string[], task: Partial<Task> = {}) => {
        const workspace = await runtime.prepare({ id: newId('bot', new Date()), limits }, newId('dep', new Date()))
        put(workspace.folder, { 'stray.sh': 'while :; do echo x >>beats; sleep 0.02; done' })
        const lines: string[] = []
        const onLine = (line: string, stream: OutputStream) => lines.push(`${stream} ${line}`)
        const signal = new AbortController().signal
        const error = await workspace
          .exec({ argv, releaseEnv: {}, env: {}, timeoutMs: graceMs, signal, onLine, ...task })
          .then(
            () => undefined,
            (reason: unknown) => reason,
          )
        const beats = join(workspace.folder, 'beats')
        const size = () => (existsSync(beats) ? readFileSync(beats).length : 0)
        const atEnd = size()
        await sleep(80)
        assert.equal(size(), atEnd, 'something of it still runs')
        await workspace.discard()
        assert(!existsSync(workspace.folder))
        return { lines, error, atEnd }
      }
      const strays = `(sh stray.sh &) ; setsid sh stray.sh & nohup sh stray.sh & sleep 0.1; echo ready; `

      test('gives the lines of both streams as they come', async () => {
        const { lines, error } = await exec(['sh', '-c', 'echo out; echo "$A" >&2; printf end'], { env: { A: 'é  b' } })
        assert.equal(error, undefined)
        assert.deepEqual(lines.toSorted(), ['stderr é  b', 'stdout end', 'stdout out'])
      })

      test('that fails says with which code', async () => {
        const { error } = await exec(['sh', '-c', 'echo why; exit 7'])
        assert(error instanceof RunError)
        assert.deepEqual([error.reason, error.exitCode, error.lines], ['exit', 7, ['why']])
      })

      test('that takes too long is ended with all of its processes', async () => {
        // On a slow machine its processes may not have begun by then: it is given more until they have.
        for (let timeoutMs = 250, isBegun = false; !isBegun; timeoutMs *= 4) {
          const { error, atEnd } = await exec(['sh', '-c', `${strays} sleep 300`], { timeoutMs })
          assert(error instanceof RunError && error.reason === 'timeout', String(error))
          isBegun = atEnd > 0
        }
      })

      test('that is aborted is ended with all of its processes', async () => {
        const controller = new AbortController()
        const onLine = (line: string) => line === 'ready' && controller.abort()
        const { error, atEnd } = await exec(['sh', '-c', `${strays} sleep 300`], { signal: controller.signal, onLine })
        assert(error instanceof RunError && error.reason === 'aborted', String(error))
        assert(atEnd > 0)
      })

      test('leaves no process behind when it ends by itself', async () => {
        const { error, atEnd } = await exec(['sh', '-c', `${strays} exit 0`])
        assert.equal(error, undefined)
        assert(atEnd > 0)
      })
    })

    describe('a bot', { concurrency: 4 }, () => {
      test('writes two streams that can be read from any offset, while it runs and after it', async () => {
        const { id } = await startScript('echo one; echo zwölf >&2; echo two; exec sleep 300')
        assert.equal(await readUntil(id, 'two'), 'one\ntwo\n')
        assert.equal(await readUntil(id, 'zwölf', 'stderr'), 'zwölf\n')
        assert.equal(await read(id, 'stdout', 4), 'two\n')
        assert.equal(await read(id, 'stdout', 8), '')
        assert.equal(await read(id, 'stdout', 1000), '')
        await runtime.stop(id, 0)
        assert.equal(await read(id, 'stdout', 4), 'two\n')
      })

      test('that listens to SIGTERM ends as it likes', async () => {
        const { id } = await startScript(`trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`)
        await readUntil(id, 'up')
        await runtime.stop(id, graceMs)
        assert.deepEqual(pick((await find(id))?.exit), [0, null])
        assert.equal(await read(id), 'up\nbye\n')
      })

      test('that does not listen is killed when its time is up', async () => {
        const { id } = await startScript(`trap '' TERM; echo up; while :; do sleep 0.05; done`)
        await readUntil(id, 'up')
        const startedAt = Date.now()
        await runtime.stop(id, 300)
        assert(Date.now() - startedAt >= 290)
        assert.deepEqual(pick((await find(id))?.exit), [137, 'SIGKILL'])
      })

      test('that is stopped right after its start has its time too, and leaves nothing', async () => {
        for (let round = 0; round < 3; round++) {
          const { id } = await startScript(`trap 'exit 0' TERM; while :; do echo beat; sleep 0.02; done`)
          await runtime.stop(id, graceMs)
          // Before it could say that it listens, or after it.
          assert([0, 143].includes((await find(id))?.exit?.code ?? -1), JSON.stringify(await find(id)))
          await assertQuiet(id)
        }
      })

      test('takes along what it left behind when it is stopped', async () => {
        for (const graceMs of [0, 200]) {
          const { id } = await startScript(`${strayBot} while :; do sleep 0.05; done`)
          await readUntil(id, 'beat\nbeat\nbeat\nbeat\nbeat')
          await runtime.stop(id, graceMs)
          await assertQuiet(id)
        }
      })

      test('takes along what it left behind when it ends by itself', async () => {
        const { id } = await startScript(`${strayBot} sleep 0.3; exit 3`)
        assert.deepEqual(pick(await exitOf(id)), [3, null])
        assert.match(await read(id), /beat/)
        await assertQuiet(id)
      })

      test('ends with its own exit code or signal', async () => {
        const ends = [
          ['exit 0', 0, null],
          ['exit 7', 7, null],
          ['exit 255', 255, null],
          ['kill -KILL $$', 137, 'SIGKILL'],
          ['kill -TERM $$', 143, 'SIGTERM'],
          ['kill -SEGV $$', 139, 'SIGSEGV'],
        ] as const
        const specs = await Promise.all(ends.map(([script]) => startScript(script)))
        for (const [index, [, code, signal]] of ends.entries()) {
          const exit = await exitOf(specs[index]?.id ?? '')
          assert.deepEqual([...pick(exit), exit.oomKilled], [code, signal, false])
          assert(Math.abs(exit.at.getTime() - Date.now()) < graceMs)
        }
      })

      test('whose program does not exist has ended, and its output says why', async () => {
        const { id } = await startScript('', { argv: ['no-such-program-x', 'a'] })
        const { code } = await exitOf(id)
        assert(code !== null && code > 0, String(code))
        assert.match(await read(id, 'stderr'), /no-such-program-x/)
      })

      test('with more variables than the system can hand over has ended, and its output says why', async () => {
        const many = Array.from({ length: 256 }, (_, index) => [`V${index}`, 'x'.repeat(32 * 1024)])
        const { id } = await startScript('echo up', { env: Object.fromEntries(many) as Record<string, string> })
        const { code } = await exitOf(id)
        assert(code !== null && code > 0, String(code))
        assert.notEqual(await read(id, 'stderr'), '')
      })

      test('is started once, however often and how fast that is asked for', async () => {
        const botId = newId('bot', new Date())
        const releaseId = await makeRelease(botId, { 'bot.sh': 'echo up; sleep 0.2' })
        const spec = specOf({ botId, releaseId })
        await Promise.all([runtime.start(spec), runtime.start(spec), runtime.start(spec)])
        await runtime.start(spec)
        await exitOf(spec.id)
        await runtime.start(spec)
        assert.equal(await read(spec.id), 'up\n')
        assert.equal((await runtime.list()).filter(({ id }) => id === spec.id).length, 1)
      })

      test('is told of when it ends: once to each listener, also to one that came later', async () => {
        const early = await startScript('exit 4')
        await exitOf(early.id)
        const seen: string[] = []
        const listener = ({ id, exit }: Instance) => seen.push(`${id} ${exit?.code}`)
        const unwatch = runtime.watch(listener)
        const late = await startScript('sleep 0.1; exit 5')
        await until('both', () => Promise.resolve(seen.some((line) => line.startsWith(late.id))))
        await sleep(150)
        unwatch()
        const unseen = await startScript('exit 6')
        await exitOf(unseen.id)
        const mine = seen.filter((line) => [early, late, unseen].some(({ id }) => line.startsWith(id)))
        assert.deepEqual(mine, [`${early.id} 4`, `${late.id} 5`])
      })

      test('is forgotten with its output', async () => {
        const { id } = await startScript('echo gone')
        await exitOf(id)
        await runtime.forget(id)
        assert.equal(await find(id), undefined)
        assert.equal(await read(id), '')
        assert.equal(await runtime.stats(id), undefined)
        await runtime.stop(id, 0)
      })

      test('is one of twenty that start and stop at once', async () => {
        const script = `trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done`
        const specs = await Promise.all(Array.from({ length: 20 }, () => startScript(script)))
        await Promise.all(specs.map(({ id }) => readUntil(id, 'up')))
        await Promise.all(specs.map(({ id }) => runtime.stop(id, graceMs)))
        for (const { id } of specs) assert.equal((await find(id))?.exit?.code, 0)
      })
    })

    test('bots go on while nobody looks, and are found again with all that happened meanwhile', async () => {
      const going = await startScript(`echo first; sleep 0.4; echo second; exec sleep 300`)
      const ended = await startScript('sleep 0.2; echo last; exit 9')
      const killed = await startScript('sleep 0.2; kill -KILL $$')
      const stubborn = await startScript(`trap '' TERM; echo up; while :; do sleep 0.05; done`)
      await readUntil(going.id, 'first')
      await readUntil(stubborn.id, 'up')
      const known = await runtime.list()
      await runtime.close()
      await sleep(500)
      runtime = makeRuntime(dataDir)
      const seen: string[] = []
      const unwatch = runtime.watch(({ id, exit }) => seen.push(`${id} ${exit?.code}`))
      for (const { id, botId, startedAt } of known) {
        const again = await find(id)
        assert.deepEqual([again?.botId, again?.startedAt], [botId, startedAt])
      }
      // On a slow machine they may have begun only now.
      for (const { id } of [ended, killed])
        await until('the end of one that ends by itself', async () => (await find(id))?.exit !== undefined)
      assert.deepEqual(pick((await find(ended.id))?.exit), [9, null])
      assert.deepEqual(pick((await find(killed.id))?.exit), [137, 'SIGKILL'])
      const told = () => seen.filter((line) => [ended, killed].some(({ id }) => line.startsWith(id))).toSorted()
      await until('news of both', () => Promise.resolve(told().length >= 2))
      assert.deepEqual(told(), [`${ended.id} 9`, `${killed.id} 137`].toSorted())
      assert.equal((await find(going.id))?.exit, undefined)
      await readUntil(going.id, 'second')
      assert.equal(await read(going.id, 'stdout', 6), 'second\n')
      await runtime.start(going)
      assert.equal(await read(going.id), 'first\nsecond\n')
      assert(((await runtime.stats(going.id))?.processes ?? 0) > 0)
      await runtime.stop(going.id, graceMs)
      assert.deepEqual(pick((await find(going.id))?.exit), [143, 'SIGTERM'])
      await runtime.stop(stubborn.id, 200)
      assert.deepEqual(pick((await find(stubborn.id))?.exit), [137, 'SIGKILL'])
      await until('the news', () => Promise.resolve(seen.includes(`${stubborn.id} 137`)))
      assert.equal(new Set(seen).size, seen.length)
      unwatch()
    })

    test('no line of a flood is lost while what was read is dropped', async () => {
      const lines = 200_000 // of about 100 bytes
      const { id } = await startScript(
        `awk 'BEGIN { pad = sprintf("%95s", "x"); for (i = 0; i < ${lines}; i++) print i, pad }'`,
      )
      let [offset, dropped, next, rest] = [0, 0, 0, '']
      for (let hasEnded = false; ; ) {
        const chunk = await runtime.readOutput(id, 'stdout', offset)
        if (chunk.length === 0 && hasEnded) break
        if (chunk.length === 0) hasEnded = (await find(id))?.exit !== undefined
        offset += chunk.length
        const parts = (rest + chunk.toString()).split('\n')
        rest = parts.pop() ?? ''
        for (const line of parts) if (Number.parseInt(line, 10) !== next++) assert.fail(`instead of ${next}: ${line}`)
        if (offset - dropped < 2 * 1024 * 1024) continue
        dropped = offset
        await runtime.dropOutput(id, 'stdout', offset)
      }
      assert.equal(next, lines)
      assert(offset > 20_000_000)
    })

    describe('a release', { concurrency: 4 }, () => {
      const show = 'for f in $(find . -type f | sort); do echo "$f $(cat "$f")"; done'

      test('takes the place of the one before it, and leaves what the bot wrote', async () => {
        const botId = newId('bot', new Date())
        const first = await makeRelease(botId, {
          'bot.sh': 'mkdir -p data deep; echo 1 >data/own; echo 2 >own; echo 3 >old.txt',
          'old.txt': 'old',
          'both.txt': 'a',
          'lib/old.js': 'old',
          'node_modules/a/index.js': 'a',
        })
        const second = await makeRelease(botId, { 'bot.sh': show, 'both.txt': 'b', 'data/more': 'm' })
        const one = specOf({ botId, releaseId: first })
        await runtime.start(one)
        assert.equal((await exitOf(one.id)).code, 0)
        const two = specOf({ botId, releaseId: second })
        await runtime.start(two)
        await exitOf(two.id)
        assert.deepEqual((await read(two.id)).trim().split('\n'), [
          `./bot.sh ${show}`,
          './both.txt b',
          './data/more m',
          './data/own 1',
          './own 2',
        ])
      })

      test('is put in its place whatever the bot made of its folder', async () => {
        const botId = newId('bot', new Date())
        const first = await makeRelease(botId, {
          'bot.sh': 'rm -r a b c; mkdir -p a b; echo x >b/x; echo x >c; ln -s /tmp d; mkdir -m 0 closed',
          a: '1',
          b: '1',
          'c/x': '1',
        })
        const one = specOf({ botId, releaseId: first })
        await runtime.start(one)
        assert.equal((await exitOf(one.id)).code, 0)
        const script = 'for f in a b/y c/x d/x; do echo "$f $(cat $f)"; done; test -L d || echo real'
        const second = await makeRelease(botId, { 'bot.sh': script, a: '2', 'b/y': '2', 'c/x': '2', 'd/x': '2' })
        const two = specOf({ botId, releaseId: second })
        await runtime.start(two)
        await exitOf(two.id)
        assert.equal(await read(two.id), 'a 2\nb/y 2\nc/x 2\nd/x 2\nreal\n')
      })

      test('has the dependencies that an earlier build kept, and cannot change them behind walls', async () => {
        const botId = newId('bot', new Date())
        const cache: DependencyCache = { key: newId('dep', new Date()), folder: 'node_modules', isShared: true }
        const build = async (files: Record<string, string>) => {
          const releaseId = newId('dep', new Date())
          const workspace = await runtime.prepare({ id: botId, limits }, releaseId)
          put(workspace.folder, files)
          const isFound = await workspace.useCache(cache, { isWritable: false })
          if (!isFound) {
            assert.equal(existsSync(join(workspace.folder, 'node_modules')), false)
            put(workspace.folder, { 'node_modules/m/index.js': 'module.exports = 42' })
            await workspace.fillCache(cache, { isWritable: false })
          }
          const argv = ['node', '-e', 'if (require("m") !== 42) process.exit(1)']
          const signal = new AbortController().signal
          await workspace.exec({ argv, releaseEnv: {}, env: {}, timeoutMs: graceMs, signal, onLine: () => {} })
          await workspace.keep()
          return { releaseId, isFound }
        }
        const script = 'cat node_modules/m/index.js; echo; echo x >node_modules/m/index.js || echo kept'
        // What comes with the project is not what is installed: others would get it.
        const planted = { 'bot.sh': 'exit 0', 'node_modules/m/index.js': 'planted', 'node_modules/planted': 'x' }
        assert.equal((await build(planted)).isFound, false)
        const { releaseId, isFound } = await build({
          'bot.sh': isWalled(runtime) ? script : 'cat node_modules/m/index.js',
        })
        assert.equal(isFound, true)
        await runtime.removeReleases(botId, () => Promise.resolve([releaseId]))
        const spec = specOf({ botId, releaseId })
        await runtime.start(spec)
        await exitOf(spec.id)
        assert.equal(await read(spec.id), isWalled(runtime) ? 'module.exports = 42\nkept\n' : 'module.exports = 42')
        // The next one has none, and sees none.
        const bare = specOf({ botId, releaseId: await makeRelease(botId, { 'bot.sh': 'ls' }) })
        await runtime.start(bare)
        await exitOf(bare.id)
        assert.equal(await read(bare.id), 'bot.sh\n')
      })

      test('cannot make a cache of something that is not its own', async () => {
        const secrets = mkdtempSync(join(tmpdir(), 'botberth-runtime-secret-'))
        put(secrets, { 'venv/secret': 'hidden' })
        try {
          const bot = { id: newId('bot', new Date()), limits }
          for (const [folder, link] of [
            ['node_modules', 'node_modules'],
            ['.botberth/venv', '.botberth'],
          ] as const) {
            const cache = { key: newId('dep', new Date()), folder, isShared: false }
            const workspace = await runtime.prepare(bot, newId('dep', new Date()))
            symlinkSync(secrets, join(workspace.folder, link))
            await workspace.fillCache(cache, { isWritable: false })
            assert.equal(readFileSync(join(secrets, 'venv/secret'), 'utf8'), 'hidden')
            assert.equal(await workspace.useCache(cache, { isWritable: false }), false)
            await workspace.discard()
          }
        } finally {
          rmSync(secrets, { recursive: true })
        }
      })

      test('is removed unless it is to be kept', async () => {
        const botId = newId('bot', new Date())
        const ids: string[] = []
        for (let count = 0; count < 3; count++) ids.push(await makeRelease(botId, { 'bot.sh': 'echo up' }))
        const [first = '', second = '', third = ''] = ids
        const open = await runtime.prepare({ id: botId, limits }, newId('dep', new Date()))
        await runtime.removeReleases(botId, () => Promise.resolve([first, third]))
        assert(existsSync(open.folder), 'one in the making stays')
        await open.discard()
        await assert.rejects(runtime.start(specOf({ botId, releaseId: second })))
        for (const releaseId of [first, third]) {
          const spec = specOf({ botId, releaseId })
          await runtime.start(spec)
          assert.equal((await exitOf(spec.id)).code, 0)
        }
        await runtime.removeReleases(newId('bot', new Date()), () => Promise.resolve([]))
      })
    })

    describe('the environment', { concurrency: 4 }, () => {
      const show = `node -e 'process.stdout.write(JSON.stringify(process.env))'`

      test('reaches the bot byte for byte', async () => {
        const env = {
          EMPTY: '',
          LINES: 'a\n\nb\r\n',
          QUOTES: `"'\`$(id) $HOME #\\`,
          UNICODE: 'ü 🤖 \u202e',
          SPACES: '  a  ',
          DASH: '--bind',
          BIG: 'x'.repeat(32 * 1024),
          ...Object.fromEntries(Array.from({ length: 249 }, (_, index) => [`V${index}`, `=${index}`])),
        }
        const seen = JSON.parse(await printed(show, { env })) as Record<string, string>
        for (const [key, value] of Object.entries(env)) assert.equal(seen[key], value, key)
      })

      test('has what the recipe needs, and the owner’s has the last word', async () => {
        const releaseEnv = { HERE: '{project}/x', BOTH: 'release', PATH_PREPEND: '{project}/bin' }
        const botId = newId('bot', new Date())
        const files = {
          'bot.sh': 'pwd; echo "$HERE $BOTH $PATH_PREPEND"; node -e 1 && tool',
          'bin/tool': '#!/bin/sh\necho ran',
        }
        const releaseId = newId('dep', new Date())
        const workspace = await runtime.prepare({ id: botId, limits }, releaseId)
        put(workspace.folder, files)
        const signal = new AbortController().signal
        const argv = ['chmod', '755', '{project}/bin/tool']
        await workspace.exec({ argv, releaseEnv, env: {}, timeoutMs: graceMs, signal, onLine: () => {} })
        await workspace.keep()
        const spec = specOf({ botId, releaseId, releaseEnv, env: { BOTH: 'own' } })
        await runtime.start(spec)
        await exitOf(spec.id)
        const [project, ...rest] = (await read(spec.id)).split('\n')
        assert.deepEqual(rest, [`${project}/x own `, 'ran', ''])
      })

      test('that changes loaders acts on the bot alone', async () => {
        const env = { LD_PRELOAD: '/no/such/library.so', NODE_OPTIONS: '--no-such-option' }
        const { id } = await startScript('node -e 1; echo $?', { env })
        assert.equal((await exitOf(id)).code, 0)
        assert.equal(await read(id), '9\n')
        assert.match(await read(id, 'stderr'), /no-such-option is not allowed/)
      })

      test('stands in no command line', async () => {
        const secret = `secret-${newId('key', new Date())}`
        const { id } = await startScript('echo up; exec sleep 300', { env: { TOKEN: secret } })
        await readUntil(id, 'up')
        assert.deepEqual(
          commandLines().filter((line) => line.includes(secret)),
          [],
        )
        await runtime.stop(id, 0)
      })
    })

    test('statistics count memory, processor time and processes', async () => {
      const { id } = await startScript(`sleep 300 & sleep 300 & echo up; while :; do :; done`)
      await readUntil(id, 'up')
      const first = await runtime.stats(id)
      assert(first && first.memoryBytes > 0)
      assert.equal(first.processes, 3)
      await until('processor time', async () => ((await runtime.stats(id))?.cpuMs ?? 0) >= first.cpuMs + 100)
      await runtime.stop(id, 0)
      assert.equal(await runtime.stats(id), undefined)
    })

    test('processor time of helpers that have ended counts too', async () => {
      // So much work, not so much time: others may need the machine.
      const work = 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done'
      const { id } = await startScript(`sh -c '${work}'; echo done; exec sleep 300`)
      await readUntil(id, 'done')
      assert(((await runtime.stats(id))?.cpuMs ?? 0) >= 100)
      await runtime.stop(id, 0)
    })

    test('a removed bot leaves no process and no file', async () => {
      const botId = newId('bot', new Date())
      assert.equal((await runtime.disk(botId)).usedBytes, 0)
      const script = `${strayBot} mkdir -p a/b; echo x >a/b/c; chmod 0 a/b a; ln -s / root; d=$(printf 'd%.0s' $(seq 200))
        for i in $(seq 30); do mkdir $d; cd $d; done; echo made; while :; do sleep 0.05; done`
      const { id } = await startScript(script, { botId })
      const other = await startScript('echo up; exec sleep 300')
      await readUntil(id, 'made')
      await readUntil(id, 'beat')
      assert((await runtime.disk(botId)).usedBytes > 0)
      await runtime.remove(botId)
      await runtime.remove(botId)
      assert.equal(await find(id), undefined)
      assert.equal((await runtime.disk(botId)).usedBytes, 0)
      assert.equal(await read(id), '')
      assert.deepEqual(
        commandLines().filter((line) => line.includes(id)),
        [],
      )
      assert.equal((await find(other.id))?.exit, undefined)
      await runtime.stop(other.id, 0)
    })

    test('behind walls there is nothing to see and nothing to spoil', async (t) => {
      if (!isWalled(runtime)) return t.diagnostic('it has none')
      const other = await startScript('echo mine >own; echo up; exec sleep 300')
      await readUntil(other.id, 'up')
      const outside = mkdtempSync(join(tmpdir(), 'botberth-runtime-outside-'))
      try {
        const script = `
          echo "processes $(ls /proc | grep -c '^[0-9]')"
          for path in ${dataDir} ${outside} /etc/shadow /etc/passwd /root /home /var /oldroot /proc/1/root/etc/shadow; do
            test -e $path && echo "sees $path"
          done
          for path in / /usr /etc /dev /opt /proc/sys/kernel /bot/.. ${tmpdir()}/..; do
            (echo x >$path/botberth-x) 2>/dev/null && echo "writes $path"
          done
          for path in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sysrq-trigger /proc/sys/vm/drop_caches; do
            (: >>$path) 2>/dev/null && echo "writes $path"
          done
          unshare --user true 2>/dev/null && echo 'makes user namespaces'
          for path in . /tmp /dev/shm; do
            echo x >$path/x || echo "cannot write $path"
          done
          for path in /tmp /dev/shm; do
            head -c 300000000 /dev/zero 2>/dev/null >$path/big && echo "fills $path"
          done
          echo x >/dev/null && echo end`
        const text = await printed(script)
        assert.match(text, /^processes [2-9]\nend\n$/)
        assert.equal((await find(other.id))?.exit, undefined)
      } finally {
        rmSync(outside, { recursive: true })
        await runtime.stop(other.id, 0)
      }
    })
  })
}

function isWalled({ walls }: Runtime): boolean {
  return walls.some(({ name, state }) => name === 'files' && state === 'on')
}

function put(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function pick(exit: Exit | undefined): [number | null | undefined, string | null | undefined] {
  return [exit?.code, exit?.signal]
}

/** Of all processes of this machine. */
function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')]
      } catch {
        return [] // gone meanwhile
      }
    })
}
