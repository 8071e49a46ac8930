import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { App } from '../context.ts'
import { AppError } from '../lib/app-error.ts'
import { makeSshKey } from '../lib/ssh-key.ts'
import { changeDeployKey } from './queries.ts'

interface DeployKey {
  readonly privateKey: string
  readonly publicKey: string
  /** Lines of a known_hosts file, pinned at the first visit. */
  readonly knownHosts: string
}

interface Holder {
  readonly id: string
  readonly deploy_key: Buffer | null
}

const purpose = 'deploy-key'

function openDeployKey({ secrets }: App, { deploy_key }: Holder): DeployKey | undefined {
  const text = deploy_key && secrets.open(deploy_key, purpose)
  if (text === undefined) throw new Error('the deploy key cannot be read: SECRET_KEY is another one than before')
  return text === null ? undefined : (JSON.parse(text) as DeployKey)
}

/** The bot's own; made if it has none. */
export async function ensureDeployKey(app: App, bot: Holder): Promise<DeployKey> {
  const known = openDeployKey(app, bot)
  if (known) return known
  const made = { ...makeSshKey(`botberth ${bot.id}`), knownHosts: '' }
  const sealed = app.secrets.seal(JSON.stringify(made), purpose)
  if (await changeDeployKey(app.pool.db, bot.id, { from: null, to: sealed })) return made
  const row = await app.pool.db
    .selectFrom('bots')
    .select(['id', 'deploy_key'])
    .where('id', '=', bot.id)
    .executeTakeFirst()
  const other = row && openDeployKey(app, row)
  if (!other) throw new AppError('not_found')
  return other
}

/** Files for ssh while something is fetched; host keys that were met for the first time are kept. */
export async function withSshFiles<T>(
  app: App,
  bot: Holder,
  use: (files: { privateKeyFile?: string; knownHostsFile: string }) => Promise<T>,
): Promise<T> {
  const key = openDeployKey(app, bot)
  return withFolder(async (folder) => {
    const [privateKeyFile, knownHostsFile] = [join(folder, 'key'), join(folder, 'known_hosts')]
    if (key) await writeFile(privateKeyFile, key.privateKey, { mode: 0o600 })
    await writeFile(knownHostsFile, key?.knownHosts ?? '', { mode: 0o600 })
    const result = await use({ ...(key && { privateKeyFile }), knownHostsFile })
    const knownHosts = await readFile(knownHostsFile, 'utf8')
    if (key && knownHosts !== key.knownHosts) {
      const to = app.secrets.seal(JSON.stringify({ ...key, knownHosts }), purpose)
      await changeDeployKey(app.pool.db, bot.id, { from: bot.deploy_key, to })
    }
    return result
  })
}

async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'botberth-ssh-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
