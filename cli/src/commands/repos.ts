import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { formatTime } from '../format.ts'
import { wholeNumber } from '../numbers.ts'
import type { Act } from '../program.ts'

export function registerRepos(program: Command, act: Act): void {
  const repos = program.command('repos').description('repositories of the code host')
  repos.command('status').description('whether you are connected to the code host').action(act(status))
  repos.command('installations').description('where the app of this server is installed').action(act(installations))
  repos.command('list <installation>').description('the repositories of an installation').action(act(list))
  repos
    .command('connect <repository> [bot]')
    .description('deploy a bot from this repository, such as me/my-bot')
    .option(
      '--installation <id>',
      'where to look for it; in all of them unless given',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    )
    .option('--branch <branch>', 'its default branch unless given')
    .action(act(connect))
  repos.command('disconnect [bot]').description('no longer deploy a bot from its repository').action(act(disconnect))
  repos
    .command('sign-out')
    .description('forget your account on the code host; bots keep running, auto-deploy ends')
    .option('--yes', 'do not ask')
    .action(act(signOut))
}

async function status(context: Context): Promise<void> {
  const client = await context.client()
  const found = await client.codehost.status({ signal: context.signal })
  const text = found.connected
    ? context.text('codehostOn', { login: found.login ?? '-', at: formatTime(found.connectedAt) })
    : context.text('codehostOff', { url: `${context.url}/api/v1/auth/codehost/connect` })
  context.out.result(found, text)
  // What to do before that is the result.
  context.out.hasNext = !found.connected
}

async function installations(context: Context): Promise<void> {
  const client = await context.client()
  const found = await client.codehost.installations({ signal: context.signal })
  const rows = found.data.map(({ id, account, repositorySelection }) => [
    String(id),
    account.login,
    repositorySelection,
  ])
  const none = context.text('codehostNone', { url: found.installUrl ?? '' })
  context.list(found, { heads: ['headId', 'headAccount', 'headRepositories'], rows, none })
}

async function list(context: Context, _options: object, installation = ''): Promise<void> {
  if (!/^\d+$/.test(installation))
    throw new CliError('bad_number', context.text('notANumber', { text: installation }), { exitCode: exit.usage })
  const client = await context.client()
  const found = await client.codehost.repos(Number(installation), { signal: context.signal })
  const rows = found.map((repo) => [
    repo.fullName,
    context.text(repo.private ? 'private' : 'public'),
    repo.defaultBranch,
  ])
  context.list(found, { heads: ['headName', 'headVisible', 'headBranch'], rows, none: context.text('nothing') })
}

interface ConnectOptions {
  readonly installation?: number
  readonly branch?: string
}

async function connect(context: Context, options: ConnectOptions, name = '', wanted?: string): Promise<void> {
  const { signal } = context
  const client = await context.client()
  const bot = await context.bot(client, wanted)
  const { data } = await client.codehost.installations({ signal })
  const ids = options.installation === undefined ? data.map(({ id }) => id) : [options.installation]
  for (const installationId of ids) {
    const repo = (await client.codehost.repos(installationId, { signal })).find(({ fullName }) => fullName === name)
    if (!repo) continue
    const { branch: gitBranch } = options
    const body = { botId: bot.id, installationId, repoId: repo.id, repoFullName: repo.fullName }
    const linked = await client.codehost.connectRepo(body, { signal })
    if (gitBranch !== undefined) await client.bots.update(bot.id, { gitBranch }, { signal })
    context.out.result(linked, context.text('linked', { folder: linked.repoFullName, name: bot.name }))
    return
  }
  throw new CliError('not_found', context.text('repoUnknown', { name }), { exitCode: exit.notFound })
}

async function disconnect(context: Context, _options: object, wanted?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, wanted)
  const answer = await client.codehost.disconnectRepo(bot.id, { signal: context.signal })
  context.out.result(answer, context.text('unlinked', { folder: bot.name }))
}

async function signOut(context: Context, { yes }: { yes?: boolean }): Promise<void> {
  const client = await context.client()
  const { login } = await client.codehost.status({ signal: context.signal })
  await context.confirm(login ?? 'yes', yes)
  const answer = await client.codehost.disconnect({ signal: context.signal })
  context.out.result(answer, context.text('signedOut', { url: login ?? context.url }))
}
