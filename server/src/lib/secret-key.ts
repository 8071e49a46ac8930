import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from './data-dir.ts'

/** The key of this instance: the operator's own, or one that is made once and kept with mode 0600. */
export function readSecretKey(given: string | undefined, dataDir: string): string {
  if (given !== undefined) return given
  const file = fileOf(dataDir)
  if (!existsSync(file)) writeSecretKey(dataDir, randomBytes(32).toString('base64url'))
  const key = readFileSync(file, 'utf8').trim()
  if (key.length < 32)
    throw new StartError(`${file} is damaged. Restore it from a backup: without it stored secrets cannot be read.`)
  return key
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'secret.key')
}

/** Never half a key, even when the power goes. */
export function writeSecretKey(dataDir: string, key: string): void {
  const file = fileOf(dataDir)
  const draft = openSync(`${file}.new`, 'w', 0o600)
  writeSync(draft, key)
  fsyncSync(draft)
  closeSync(draft)
  renameSync(`${file}.new`, file)
}
