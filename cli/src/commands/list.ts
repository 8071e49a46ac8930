import { BotberthError, BotList } from '@botberth/sdk'
import { type Command, Option } from 'commander'
import { openBrowser } from '../browser.ts'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { formatTime } from '../format.ts'
import { pairs } from '../io.ts'
import { pageLimit, pageNumber } from '../numbers.ts'
import type { Act } from '../program.ts'

export function registerList(program: Command, act: Act): void {
  const list = program
    .command('list')
    .description('the bot list; what a bot itself does takes its key in BOTBERTH_LIST_KEY')
  list
    .command('search [words...]')
    .description('find listed bots')
    .option('--tag <tag>', 'only with this tag')
    .addOption(
      new Option('--sort <order>', 'what comes first').choices(['votes', 'servers', 'newest']).default('votes'),
    )
    .option('--certified', 'only with the check mark')
    .option('--page <number>', 'which page', pageNumber, 1)
    .option('--limit <number>', 'how many on a page', pageLimit, 20)
    .action(act(search))
  list.command('show <id>').description('one listed bot').action(act(show))
  list.command('stats <servers>').description('tell in how many servers the bot is').action(act(stats))
  list.command('check-vote <user>').description('whether somebody has voted today').action(act(checkVote))
  // What takes somebody who is signed in to the site, which no key is.
  const pages = { register: '/list/register', verify: '/list/my', 'reissue-key': '/list/my' }
  const texts = {
    register: 'show the page where a bot is registered, or print its address',
    verify: 'show the page where a registered bot is verified, or print its address',
    'reissue-key': 'show the page where the key of a listed bot is issued anew, or print its address',
  }
  for (const [name, text] of Object.entries(texts) as [keyof typeof pages, string][])
    list
      .command(name)
      .description(text)
      .action(act((context) => showPage(context, pages[name])))
}

function visitor({ url }: Context): BotList {
  return new BotList({ url, retries: 2 })
}

/** As a listed bot, which has a key of its own: `login` does not help it. */
async function asBot<T>(context: Context, work: (client: BotList) => Promise<T>): Promise<T> {
  const hint = context.text('noListKey')
  const apiKey = await context.givenKey('BOTBERTH_LIST_KEY')
  if (!apiKey) throw new CliError('login_needed', hint, { exitCode: exit.loginNeeded })
  try {
    return await work(new BotList({ url: context.url, retries: 2, apiKey }))
  } catch (error) {
    if (!(error instanceof BotberthError) || error.status !== 401) throw error
    throw new CliError(error.code, error.message, { exitCode: exit.loginNeeded, hint })
  }
}

interface SearchOptions {
  readonly tag?: string
  readonly sort: string
  readonly certified?: boolean
  readonly page: number
  readonly limit: number
}

async function search(context: Context, options: SearchOptions, ...words: unknown[]): Promise<void> {
  const { tag, sort, certified, page, limit } = options
  const q = words.flat().join(' ')
  const found = await visitor(context).bots.search(
    {
      ...(q !== '' && { q }),
      ...(tag !== undefined && { tag }),
      ...(certified && { certified }),
      sort: sort as 'votes',
      page,
      limit,
    },
    { signal: context.signal },
  )
  const rows = found.data.map(({ botId, name, isCertified, serverCount, votesThisMonth, shortDescription }) => [
    botId,
    isCertified ? `${name} ✔` : name,
    String(serverCount ?? '-'),
    String(votesThisMonth),
    shortDescription,
  ])
  const heads = ['headId', 'headName', 'headServers', 'headVotes', 'headDescription'] as const
  context.list(found, { heads, rows, none: context.text('nothing') })
}

async function show(context: Context, _options: object, id = ''): Promise<void> {
  const { text } = context
  const one = await visitor(context).bots.get(id, { signal: context.signal })
  const rows = [
    [text('headName'), one.isCertified ? `${one.name} ✔` : one.name],
    [text('headId'), one.botId],
    [text('headServers'), String(one.serverCount ?? '-')],
    [text('headVotes'), text('votes', { month: one.votesThisMonth, total: one.votesTotal })],
    [text('headTags'), one.tags.join(', ')],
    [text('headListed'), formatTime(one.createdAt)],
    [text('headPage'), `${context.url}/list/bots/${one.botId}`],
    ['', one.shortDescription],
  ]
  context.out.result(one, pairs(rows))
}

async function stats(context: Context, _options: object, servers = ''): Promise<void> {
  if (!/^\d+$/.test(servers))
    throw new CliError('bad_number', context.text('notANumber', { text: servers }), { exitCode: exit.usage })
  const answer = await asBot(context, (client) => client.postStats(Number(servers), { signal: context.signal }))
  context.out.result(answer, context.text(answer.isCertified ? 'statsCertified' : 'statsTold', { servers }))
}

async function checkVote(context: Context, _options: object, user = ''): Promise<void> {
  const answer = await asBot(context, (client) => client.checkVote(user, { signal: context.signal }))
  const at = answer.votedAt === null ? '' : formatTime(answer.votedAt)
  context.out.result(answer, context.text(answer.voted ? 'voted' : 'notVoted', { user, at }))
}

async function showPage(context: Context, path: string): Promise<void> {
  const url = context.url + path
  context.out.result({ url }, url)
  openBrowser(context, url)
}
