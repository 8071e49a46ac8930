import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSandboxApp } from '../src/sandbox/codehost/identity.ts'
import { noteSecret } from './secrets.ts'

/** A key takes up to a second, and no test needs one of its own: all processes of a run share the first one made. */
export async function shareSandboxApp(dataDir: string): Promise<void> {
  const folder = join(dataDir, 'sandbox', 'codehost')
  const file = join(folder, 'app.json')
  if (existsSync(file)) return
  const shared = join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'sandbox-app.json')
  if (existsSync(shared)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(file, readFileSync(shared), { mode: 0o600 })
  }
  const { clientSecret, webhookSecret, privateKey } = await readSandboxApp(folder, new Date())
  noteSecret(clientSecret, webhookSecret, privateKey)
  if (existsSync(shared)) return
  writeFileSync(`${shared}-${process.pid}`, readFileSync(file), { mode: 0o600 })
  renameSync(`${shared}-${process.pid}`, shared)
}
