import { Argument, type Command } from 'commander'
import { openBrowser } from '../browser.ts'
import type { Context } from '../context.ts'
import type { Act } from '../program.ts'
import { findLink } from '../settings.ts'

/** Where the dashboard has them, from `/bots/ID` on. */
export const botPages: Readonly<Record<string, string>> = {
  overview: '',
  logs: '/logs',
  deployments: '/deployments',
  variables: '/variables',
  metrics: '/metrics',
  repository: '/repository',
  files: '/files',
  backups: '/backups',
  settings: '/settings',
}
/** Those that belong to no bot. */
export const otherPages: Readonly<Record<string, string>> = {
  home: '/',
  bots: '/bots',
  keys: '/keys',
  webhooks: '/webhooks',
  activity: '/activity',
  profile: '/profile',
}

export function registerOpen(program: Command, act: Act): void {
  const names = Object.keys(otherPages).join(', ')
  program
    .command('open')
    .description('show a page of the dashboard, or print its address')
    .addArgument(new Argument('[bot]', `which bot; or one of ${names}`))
    .addArgument(new Argument('[page]', 'which page of the bot').choices(Object.keys(botPages)))
    .action(act(open))
}

async function open(context: Context, _options: object, word?: string, page?: string): Promise<void> {
  const url = context.url + (await pathOf(context, word, page))
  context.out.result({ url }, url)
  openBrowser(context, url)
}

/** In a linked folder the page may be all that is named. */
async function pathOf(context: Context, word: string | undefined, page: string | undefined): Promise<string> {
  const isLinked = findLink(context.io.cwd) !== undefined
  if (word === undefined && !isLinked) return '/'
  const other = otherPages[word ?? '']
  if (page === undefined && other !== undefined) return other
  const isPage = page === undefined && isLinked && botPages[word ?? ''] !== undefined
  const [name, at] = isPage ? [undefined, word] : [word, page]
  const { id } = await context.bot(await context.client(), name)
  return `/bots/${id}${botPages[at ?? 'overview'] ?? ''}`
}
