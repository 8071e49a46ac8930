import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Botberth } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { table } from '../io.ts'
import type { Act } from '../program.ts'

interface Variable {
  readonly key: string
  readonly value: string | null
  readonly secret: boolean
}

interface ChangeOptions {
  readonly restart?: boolean
  readonly dryRun?: boolean
  readonly secret?: boolean
  readonly bot?: string
}

export function registerEnv(program: Command, act: Act): void {
  const env = program
    .command('env')
    .description('the environment variables of a bot')
    .option('-b, --bot <bot>', 'which bot')
  env
    .command('list', { isDefault: true })
    .description('their names; values with --reveal')
    .option('--reveal', 'with their values')
    .action(act(list))
  env.command('get <name>').description('one value').action(act(get))
  env
    .command('set <name=value...>')
    .description('set some; the others stay')
    .option('--secret', 'never show them again')
    .option('--restart', 'restart the bot')
    .action(act(set))
  env.command('unset <name...>').description('remove some').option('--restart', 'restart the bot').action(act(unset))
  env
    .command('import <file>')
    .description('set those of a .env file, `-` for standard input; shows what changes')
    .option('--replace', 'remove those that are not in it')
    .option('--secret', 'never show them again')
    .option('--restart', 'restart the bot')
    .option('--dry-run', 'only show what would change')
    .action(act(importFile))
  env
    .command('pull [file]')
    .description('write them to a file, .env unless named; secret ones are left out')
    .option('--force', 'replace the file')
    .action(act(pull))
  program
    .command('run')
    .description('run a command here with the variables of the bot: `run -- npm start`')
    .option('-b, --bot <bot>', 'which bot')
    .argument('<command...>')
    .action(act(runWith))
}

async function load(context: Context, name?: string) {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const { variables } = await client.variables.list(bot.id, { signal: context.signal })
  return { client, bot, variables: variables as readonly Variable[] }
}

async function list(context: Context, { reveal, bot }: { reveal?: boolean; bot?: string }): Promise<void> {
  const { variables } = await load(context, bot)
  const shown = variables.map((one) => (reveal ? one : { ...one, value: null }))
  const rows = variables.map(({ key, value, secret }) => [
    key,
    secret ? '(secret)' : reveal ? quote(value ?? '').replaceAll('\n', '\\n') : '••••',
  ])
  context.out.result(shown, rows.length > 0 ? table(['NAME', 'VALUE'], rows) : context.text('noVariables'))
}

async function get(context: Context, { bot }: { bot?: string }, name = ''): Promise<void> {
  const { variables } = await load(context, bot)
  const found = variables.find(({ key }) => key === name)
  if (!found) throw new CliError('not_found', context.text('variableUnknown', { name }), { exitCode: exit.notFound })
  if (found.value === null)
    throw new CliError('secret', context.text('variableSecret', { name }), { exitCode: exit.rejected })
  context.out.result(found, found.value)
}

async function set(context: Context, options: ChangeOptions, ...[pairs]: unknown[]): Promise<void> {
  const given = (pairs as string[]).map((text) => {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (key !== undefined && value !== undefined) return { key, value }
    throw new CliError('bad_variable', context.text('variableWrong', { text }), { exitCode: exit.usage })
  })
  const { client, bot } = await load(context, options.bot)
  const secret = options.secret === true
  const isWaiting = []
  for (const { key, value } of given) {
    const answer = await client.variables.set(
      bot.id,
      { key, value, ...(secret && { secret }) },
      { signal: context.signal },
    )
    isWaiting.push(answer.restartRequired)
  }
  const names = given.map(({ key }) => key)
  context.out.result({ set: names }, context.text('variablesSet', { count: names.length }))
  await finish(context, { client, botId: bot.id, isNeeded: isWaiting.includes(true), ...options })
}

async function unset(context: Context, options: ChangeOptions, ...[names]: unknown[]): Promise<void> {
  const { client, bot } = await load(context, options.bot)
  const given = names as string[]
  for (const key of given) await client.variables.delete(bot.id, key, { signal: context.signal })
  context.out.result({ unset: given }, given.map((name) => context.text('variableUnset', { name })).join('\n'))
  await finish(context, { client, botId: bot.id, isNeeded: true, ...options })
}

/** What it takes for the bot to see the change. */
async function finish(
  context: Context,
  { client, botId, isNeeded, restart }: { client: Botberth; botId: string; isNeeded: boolean; restart?: boolean },
): Promise<void> {
  if (!isNeeded) return
  if (restart) await client.servers.restart(botId, { signal: context.signal })
  else context.out.next(context.text('restartNeeded'))
}

async function importFile(context: Context, options: ChangeOptions & { replace?: boolean }, file = '-'): Promise<void> {
  const text = file === '-' ? await context.readStdin() : readFileSync(join(context.io.cwd, file), 'utf8')
  checkLines(context, file, text)
  const wanted = new Map(Object.entries(parseEnv(text) as Record<string, string>))
  const { client, bot, variables } = await load(context, options.bot)
  const diff = compare(variables, wanted, options.replace === true)
  const isEmpty = diff.added.length + diff.changed.length + diff.removed.length === 0
  context.out.progress(isEmpty ? context.text('diffNone') : showDiff(context, diff))
  if (options.dryRun || isEmpty) {
    context.out.result({ ...diff, applied: false }, options.dryRun ? context.text('dryRun') : '')
    return
  }
  const kept = variables.filter(({ key }) => !wanted.has(key) && !diff.removed.includes(key))
  const secret = options.secret === true
  const answer = await client.variables.replace(
    bot.id,
    {
      variables: [
        // Without a value one keeps the one that it has.
        ...kept.map(({ key, value, secret }) => ({ key, secret, ...(value !== null && { value }) })),
        ...[...wanted].map(([key, value]) => ({ key, value, ...(secret && { secret }) })),
      ],
    },
    { signal: context.signal },
  )
  const count = diff.added.length + diff.changed.length
  context.out.result({ ...diff, applied: true }, context.text('variablesSet', { count }))
  await finish(context, { client, botId: bot.id, isNeeded: answer.restartRequired, ...options })
}

/** `parseEnv` passes over what it does not understand; people would miss it later. */
function checkLines(context: Context, file: string, text: string): void {
  const plain = text.replace(/=\s*(["'`])[\s\S]*?\1/g, (value) => value.replaceAll('\n', ' '))
  for (const [index, line] of plain.split(/\r?\n/).entries()) {
    if (/^\s*(#.*)?$/.test(line) || /^\s*(export\s+)?[\w.-]+\s*=/.test(line)) continue
    const message = context.text('lineWrong', { line: index + 1, file })
    throw new CliError('bad_line', message, { exitCode: exit.rejected })
  }
}

interface Diff {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

function compare(now: readonly Variable[], wanted: ReadonlyMap<string, string>, isReplacing: boolean): Diff {
  const known = new Map(now.map((variable) => [variable.key, variable]))
  return {
    added: [...wanted.keys()].filter((key) => !known.has(key)),
    changed: [...wanted]
      .filter(([key, value]) => known.has(key) && known.get(key)?.value !== value)
      .map(([key]) => key),
    removed: isReplacing ? now.map(({ key }) => key).filter((key) => !wanted.has(key)) : [],
  }
}

function showDiff({ out }: Context, { added, changed, removed }: Diff): string {
  return [
    ...added.map((key) => out.style('green', `+ ${key}`)),
    ...changed.map((key) => out.style('yellow', `~ ${key}`)),
    ...removed.map((key) => out.style('red', `- ${key}`)),
  ].join('\n')
}

async function pull(
  context: Context,
  { force, bot: name }: { force?: boolean; bot?: string },
  file = '.env',
): Promise<void> {
  const { variables } = await load(context, name)
  const path = join(context.io.cwd, file)
  if (existsSync(path) && !force)
    throw new CliError('file_exists', context.text('fileExists', { file }), { exitCode: exit.rejected })
  const known = variables.filter(({ value }) => value !== null)
  writeFileSync(path, known.map(({ key, value }) => `${key}=${quote(value ?? '')}\n`).join(''), { mode: 0o600 })
  context.out.result(
    { file, variables: known.map(({ key }) => key) },
    context.text('pulled', { count: known.length, file }),
  )
  tellSecrets(context, variables)
}

function tellSecrets(context: Context, variables: readonly Variable[]): void {
  const names = variables.filter(({ value }) => value === null).map(({ key }) => key)
  if (names.length > 0) context.out.progress(context.text('secretsLeftOut', { names: names.join(', ') }))
}

function quote(value: string): string {
  if (/^[\w./:@%+,-]*$/.test(value)) return value
  const mark = ["'", '"', '`'].find((one) => !value.includes(one)) ?? "'"
  return mark + value + mark
}

async function runWith(context: Context, { bot }: { bot?: string }, ...[words]: unknown[]): Promise<number> {
  const { variables } = await load(context, bot)
  tellSecrets(context, variables)
  const [command = '', ...args] = words as unknown as string[]
  const values = variables.flatMap(({ key, value }) => (value === null ? [] : [[key, value]]))
  const { BOTBERTH_API_KEY: _, ...env } = process.env
  const child = spawn(command, args, { stdio: 'inherit', env: { ...env, ...Object.fromEntries(values) } })
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new CliError('not_started', error.message, { exitCode: exit.failed })))
    child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? exit.interrupted : exit.failed)))
  })
}
