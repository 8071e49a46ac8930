import type { Bot } from '@botberth/sdk'
import { type Command, Option } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit, reportOf, type Say } from '../exit.ts'
import { formatDuration, formatTime } from '../format.ts'
import { pairs } from '../io.ts'
import { wholeNumber } from '../numbers.ts'
import type { Act } from '../program.ts'

export function registerBots(program: Command, act: Act): void {
  const bots = program.command('bots').description('your bots')
  bots.command('list').description('all of your bots').action(act(list))
  bots.command('show [bot]').description('one bot in full').action(act(show))
  bots
    .command('create <name>')
    .description('make a bot; deploys nothing')
    .addOption(new Option('--type <type>', 'where its files come from').choices(['custom', 'git', 'marketplace']))
    .option('--language <language>', 'such as javascript or python')
    .option('--git-url <url>', 'the repository of a git bot')
    .option('--branch <branch>', 'the branch of its repository')
    .option('--template <id>', 'the template of a marketplace bot')
    .option('--auto-deploy', 'deploy at every push')
    .action(act(create))
  bots.command('rename <bot> <name>').description('give a bot another name').action(act(rename))
  bots
    .command('set [bot]')
    .description('change how a bot is built, started and limited; counts from the next deployment or start on')
    .addOption(new Option('--auto-deploy <state>', 'deploy at every push').choices(['on', 'off']))
    .option('--branch <branch>', 'the branch of its repository')
    .option('--language <language>', 'such as javascript or python')
    .option('--start-command <command>', 'what starts it')
    .option('--build-command <command>', 'what builds it')
    .option('--memory <MB>', 'how much memory it may have', wholeNumber(1, 1_000_000))
    .option('--disk <MB>', 'how much its files may take', wholeNumber(1, 1_000_000_000))
    .option('--cpus <number>', 'how many processors it may use, 0.5 say', Number)
    .action(act(set))
  bots
    .command('delete <bot>')
    .description('delete a bot with everything that belongs to it')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'only say what would go')
    .action(act(remove))
  program
    .command('renew [bot]')
    .description('let a bot run for 7 more days')
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
    leftOf(context.text, bot),
  ])
  const heads = ['headName', 'headId', 'headType', 'headState', 'headLastDeployment', 'headExpiresIn'] as const
  context.list(bots, { heads, rows, none: context.text('noBots') })
}

function leftOf(text: Say, { expiresAt, status }: Bot): string {
  return status === 'expired' ? text('expired') : formatDuration(Date.parse(expiresAt) - Date.now())
}

async function show(context: Context, _options: object, wanted?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, wanted)
  context.out.result(bot, describe(context, bot))
}

function describe({ text }: Context, bot: Bot): string {
  const { memoryMb, cpus, diskMb } = bot.limits
  const rows = [
    [text('headName'), bot.name],
    [text('headId'), bot.id],
    [text('headType'), bot.type],
    [text('headLanguage'), bot.language ?? text('languageFound')],
    [text('headState'), bot.server.state],
    [text('headRepository'), bot.repo?.fullName ?? bot.gitUrl ?? '-'],
    [text('headBranch'), bot.gitBranch ?? '-'],
    [text('headAutoDeploy'), text(bot.autoDeployEnabled ? 'on' : 'off')],
    [text('headLimits'), text('limits', { memory: memoryMb, cpus, disk: diskMb })],
    [text('headExpires'), `${formatTime(bot.expiresAt)} (${leftOf(text, bot)})`],
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
  context.out.next(context.text(type === 'custom' ? 'nextLinkIt' : 'nextDeployIt', { name: bot.name }))
}

async function rename(context: Context, _options: object, wanted?: string, name = ''): Promise<void> {
  const client = await context.client()
  const { id } = await context.bot(client, wanted)
  const bot = await client.bots.update(id, { name }, { signal: context.signal })
  context.out.result(bot, context.text('renamed', { name: bot.name }))
}

interface SetOptions {
  readonly autoDeploy?: 'on' | 'off'
  readonly branch?: string
  readonly language?: string
  readonly startCommand?: string
  readonly buildCommand?: string
  readonly memory?: number
  readonly disk?: number
  readonly cpus?: number
}

async function set(context: Context, options: SetOptions, wanted?: string): Promise<void> {
  const { autoDeploy, branch, language, startCommand, buildCommand, memory, disk, cpus } = options
  if (Number.isNaN(cpus))
    throw new CliError('bad_number', context.text('notANumber', { text: '--cpus' }), { exitCode: exit.usage })
  const limits = given({ memoryMb: memory, diskMb: disk, cpus })
  const changes = given({
    autoDeployEnabled: autoDeploy === undefined ? undefined : autoDeploy === 'on',
    gitBranch: branch,
    language,
    startCommand,
    buildCommand,
    limits: Object.keys(limits).length > 0 ? limits : undefined,
  })
  if (Object.keys(changes).length === 0)
    throw new CliError('nothing_to_set', context.text('nothingToSet'), { exitCode: exit.usage })
  const client = await context.client()
  const { id } = await context.bot(client, wanted)
  const bot = await client.bots.update(id, changes, { signal: context.signal })
  context.out.result(bot, describe(context, bot))
}

/** Without what was not named. */
function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const named = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(named) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

async function remove(
  context: Context,
  { yes, dryRun }: { yes?: boolean; dryRun?: boolean },
  wanted?: string,
): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, wanted, { isExact: true })
  if (dryRun) {
    context.out.result(
      { id: bot.id, name: bot.name, deleted: false },
      `${describe(context, bot)}\n\n${context.text('dryRun')}`,
    )
    return
  }
  await context.confirm(bot.name, yes)
  const answer = await client.bots.delete(bot.id, { signal: context.signal })
  context.out.result(answer, context.text('deleted', { name: bot.name }))
}

async function renew(context: Context, { all }: { all?: boolean }, wanted?: string): Promise<number> {
  const { signal, out, text } = context
  const client = await context.client()
  if (!all) {
    const { id } = await context.bot(client, wanted)
    const bot = await client.bots.renew(id, { signal })
    out.result(bot, text('renewed', { name: bot.name, at: formatTime(bot.expiresAt) }))
    return exit.ok
  }
  const bots = await client.bots.list({ signal })
  const renewed: Bot[] = []
  let exitCode: number = exit.ok
  for (const { id, name } of bots) {
    try {
      renewed.push(await client.bots.renew(id, { signal }))
    } catch (error) {
      signal.throwIfAborted()
      // The others are none the worse for it.
      const report = reportOf(error, text)
      exitCode ||= report.exitCode
      out.problem({ error: { ...report, bot: id } }, `${name}: ${report.message}`)
    }
  }
  const lines = renewed.map(({ name, expiresAt }) => text('renewed', { name, at: formatTime(expiresAt) }))
  out.result(renewed, lines.join('\n'))
  return exitCode
}

async function templates(context: Context): Promise<void> {
  const found = await context.makeClient().templates.list({ signal: context.signal })
  const rows = found.map(({ id, name, language, description }) => [id, name, language, description])
  const heads = ['headId', 'headName', 'headLanguage', 'headDescription'] as const
  context.list(found, { heads, rows, none: context.text('nothing') })
}
