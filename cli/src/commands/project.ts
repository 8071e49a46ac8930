import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Bot, Botberth } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import type { Act } from '../program.ts'
import { removeLink, writeLink } from '../settings.ts'

export function registerProject(program: Command, act: Act): void {
  program
    .command('init [folder]')
    .description('make a bot with its files in an empty folder')
    .option('--template <id>', 'what to start from; `botberth templates` lists them')
    .option('--language <language>', 'an empty project in this language')
    .option('--name <name>', 'the name of the bot; that of the folder unless given')
    .action(act(init))
  program.command('link [bot]').description('tie this folder to a bot').action(act(link))
  program.command('unlink').description('untie this folder from its bot').action(act(unlink))
}

interface InitOptions {
  readonly template?: string
  readonly language?: string
  readonly name?: string
}

async function init(context: Context, options: InitOptions, folder = '.'): Promise<void> {
  const client = await context.client()
  const path = resolve(context.io.cwd, folder)
  mkdirSync(path, { recursive: true })
  // A repository without files is as empty as it gets for whoever made it first.
  if (readdirSync(path).some((name) => name !== '.git'))
    throw new CliError('not_empty', context.text('folderNotEmpty', { folder: path }), { exitCode: exit.rejected })
  const { language, name = basename(path) } = options
  const templateId = options.template ?? (language === undefined ? await chooseTemplate(context, client) : undefined)
  const bot = await client.bots.create(
    {
      name,
      type: templateId === undefined ? 'custom' : 'marketplace',
      ...(templateId !== undefined && { templateId }),
      ...(language !== undefined && { language }),
    },
    { signal: context.signal },
  )
  // First of all: if the rest fails, the folder still knows its bot.
  tie(context, bot, path)
  await download(context, { client, botId: bot.id, into: path, at: '' })
  context.out.result({ bot, folder: path }, context.text('created', { name: bot.name, id: bot.id }))
}

async function download(
  context: Context,
  { client, botId, into, at }: { client: Botberth; botId: string; into: string; at: string },
): Promise<void> {
  const { signal } = context
  for (const { name, type } of await client.files.list(botId, at, { signal })) {
    const path = at === '' ? name : `${at}/${name}`
    const target = join(into, path)
    // A name that leads elsewhere is none that a server of ours would send.
    if (relative(into, target).startsWith('..')) throw new Error(`The server sent a file called ${name}.`)
    if (type === 'folder') await download(context, { client, botId, into, at: path })
    else if (type === 'file') {
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, await client.files.read(botId, path, { signal }))
    }
  }
}

function tie(context: Context, bot: Bot, folder: string): void {
  writeLink(folder, { url: context.url, botId: bot.id })
}

async function link(context: Context, _options: object, wanted?: string): Promise<void> {
  const client = await context.client()
  const bot = await (wanted === undefined ? chooseBot(context, client) : context.bot(client, wanted))
  tie(context, bot, context.io.cwd)
  context.out.result(
    { bot, folder: context.io.cwd },
    context.text('linked', { folder: context.io.cwd, name: bot.name }),
  )
}

async function chooseBot(context: Context, client: Botberth): Promise<Bot> {
  context.needTerminal('BOT')
  const bots = await client.bots.list({ signal: context.signal })
  if (bots.length === 0) throw new CliError('not_found', context.text('noBots'), { exitCode: exit.notFound })
  return choose(context, bots, ({ name, id }) => `${name}  ${id}`)
}

async function chooseTemplate(context: Context, client: Botberth): Promise<string> {
  context.needTerminal('--template')
  const templates = await client.templates.listAsCaller({ signal: context.signal })
  const { id } = await choose(context, templates, ({ name, description }) => `${name}: ${description}`)
  return id
}

async function choose<T>(context: Context, all: readonly T[], show: (one: T) => string): Promise<T> {
  for (const [index, one] of all.entries()) context.out.progress(`${index + 1}  ${show(one)}`)
  const answer = await context.ask(context.text('choose', { most: all.length }))
  const chosen = /^\d+$/.test(answer) ? all[Number(answer) - 1] : undefined
  if (chosen !== undefined) return chosen
  throw new CliError('not_found', context.text('noneOfThese', { answer }), { exitCode: exit.notFound })
}

async function unlink(context: Context): Promise<void> {
  const folder = context.io.cwd
  const isRemoved = removeLink(folder)
  context.out.result({ unlinked: isRemoved }, context.text(isRemoved ? 'unlinked' : 'notLinked', { folder }))
}
