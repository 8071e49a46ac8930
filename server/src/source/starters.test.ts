import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { memoryProject } from '../../test/memory-project.ts'
import { toArgv } from './command-line.ts'
import { languages } from './languages.ts'
import { makePlan } from './plan.ts'
import { starterFiles } from './starters.ts'

const wishes = { platform: 'linux-x64', nodeVersion: '24.21.0' }

function planFor(id: string, isNamed: boolean) {
  return makePlan(memoryProject(starterFiles(id)), isNamed ? { ...wishes, language: id } : wishes)
}

for (const { id, name } of languages) {
  test(`the empty project in ${name} has a plan without a download`, () => {
    const plan = planFor(id, true)
    assert.equal(plan.language, id)
    // The SDK of .NET restores a project even if it has no dependencies.
    if (id !== 'csharp') assert.equal(plan.install, undefined)
    assert.notEqual(plan.start, '')
    assert(Object.values(starterFiles(id)).some((text) => text.includes('Hello from Botberth.')))
  })
}

test('an unknown or unnamed language gets JavaScript', () => {
  assert.deepEqual(Object.keys(starterFiles(undefined)), ['index.js'])
  assert.deepEqual(Object.keys(starterFiles('cobol')), ['index.js'])
  assert.deepEqual(Object.keys(starterFiles('__proto__')), ['index.js'])
})

test('the language of an empty project is found from its files', () => {
  for (const { id } of languages.filter(({ id }) => id !== 'deno' && id !== 'bun')) {
    assert.equal(planFor(id, false).language, id)
  }
})

for (const [id, probe] of [
  ['javascript', process.execPath],
  ['typescript', process.execPath],
  ['python', 'python3'],
  ['java', 'java'],
] as const) {
  const isThere = spawnSync(probe, ['--version'], { timeout: 20_000 }).status === 0
  test(`the empty project in ${id} says hello and ends on SIGTERM`, { skip: !isThere && `no ${probe}` }, async () => {
    const folder = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'starter-'))
    for (const [path, text] of Object.entries(starterFiles(id))) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const [program = '', ...args] = toArgv(planFor(id, true).start)
    const bot = spawn(program === 'node' ? process.execPath : program, args, { cwd: folder })
    try {
      assert.match(await firstLine(bot), /^Hello from Botberth\./)
      const ended = once(bot, 'exit')
      bot.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
    } finally {
      bot.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

async function firstLine(bot: ChildProcess): Promise<string> {
  assert(bot.stdout && bot.stderr)
  bot.stderr.pipe(process.stderr)
  const [chunk] = (await once(bot.stdout, 'data', { signal: AbortSignal.timeout(20_000) })) as [Buffer]
  return chunk.toString()
}
