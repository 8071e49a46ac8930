import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDiskFull } from './disk-full.ts'
import { RunError } from './run.ts'
import { StepError } from './step-error.ts'

test('a full disk is known by the kernel’s code, by what a program said, and through whatever was made of it', () => {
  const failed = (line: string) =>
    new RunError({ argv: ['x'], reason: 'exit', exitCode: 1, signal: null, durationMs: 1, lines: ['first', line] })
  const full = [
    Object.assign(new Error('write'), { code: 'ENOSPC' }),
    failed('cp: error writing: No space left on device'),
    failed('npm error code ENOSPC'),
    failed('error: unable to write file src/large.bin'),
    new StepError('fetch_failed', 'x', { cause: failed('fatal: write error: No space left on device') }),
  ]
  for (const error of full) assert(isDiskFull(error), error.message)
  const others = [
    Object.assign(new Error('read'), { code: 'EIO' }),
    failed('no'),
    new Error('ENOSPC'),
    'ENOSPC',
    undefined,
  ]
  for (const error of others) assert(!isDiskFull(error), String(error))
})
