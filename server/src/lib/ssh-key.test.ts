import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSshKey } from './ssh-key.ts'

test('OpenSSH reads the private key and finds the public one in it', () => {
  const { privateKey, publicKey } = makeSshKey('a comment')
  assert.match(publicKey, /^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\S{44} a comment$/)
  const folder = mkdtempSync(join(tmpdir(), 'botberth-key-'))
  writeFileSync(join(folder, 'key'), privateKey, { mode: 0o600 })
  const { stdout, stderr, error } = spawnSync('ssh-keygen', ['-y', '-f', join(folder, 'key')])
  rmSync(folder, { recursive: true })
  // A machine without OpenSSH has no use for such keys either.
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return
  assert.equal(stdout.toString().trim(), publicKey, stderr.toString())
})
