import type { Bot, Botberth, Deployment, LogLines } from '@botberth/sdk'
import { type Command, Option } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { formatBytes, formatSeconds, formatTime } from '../format.ts'
import { pairs } from '../io.ts'
import { pageLimit, pageNumber, seconds } from '../numbers.ts'
import type { Act } from '../program.ts'
import { reconnecting } from '../reconnecting.ts'
import { findLink } from '../settings.ts'
import type { Packed } from '../upload.ts'

type LogLine = LogLines['data'][number]

const lastLines = 20

export function registerDeployments(program: Command, act: Act): void {
  program
    .command('deploy [bot]')
    .description('deploy: the files of this folder, or the repository of a git bot')
    .option('--wait', 'wait for the end, as it does anyway')
    .addOption(new Option('--detach', 'do not wait for the end').conflicts('wait'))
    .option('--timeout <seconds>', 'how long to wait at most', seconds, 1_800)
    .option('--no-upload', 'deploy the files that the server has')
    .option('--dry-run', 'only say what would be uploaded')
    .action(act(deploy))
  program
    .command('deployments [bot]')
    .description('what was deployed, newest first')
    .option('--page <number>', 'which page', pageNumber, 1)
    .option('--limit <number>', 'how many on a page', pageLimit, 20)
    .action(act(list))
  const deployment = program.command('deployment').description('one deployment')
  deployment.command('show <id>').description('how a deployment went').action(act(show))
  deployment
    .command('logs <id>')
    .description('what a deployment said')
    .option('-f, --follow', 'to its end')
    .action(act(logs))
  deployment.command('cancel <id>').description('stop a deployment').action(act(cancel))
  program
    .command('rollback [bot] [deployment]')
    .description('start an earlier release again, without a build; the one before the present one unless named')
    .option('--yes', 'do not ask')
    .action(act(rollBack))
}

interface DeployOptions {
  readonly detach?: boolean
  readonly timeout: number
  readonly upload: boolean
  readonly dryRun?: boolean
}

async function deploy(context: Context, options: DeployOptions, wanted?: string): Promise<number> {
  const client = await context.client()
  const bot = await context.bot(client, wanted)
  const folder = options.upload ? folderOf(context, bot) : undefined
  if (options.dryRun) return showUpload(context, folder)
  if (folder !== undefined) await upload(context, { client, bot, folder })
  const { signal } = context
  const made = await client.deployments.create({ botId: bot.id, source: 'cli' }, { signal })
  if (options.detach) {
    context.out.result(made, context.text('deploying', { id: made.id }))
    context.out.next(context.text('detached', { id: made.id }))
    return exit.ok
  }
  context.out.progress(context.text('deploying', { id: made.id }))
  const ended = await follow(context, client, made.id, options.timeout)
  return tell(context, ended)
}

/** Whose files are to be uploaded: of the folder that is linked to this bot, unless they come from a repository. */
function folderOf(context: Context, bot: Bot): string | undefined {
  if (bot.type === 'git' || bot.repo !== null) return undefined
  const found = findLink(context.io.cwd)
  if (found?.link.botId === bot.id) return found.folder
  // Old files that start again look like a deployment that worked, and an upload replaces all files: neither by guessing.
  throw new CliError('not_linked', context.text('uploadWhat', { name: bot.name }), { exitCode: exit.usage })
}

/** What makes archives is loaded by whoever makes one. */
async function pack({ text }: Context, folder: string): Promise<Packed> {
  const { packFolder } = await import('../upload.ts')
  return packFolder(folder, text)
}

async function showUpload(context: Context, folder: string | undefined): Promise<number> {
  const packed = folder === undefined ? undefined : await pack(context, folder)
  const files = packed?.files ?? []
  await packed?.remove()
  context.out.result({ files, uploaded: false }, [...files, context.text('dryRun')].join('\n'))
  return exit.ok
}

async function upload(
  context: Context,
  { client, bot, folder }: { client: Botberth; bot: Bot; folder: string },
): Promise<void> {
  context.out.progress(context.text('packing', { folder }))
  const packed = await pack(context, folder)
  try {
    const size = formatBytes(packed.bytes.size)
    context.out.progress(context.text('uploading', { files: packed.files.length, size }))
    await client.bots.uploadSource(bot.id, packed.bytes, { signal: context.signal })
  } finally {
    await packed.remove()
  }
}

/** Shows what it says and how long each step takes. */
async function follow(context: Context, client: Botberth, id: string, patience: number): Promise<Deployment> {
  const { out } = context
  const told = new Set<string>()
  const late = AbortSignal.timeout(patience * 1_000)
  const signal = AbortSignal.any([context.signal, late])
  try {
    for await (const event of client.deployments.follow(id, { signal, onConnection: reconnecting(context) })) {
      if (event.type === 'logs') for (const line of event.lines) tellLine(context, line)
      if (event.type !== 'deployment') continue
      for (const { name, status, durationMs } of event.deployment.steps) {
        if (durationMs === null || told.has(name)) continue
        told.add(name)
        out.progress(
          `${status === 'succeeded' ? '✔' : status === 'skipped' ? '-' : '✖'} ${name} ${formatSeconds(durationMs)} s`,
        )
      }
      if (event.deployment.finishedAt !== null) return event.deployment
    }
  } catch (error) {
    // Whoever leaves does not stop it.
    if (context.signal.aborted) out.progress(context.text('deployGoesOn', { id }))
    if (!late.aborted || context.signal.aborted) throw error
    throw new CliError('timeout', context.text('deployTimedOut', { seconds: patience }), { exitCode: exit.failed })
  }
  return client.deployments.get(id, { signal: context.signal })
}

function tellLine({ out }: Context, line: LogLine): void {
  if (out.isJson) out.line({ type: 'log', ...line }, '')
  else out.progress(out.style('dim', `  ${line.text}`))
}

function tell(context: Context, ended: Deployment): number {
  const { out } = context
  if (out.isJson) out.line({ type: 'deployment', deployment: ended }, '')
  if (ended.status === 'succeeded') {
    if (!out.isJson) out.result(ended, context.text('deployed', { seconds: formatSeconds(ended.durationMs ?? 0) }))
    out.next(context.text('nextLogs'))
    return exit.ok
  }
  const tail = ended.error?.lastLog.trimEnd().split('\n').slice(-lastLines).join('\n')
  if (tail) out.progress(tail)
  const message = ended.error
    ? context.text('deployFailed', { message: ended.error.message })
    : context.text('deployEnded', { status: ended.status })
  throw new CliError(ended.error?.code ?? ended.status, message, { exitCode: exit.deployFailed })
}

async function list(
  context: Context,
  { page, limit }: { page: number; limit: number },
  wanted?: string,
): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, wanted)
  const found = await client.deployments.list(bot.id, { page, limit }, { signal: context.signal })
  const rows = found.data.map((one) => [
    one.id,
    one.status,
    one.source,
    one.commitSha?.slice(0, 7) ?? '-',
    one.durationMs === null ? '-' : `${formatSeconds(one.durationMs)} s`,
    formatTime(one.createdAt),
  ])
  const heads = ['headId', 'headStatus', 'headSource', 'headCommit', 'headTook', 'headAskedFor'] as const
  context.list(found, { heads, rows, none: context.text('noDeployments') })
}

async function show(context: Context, _options: object, id = ''): Promise<void> {
  const client = await context.client()
  const { text } = context
  const one = await client.deployments.get(id, { signal: context.signal })
  const rows = [
    [text('headId'), one.id],
    [text('headStatus'), one.status],
    [text('headSource'), one.source],
    [
      text('headCommit'),
      one.commitSha === null ? '-' : `${one.commitSha.slice(0, 12)} ${one.commitMsg?.split('\n')[0] ?? ''}`,
    ],
    [text('headAskedFor'), formatTime(one.createdAt)],
    ...one.steps.map(({ name, status, durationMs }) => [name, `${status} ${formatSeconds(durationMs ?? 0)} s`]),
    ...(one.error ? [[text('headError'), `${one.error.message} (${one.error.code})`]] : []),
  ]
  context.out.result(one, pairs(rows))
}

async function logs(context: Context, { follow: isFollowing }: { follow?: boolean }, id = ''): Promise<number> {
  const client = await context.client()
  const { out, signal } = context
  if (!isFollowing) {
    const { data } = await client.deployments.logs(id, { tail: 1_000 }, { signal })
    out.result(data, data.map(({ text }) => text).join('\n'))
    return exit.ok
  }
  for await (const event of client.deployments.follow(id, { signal, onConnection: reconnecting(context) })) {
    if (event.type === 'logs') for (const line of event.lines) out.line(line, line.text)
    if (event.type === 'deployment' && event.deployment.finishedAt !== null)
      return event.deployment.status === 'succeeded' ? exit.ok : exit.deployFailed
  }
  return exit.ok
}

async function cancel(context: Context, _options: object, id = ''): Promise<void> {
  const client = await context.client()
  const one = await client.deployments.cancel(id, { signal: context.signal })
  context.out.result(one, context.text('deployEnded', { status: one.status }))
}

async function rollBack(
  context: Context,
  { yes }: { yes?: boolean },
  wanted?: string,
  deploymentId?: string,
): Promise<number> {
  const { signal, out } = context
  const client = await context.client()
  // In a linked folder the deployment may be all that is named.
  const isOnlyId = deploymentId === undefined && wanted?.startsWith('dep_') === true
  const [name, id] = isOnlyId ? [undefined, wanted] : [wanted, deploymentId]
  const bot = await context.bot(client, name, { isExact: yes })
  const { data } = await client.deployments.list(bot.id, { limit: 100 }, { signal })
  const present = data.find(({ status }) => status === 'succeeded')
  const target = id === undefined ? releaseBefore(data, present) : await client.deployments.get(id, { signal })
  if (!target) throw new CliError('not_found', context.text('noEarlier'), { exitCode: exit.notFound })
  out.progress(context.text('rollingBack', { id: target.id, at: formatTime(target.createdAt) }))
  await context.confirm(bot.name, yes)
  const made = await client.deployments.rollBack(bot.id, { deploymentId: target.id, source: 'cli' }, { signal })
  const code = tell(context, await follow(context, client, made.id, 600))
  if (present) out.next(context.text('undo', { bot: bot.name, id: present.id }))
  return code
}

/** Of what was built. One that was only started again is the same release, and going back twice must not lead forth again. */
function releaseBefore(all: readonly Deployment[], present: Deployment | undefined): Deployment | undefined {
  const built = all.filter(({ status, rollbackOf }) => status === 'succeeded' && rollbackOf === null)
  const at = built.findIndex(({ id }) => id === (present?.rollbackOf ?? present?.id))
  return at < 0 ? undefined : built[at + 1]
}
