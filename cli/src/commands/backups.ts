import { createHash } from 'node:crypto'
import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup, Botberth } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { formatBytes, formatTime } from '../format.ts'
import { seconds } from '../numbers.ts'
import type { Act } from '../program.ts'

const pollMs = 500

export function registerBackups(program: Command, act: Act): void {
  const backups = program.command('backups').description('copies of a bot: its files and variables')
  backups.command('list [bot]').description('the backups of a bot, newest first').action(act(list))
  const waiting = (command: Command) =>
    command
      .option('--wait', 'until it is done')
      .option('--timeout <seconds>', 'how long to wait at most', seconds, 1_800)
  waiting(backups.command('create [bot]').description('back up a bot while it runs')).action(act(create))
  waiting(backups.command('restore <backup> [bot]').description('bring a bot back to what it was in a backup'))
    .option('--yes', 'do not ask')
    .action(act(restore))
  backups
    .command('download <backup> [bot]')
    .description('the archive of a backup, a .tar.zst')
    .option('-o, --output <file>', 'where to; BACKUP.tar.zst in this folder otherwise')
    .option('--force', 'replace the file if there is one')
    .action(act(download))
  backups
    .command('link <backup> [bot]')
    .description('a link to the archive of a backup, for 15 minutes and whoever has it')
    .action(act(link))
  backups
    .command('delete <backup> [bot]')
    .description('delete a backup for good')
    .option('--yes', 'do not ask')
    .action(act(remove))
  backups.command('lock <backup> [bot]').description('keep a backup from being deleted and pruned').action(act(lock))
  backups.command('unlock <backup> [bot]').description('let a backup be deleted and pruned again').action(act(unlock))
}

async function list(context: Context, _options: object, name?: string): Promise<void> {
  const { text } = context
  const client = await context.client()
  const bot = await context.bot(client, name)
  const found = await client.backups.list(bot.id, { signal: context.signal })
  const rows = found.map((backup) => [
    backup.id,
    backup.error ? `${backup.status}: ${backup.error.code}` : backup.status,
    backup.sizeBytes === null ? '-' : formatBytes(backup.sizeBytes),
    [...(backup.scheduled ? [text('daily')] : []), ...(backup.locked ? [text('locked')] : [])].join(', ') || '-',
    backup.lastRestore?.status ?? '-',
    formatTime(backup.createdAt),
  ])
  const heads = ['headId', 'headStatus', 'headSize', 'headKind', 'headRestore', 'headCreated'] as const
  context.list(found, { heads, rows, none: text('noBackups') })
}

interface WaitOptions {
  readonly wait?: boolean
  readonly timeout: number
}

async function create(context: Context, options: WaitOptions, name?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const { signal, out } = context
  const made = await client.backups.create(bot.id, { signal })
  if (!options.wait) return out.result(made, context.text('backingUp', { id: made.id }))
  const ended = await follow(context, options, {
    read: () => client.backups.get(bot.id, made.id, { signal }),
    isOver: ({ status }) => status !== 'running',
  })
  if (ended.status === 'failed') throw failed(context, 'backupFailed', ended.error)
  out.result(ended, context.text('backedUp', { id: ended.id, size: formatBytes(ended.sizeBytes ?? 0) }))
}

async function restore(
  context: Context,
  { yes, ...options }: WaitOptions & { yes?: boolean },
  id = '',
  name?: string,
): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name, { isExact: yes })
  const { signal, out } = context
  await context.confirm(bot.name, yes)
  const asked = await client.backups.restore(bot.id, id, { signal })
  if (!options.wait) return out.result(asked, context.text('restoring', { id }))
  const ended = await follow(context, options, {
    read: () => client.backups.get(bot.id, id, { signal }),
    isOver: ({ lastRestore }) => lastRestore?.status !== 'running',
  })
  if (ended.lastRestore?.status !== 'completed')
    throw failed(context, 'restoreFailed', ended.lastRestore?.error ?? null)
  out.result(ended, context.text('restored', { id }))
}

function failed(context: Context, text: 'backupFailed' | 'restoreFailed', error: Backup['error']): CliError {
  const message = context.text(text, { message: error?.message ?? '-' })
  return new CliError(error?.code ?? 'failed', message, { exitCode: exit.failed })
}

async function follow(
  context: Context,
  { timeout }: WaitOptions,
  { read, isOver }: { read: () => Promise<Backup>; isOver: (backup: Backup) => boolean },
): Promise<Backup> {
  const deadline = Date.now() + timeout * 1_000
  for (;;) {
    const backup = await read()
    if (isOver(backup)) return backup
    if (Date.now() > deadline)
      throw new CliError('timeout', context.text('backupTimedOut', { seconds: timeout }), { exitCode: exit.failed })
    await sleep(pollMs, undefined, { signal: context.signal })
  }
}

async function download(
  context: Context,
  { output, force }: { output?: string; force?: boolean },
  id = '',
  name?: string,
): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const file = output ?? `${id}.tar.zst`
  const path = resolve(context.io.cwd, file)
  if (existsSync(path) && !force)
    throw new CliError('file_exists', context.text('fileExists', { file }), { exitCode: exit.usage })
  const backup = await client.backups.get(bot.id, id, { signal: context.signal })
  const draft = `${path}.part`
  try {
    const checksum = await fetchTo(draft, await client.backups.download(bot.id, id, { signal: context.signal }))
    if (checksum !== backup.checksum)
      throw new CliError('checksum_mismatch', context.text('checksumWrong'), { exitCode: exit.failed })
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
  const size = formatBytes(backup.sizeBytes ?? 0)
  context.out.result({ file, checksum: backup.checksum }, context.text('downloaded', { size, file }))
}

/** Returns the SHA-256 of what was written. */
async function fetchTo(file: string, bytes: Awaited<ReturnType<Botberth['backups']['download']>>): Promise<string> {
  const hash = createHash('sha256')
  const measure = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  // Others need not read it: it has the bot's files.
  await pipeline(Readable.from(bytes), measure, createWriteStream(file, { mode: 0o600 }))
  return hash.digest('hex')
}

async function link(context: Context, _options: object, id = '', name?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const made = await client.backups.link(bot.id, id, { signal: context.signal })
  context.out.result(made, made.url)
}

async function remove(context: Context, { yes }: { yes?: boolean }, id = '', name?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name, { isExact: yes })
  await context.confirm(id, yes)
  const answer = await client.backups.delete(bot.id, id, { signal: context.signal })
  context.out.result(answer, context.text('deleted', { name: id }))
}

async function lock(context: Context, _options: object, id = '', name?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const backup = await client.backups.lock(bot.id, id, { signal: context.signal })
  context.out.result(backup, context.text('backupLocked', { id }))
}

async function unlock(context: Context, _options: object, id = '', name?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const backup = await client.backups.unlock(bot.id, id, { signal: context.signal })
  context.out.result(backup, context.text('backupUnlocked', { id }))
}
