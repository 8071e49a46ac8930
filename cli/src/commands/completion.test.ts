import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { call, makeFolder } from '../../test/call.ts'

const names = ['x $(touch pwned)', '*', '`id`;', "it's", '봇', '-n', 'plain-name']
const bash = spawnSync('bash', ['--version']).status === 0

test('bash inserts names so that nothing in them is run', { skip: !bash && 'there is no bash' }, async () => {
  const folder = makeFolder()
  const { stdout: script } = await call(['completion', 'bash'])
  writeFileSync(join(folder, 'script'), script)
  writeFileSync(join(folder, 'names'), `${names.join('\n')}\n`)
  writeFileSync(join(folder, 'botberth'), `#!/bin/sh\ncat ${folder}/names\n`)
  chmodSync(join(folder, 'botberth'), 0o755)
  // As the shell reads the line once somebody presses Enter.
  const line = `complete() { :; }; source script; COMP_WORDS=(botberth logs ''); COMP_CWORD=2; _botberth
    eval "given=(\${COMPREPLY[*]})"; printf '%s\\n' "\${given[@]}"`
  const env = { PATH: `${folder}:${process.env['PATH']}`, LC_ALL: 'C.UTF-8' }
  const { stdout } = spawnSync('bash', ['-c', line], { cwd: folder, env, encoding: 'utf8' })
  assert.deepEqual(stdout.trimEnd().split('\n'), names)
  assert(!existsSync(join(folder, 'pwned')), readdirSync(folder).join())
})

test('PowerShell gets names in quotes', async () => {
  const { stdout } = await call(['completion', 'powershell'])
  assert.match(stdout, /EscapeSingleQuotedStringContent\(\$_\)/)
  assert.match(stdout, /-notmatch '\^\[\\w\.-\]\+\$'/)
})
