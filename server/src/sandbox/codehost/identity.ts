import { generateKeyPair, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The app as the code host knows it: what its manifest's conversion would have answered. */
export interface SandboxApp {
  readonly appId: number
  readonly slug: string
  readonly clientId: string
  readonly clientSecret: string
  readonly webhookSecret: string
  /** PEM, PKCS #8. */
  readonly privateKey: string
  readonly publicKey: string
  readonly createdAt: string
}

const reading = new Map<string, Promise<SandboxApp>>()

/**
 * Made when it is first asked for, because a key takes a while, and kept with mode 0600. Both sides ask for it, and have
 * to get the same one.
 */
export function readSandboxApp(folder: string, now: Date): Promise<SandboxApp> {
  const known = reading.get(folder) ?? readOrMake(folder, now)
  reading.set(folder, known)
  known.catch(() => reading.delete(folder))
  return known
}

async function readOrMake(folder: string, now: Date): Promise<SandboxApp> {
  const file = join(folder, 'app.json')
  if (!existsSync(file)) await writeWhole(folder, file, JSON.stringify(await makeApp(now), null, 2))
  return JSON.parse(await readFile(file, 'utf8')) as SandboxApp
}

async function makeApp(now: Date): Promise<SandboxApp> {
  const keys = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return {
    appId: 1_000_001,
    slug: 'botberth-sandbox',
    clientId: `Iv23li${randomBytes(7).toString('hex')}`,
    clientSecret: randomBytes(20).toString('hex'),
    webhookSecret: randomBytes(20).toString('hex'),
    ...keys,
    createdAt: now.toISOString(),
  }
}

/** Never half a file, even when the power goes. */
async function writeWhole(folder: string, file: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = await open(`${file}.new`, 'w', 0o600)
  try {
    await draft.writeFile(text)
    await draft.sync()
  } finally {
    await draft.close()
  }
  await rename(`${file}.new`, file)
}
