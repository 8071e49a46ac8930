import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { RunError, type RunOptions, run } from './run.ts'

const node = (script: string, options: Partial<RunOptions> = {}) =>
  run([process.execPath, '-e', script], { env: {}, timeoutMs: 20_000, ...options })

const failureOf = async (promise: Promise<unknown>): Promise<RunError> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert(error instanceof RunError, String(error))
  return error
}

test('both outputs come back as they are, and line by line', async () => {
  const lines: string[] = []
  const { stdout, stderr, durationMs } = await node(
    'process.stdout.write("a\\r\\n\\nb\\u00e9"); process.stderr.write("c\\n")',
    { onLine: (line, stream) => lines.push(`${stream} ${line}`) },
  )
  assert.equal(stdout, 'a\r\n\nbé')
  assert.equal(stderr, 'c\n')
  assert(durationMs > 0)
  assert.deepEqual(lines.toSorted(), ['stderr c', 'stdout ', 'stdout a', 'stdout bé'])
})

test('the child sees exactly the environment that it is given, no input and the arguments as they are', async () => {
  const { stdout } = await run([process.execPath, '-e', script, '$(id)', '`id`', '; id', '*', ''], {
    env: { ONLY: 'this' },
    timeoutMs: 20_000,
  })
  assert.deepEqual(JSON.parse(stdout), [{ ONLY: 'this' }, '', ['$(id)', '`id`', '; id', '*', '']])
})

const script =
  'console.log(JSON.stringify([process.env, require("fs").readFileSync(0, "utf8"), process.argv.slice(1)]))'

test('a failure says what ran, how it ended, how long it took and its last lines', async () => {
  const error = await failureOf(node('for (let i = 0; i < 30; i++) console.log(i); process.exit(3)'))
  assert.equal(error.reason, 'exit')
  assert.equal(error.exitCode, 3)
  assert.equal(error.signal, null)
  assert.equal(error.argv[0], process.execPath)
  assert.deepEqual(
    error.lines,
    Array.from({ length: 20 }, (_, i) => String(i + 10)),
  )
  assert.match(error.message, /ended with exit code 3 after \d+ ms\n10\n/)
})

test('an end by a signal is told', async () => {
  const error = await failureOf(node('process.kill(process.pid, "SIGTERM")'))
  assert.deepEqual([error.reason, error.exitCode, error.signal], ['exit', null, 'SIGTERM'])
})

test('a program that does not exist is missing; a folder that does not exist is another matter', async () => {
  const env = { PATH: '/usr/bin:/bin' }
  assert.equal((await failureOf(run(['no-such-program-x'], { env, timeoutMs: 1_000 }))).reason, 'missing')
  assert.equal((await failureOf(run(['/etc/passwd'], { env, timeoutMs: 1_000 }))).reason, 'missing')
  await assert.rejects(
    run(['ls'], { env, timeoutMs: 1_000, cwd: '/no/such/folder' }),
    /ls could not be started: ENOENT/,
  )
})

test('on time-out the whole process group is gone, children that ignore signals included', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-run-'))
  const file = join(folder, 'pid')
  try {
    const error = await failureOf(
      run(['sh', '-c', `(trap "" TERM INT HUP; sleep 300) & echo $! > ${file}; wait`], {
        env: { PATH: '/usr/bin:/bin' },
        timeoutMs: 300,
      }),
    )
    assert.equal(error.reason, 'timeout')
    assert.equal(error.signal, 'SIGKILL')
    assert(error.durationMs < 5_000)
    assert.equal(isAlive(Number(readFileSync(file, 'utf8'))), false)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** A zombie that nobody waits for yet is dead all the same. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

test('an abort ends the program, before or while it runs', async () => {
  const controller = new AbortController()
  const script = "console.log('up'); setInterval(() => {}, 1000)"
  const running = failureOf(node(script, { signal: controller.signal, onLine: () => controller.abort() }))
  assert.equal((await running).reason, 'aborted')
  assert.equal((await failureOf(node('', { signal: controller.signal }))).reason, 'aborted')
})

test('a child that outlives its parent and holds the output open does not hold us up', async () => {
  const { stdout } = await run(['sh', '-c', 'sleep 60 & echo done'], {
    env: { PATH: '/usr/bin:/bin' },
    timeoutMs: 20_000,
  })
  assert.equal(stdout, 'done\n')
})

test('what is kept of a flood is its end, and a line without end comes in pieces', async () => {
  let pieces = 0
  let longest = 0
  const { stdout } = await node(
    'for (let i = 0; i < 64; i++) process.stdout.write("x".repeat(65536)); console.log("end")',
    {
      onLine: (line) => {
        pieces++
        longest = Math.max(longest, line.length)
      },
    },
  )
  assert.equal(stdout.length, 65_536)
  assert(stdout.endsWith('xend\n'))
  assert.equal(longest, 8_192)
  assert.equal(pieces, 64 * 8 + 1)
})

test('secrets stand nowhere, however the output is cut', async () => {
  const secret = 'hunter2hunter2'
  const lines: string[] = []
  const error = await failureOf(
    node(
      `process.stdout.write("x".repeat(8185) + "${secret}" + "y".repeat(9000) + "\\n${secret}\\n"); process.exit(1)`,
      {
        masks: [secret, 'hunter2', ''],
        onLine: (line) => lines.push(line),
      },
    ),
  )
  assert.equal(lines.join('').includes('hunter2'), false)
  assert.equal(lines.at(-1), '***')
  assert.equal(JSON.stringify({ ...error, message: error.message }).includes('hunter2'), false)
  assert.match(error.argv.join(' '), /\*\*\*/)
  await assert.rejects(node(`${secret}\0`, { masks: [secret] }), (reason: Error) => !reason.message.includes('hunter2'))
})

test('an error of the one who listens ends the program and is passed on', async () => {
  const promise = node('console.log(1); setInterval(() => {}, 1000)', {
    onLine: () => {
      throw new Error('no more')
    },
  })
  await assert.rejects(promise, /^Error: no more$/)
})

test('a secret is read by the child, or a child of it, and is in no command line or variable', async () => {
  const { stdout } = await run(['sh', '-c', 'sh -c "cat <&3"; cat <&3; env'], {
    env: { PATH: process.env['PATH'] ?? '' },
    timeoutMs: 20_000,
    secretInput: 'between us\n',
  })
  assert.equal(stdout.split('between us').length, 2)
})

test('a child that does not read its secret does no harm', async () => {
  await run(['true'], {
    env: { PATH: process.env['PATH'] ?? '' },
    timeoutMs: 20_000,
    secretInput: 'x'.repeat(1_000_000),
  })
})
