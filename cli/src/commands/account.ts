import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Botberth, BotberthError } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { formatTime } from '../format.ts'
import { table } from '../io.ts'
import type { Act } from '../program.ts'

export function registerAccount(program: Command, act: Act): void {
  program
    .command('login')
    .description('sign in: approve this terminal in the dashboard, or give a key with --api-key-stdin')
    .option('--name <name>', 'what the key is called in the dashboard', `Command line on ${hostname()}`)
    .action(act(login))
  program.command('logout').description('revoke the key of this terminal and forget it').action(act(logout))
  program.command('whoami').description('who you are, and where').action(act(whoAmI))

  const keys = program.command('keys').description('API keys')
  keys.command('list', { isDefault: true }).description('your keys').action(act(listKeys))
  keys.command('create <name>').description('make a key; it is printed this once').action(act(createKey))
  keys.command('revoke <id>').description('end a key at once').option('--yes', 'do not ask').action(act(revokeKey))
}

async function login(context: Context, { name }: { name: string }): Promise<void> {
  const { url, out } = context
  const key = context.options.apiKeyStdin ? await context.key() : await pair(context, name)
  const me = await context.makeClient(key ?? '').me.get({ signal: context.signal })
  const settings = context.settings.read()
  context.settings.write({ url, keys: { ...settings.keys, [url]: key ?? '' } })
  out.result({ url, user: me }, context.text('signedIn', { url, name: me.name }))
  out.next(context.text('nextInit'))
}

async function pair(context: Context, name: string): Promise<string> {
  const { out, signal } = context
  if (!out.isInteractive) {
    const message = context.text('needsFlag', { flag: '--api-key-stdin' })
    throw new CliError('login_needed', message, { exitCode: exit.loginNeeded, hint: context.text('loginHint') })
  }
  const client = context.makeClient()
  const pairing = await client.auth.startPairing({ name: name.slice(0, 128) }, { signal })
  out.progress(context.text('pairingOpen', { url: pairing.verificationUrl, code: pairing.userCode }))
  out.progress(context.text('pairingWaiting'))
  while (Date.now() < Date.parse(pairing.expiresAt)) {
    await sleep(pairing.interval * 1_000, undefined, { signal })
    const key = await claim(client, pairing.deviceCode, signal)
    if (key !== undefined) return key
  }
  throw new CliError('expired', context.text('pairingExpired'), { exitCode: exit.failed })
}

/** Undefined: nobody has decided yet. */
async function claim(client: Botberth, deviceCode: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await client.auth.claimPairing({ deviceCode }, { signal })).key
  } catch (error) {
    if (error instanceof BotberthError && error.code === 'authorization_pending') return undefined
    throw error
  }
}

async function logout(context: Context): Promise<void> {
  const { url, out, signal } = context
  const { keys, ...settings } = context.settings.read()
  const { [url]: key, ...others } = keys
  if (key === undefined) {
    out.result({ url, signedOut: false }, context.text('notSignedIn'))
    return
  }
  const client = context.makeClient(key)
  try {
    const mine = (await client.apiKeys.list({ signal })).find(({ last4 }) => key.endsWith(last4))
    if (mine) await client.apiKeys.revoke(mine.id, { signal })
  } catch (error) {
    // It was revoked elsewhere: all the same to us.
    if (!(error instanceof BotberthError && error.status === 401)) throw error
  }
  context.settings.write({ ...settings, keys: others })
  out.result({ url, signedOut: true }, context.text('signedOut', { url }))
}

async function whoAmI(context: Context): Promise<void> {
  const { url, out, signal } = context
  const client = await context.client()
  const me = await client.me.get({ signal })
  out.result({ url, user: me }, `${me.name} (${me.role}) at ${url}`)
}

async function listKeys(context: Context): Promise<void> {
  const client = await context.client()
  const keys = await client.apiKeys.list({ signal: context.signal })
  const rows = keys.map(({ id, name, last4, createdAt, lastUsedAt }) => [
    id,
    name,
    `…${last4}`,
    formatTime(createdAt),
    formatTime(lastUsedAt),
  ])
  const text = rows.length > 0 ? table(['ID', 'NAME', 'KEY', 'CREATED', 'LAST USED'], rows) : context.text('noKeys')
  context.out.result(keys, text)
}

async function createKey(context: Context, _options: object, name = ''): Promise<void> {
  const client = await context.client()
  const made = await client.apiKeys.create({ name }, { signal: context.signal })
  // Alone on stdout, so that it can be piped to where it belongs.
  context.out.result(made, made.key)
  context.out.progress(context.text('keyOnce'))
}

async function revokeKey(context: Context, { yes }: { yes?: boolean }, id = ''): Promise<void> {
  const client = await context.client()
  await context.confirm(id, yes)
  const answer = await client.apiKeys.revoke(id, { signal: context.signal })
  context.out.result(answer, context.text('keyRevoked', { id }))
}
