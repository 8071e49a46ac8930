import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Botberth, BotberthError, ConnectionError } from '@botberth/sdk'
import type { Command } from 'commander'
import { openBrowser } from '../browser.ts'
import type { Context } from '../context.ts'
import { CliError, exit, reportOf } from '../exit.ts'
import { formatTime } from '../format.ts'
import type { Act } from '../program.ts'
import type { Settings } from '../settings.ts'

type ApiKey = Awaited<ReturnType<Botberth['apiKeys']['list']>>[number]

export function registerAccount(program: Command, act: Act): void {
  program
    .command('login')
    .description('sign in: approve this terminal in the dashboard, or give a key with --api-key-stdin')
    .option('--name <name>', 'what the key is called in the dashboard; after this machine unless given')
    .action(act(login))
  program.command('logout').description('revoke the key of this terminal and forget it').action(act(logout))
  program.command('whoami').description('who you are, on which server and with which key').action(act(whoAmI))

  const keys = program.command('keys').description('your API keys')
  keys.command('list').description('all of your keys, without what is secret').action(act(listKeys))
  keys.command('create <name>').description('make a key; it is printed this once').action(act(createKey))
  keys.command('revoke <id>').description('end a key at once').option('--yes', 'do not ask').action(act(revokeKey))
}

async function login(context: Context, { name }: { name?: string }): Promise<void> {
  const { url, out } = context
  const { apiKeyStdin } = context.options
  const key =
    (apiKeyStdin ? await context.key() : await pair(context, name ?? context.text('keyName', { host: hostname() }))) ??
    ''
  const client = context.makeClient(key)
  const me = await client.me.get({ signal: context.signal })
  const { keys, paired } = forget(context.settings.read(), url)
  const id = apiKeyStdin ? undefined : (await findKey(client, key, context.signal))?.id
  context.settings.write({
    url,
    keys: { ...keys, [url]: key },
    paired: { ...paired, ...(id !== undefined && { [url]: id }) },
  })
  out.result({ url, user: me }, context.text('signedIn', { url, name: me.name }))
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
  openBrowser(context, pairing.verificationUrl)
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
    // It may be back before the code expires.
    if (error instanceof ConnectionError) return undefined
    throw error
  }
}

function forget({ keys, paired = {}, ...settings }: Settings, url: string): Settings {
  const { [url]: _key, ...otherKeys } = keys
  const { [url]: _id, ...otherIds } = paired
  return { ...settings, keys: otherKeys, paired: otherIds }
}

/** Of those with these last letters the newest: the one that was made a moment ago, or is the only one. */
async function findKey(client: Botberth, key: string, signal: AbortSignal): Promise<ApiKey | undefined> {
  return (await client.apiKeys.list({ signal })).find(({ last4 }) => key.endsWith(last4))
}

async function logout(context: Context): Promise<number> {
  const { url, out } = context
  const settings = context.settings.read()
  const key = settings.keys[url]
  if (key === undefined) {
    out.result({ url, signedOut: false }, context.text('notSignedIn'))
    return exit.ok
  }
  // First of all: a server that is gone for good must not keep the key here.
  context.settings.write(forget(settings, url))
  const id = settings.paired?.[url]
  const failure = id === undefined ? undefined : await tryRevoke(context.makeClient(key), id, context.signal)
  const revoked = id !== undefined && failure === undefined
  out.result({ url, signedOut: true, revoked }, context.text('signedOut', { url }))
  if (failure === undefined) return exit.ok
  const { message, exitCode } = reportOf(failure, context.text)
  out.progress(context.text('notRevoked', { message }))
  return exitCode
}

/** Why it could not be done; undefined: the key is no more. */
async function tryRevoke(client: Botberth, id: string, signal: AbortSignal): Promise<unknown> {
  try {
    await client.apiKeys.revoke(id, { signal })
    return undefined
  } catch (error) {
    const isGone = error instanceof BotberthError && (error.status === 401 || error.status === 404)
    return isGone ? undefined : error
  }
}

async function whoAmI(context: Context): Promise<void> {
  const { url, out, signal } = context
  const client = await context.client()
  const me = await client.me.get({ signal })
  const { id, name } = (await findKey(client, (await context.key()) ?? '', signal)) ?? {}
  const values = { name: me.name, role: me.role, url, key: name ?? '-' }
  out.result({ url, user: me, key: { id, name } }, context.text('whoami', values))
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
  const heads = ['headId', 'headName', 'headKey', 'headCreated', 'headLastUsed'] as const
  context.list(keys, { heads, rows, none: context.text('noKeys') })
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
