import type { Bot } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { formatDuration, formatTime } from '../format.ts'
import { pairs, table } from '../io.ts'
import type { Act } from '../program.ts'

export function registerBots(program: Command, act: Act): void {
  const bots = program.command('bots').description('your bots')
  bots.command('list', { isDefault: true }).description('all of them').action(act(list))
  bots.command('show [bot]').description('one of them').action(act(show))
  bots
    .command('create <name>')
    .description('make a bot; deploys nothing')
    .option('--type <type>', 'custom, git or marketplace')
    .option('--language <language>', 'such as javascript or python')
    .option('--git-url <url>', 'the repository of a git bot')
    .option('--branch <branch>', 'its branch')
    .option('--template <id>', 'the template of a marketplace bot')
    .option('--auto-deploy', 'deploy at every push')
    .action(act(create))
  bots.command('rename <bot> <name>').description('give it another name').action(act(rename))
  bots
    .command('delete <bot>')
    .description('delete it with everything that belongs to it')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'only say what would go')
    .action(act(remove))
  program
    .command('renew [bot]')
    .description('let it run for 7 more days')
    .option('--all', 'all of your bots')
    .action(act(renew))
  program.command('templates').description('what a bot can start from').action(act(templates))
}

async function list(context: Context): Promise<void> {
  const client = await context.client()
  const bots = await client.bots.list({ signal: context.signal })
  const rows = bots.map((bot) => [
    bot.name,
    bot.id,
    bot.type,
    bot.server.state,
    bot.lastDeployment?.status ?? '-',
    leftOf(bot),
  ])
  const text =
    rows.length > 0
      ? table(['NAME', 'ID', 'TYPE', 'STATE', 'LAST DEPLOYMENT', 'EXPIRES IN'], rows)
      : context.text('noBots')
  context.out.result(bots, text)
}

function leftOf({ expiresAt, status }: Bot): string {
  return status === 'expired' ? 'expired' : formatDuration(Date.parse(expiresAt) - Date.now())
}

async function show(context: Context, _options: object, wanted?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, wanted)
  context.out.result(bot, describe(bot))
}

function describe(bot: Bot): string {
  const rows = [
    ['Name', bot.name],
    ['Id', bot.id],
    ['Type', bot.type],
    ['Language', bot.language ?? 'found from its files'],
    ['State', bot.server.state],
    ['Repository', bot.repo?.fullName ?? bot.gitUrl ?? '-'],
    ['Branch', bot.gitBranch ?? '-'],
    ['Auto-deploy', bot.autoDeployEnabled ? 'on' : 'off'],
    ['Limits', `${bot.limits.memoryMb} MB memory, ${bot.limits.cpus} CPU, ${bot.limits.diskMb} MB disk`],
    ['Expires', `${formatTime(bot.expiresAt)} (${leftOf(bot)})`],
  ]
  return pairs(rows)
}

interface CreateOptions {
  readonly type?: Bot['type']
  readonly language?: string
  readonly gitUrl?: string
  readonly branch?: string
  readonly template?: string
  readonly autoDeploy?: boolean
}

async function create(context: Context, options: CreateOptions, name = ''): Promise<void> {
  const client = await context.client()
  const { language, gitUrl, branch: gitBranch, template: templateId, autoDeploy: autoDeployEnabled } = options
  const type = options.type ?? (gitUrl ? 'git' : templateId ? 'marketplace' : 'custom')
  const bot = await client.bots.create(
    {
      name,
      type,
      ...(language !== undefined && { language }),
      ...(gitUrl !== undefined && { gitUrl }),
      ...(gitBranch !== undefined && { gitBranch }),
      ...(templateId !== undefined && { templateId }),
      ...(autoDeployEnabled !== undefined && { autoDeployEnabled }),
    },
    { signal: context.signal },
  )
  context.out.result(bot, context.text('created', { name: bot.name, id: bot.id }))
  context.out.next(context.text('nextDeploy'))
}

async function rename(context: Context, _options: object, wanted?: string, name = ''): Promise<void> {
  const client = await context.client()
  const { id } = await context.bot(client, wanted)
  const bot = await client.bots.update(id, { name }, { signal: context.signal })
  context.out.result(bot, context.text('renamed', { name: bot.name }))
}

async function remove(
  context: Context,
  { yes, dryRun }: { yes?: boolean; dryRun?: boolean },
  wanted?: string,
): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, wanted)
  if (dryRun) {
    context.out.result({ id: bot.id, name: bot.name, deleted: false }, `${describe(bot)}\n\n${context.text('dryRun')}`)
    return
  }
  await context.confirm(bot.name, yes)
  const answer = await client.bots.delete(bot.id, { signal: context.signal })
  context.out.result(answer, context.text('deleted', { name: bot.name }))
}

async function renew(context: Context, { all }: { all?: boolean }, wanted?: string): Promise<void> {
  const { signal } = context
  const client = await context.client()
  const bots = all ? await client.bots.list({ signal }) : [await context.bot(client, wanted)]
  const renewed: Bot[] = []
  for (const { id } of bots) renewed.push(await client.bots.renew(id, { signal }))
  const lines = renewed.map(({ name, expiresAt }) => context.text('renewed', { name, at: formatTime(expiresAt) }))
  context.out.result(all ? renewed : renewed[0], lines.join('\n'))
}

async function templates(context: Context): Promise<void> {
  const found = await context.makeClient().templates.list({ signal: context.signal })
  const rows = found.map(({ id, name, language, description }) => [id, name, language, description])
  context.out.result(found, table(['ID', 'NAME', 'LANGUAGE', 'DESCRIPTION'], rows))
}
