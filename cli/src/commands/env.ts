import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { Bot, Botberth } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { launchOf, systemMachine } from '../launch.ts'
import type { Act } from '../program.ts'
import { writePrivate } from '../settings.ts'

interface Variable {
  readonly key: string
  readonly value: string | null
  readonly secret: boolean
}

interface ChangeOptions {
  readonly restart?: boolean
  readonly dryRun?: boolean
  readonly secret?: boolean
}

interface Named {
  readonly bot?: string
}

export function registerEnv(program: Command, act: Act): void {
  const env = program
    .command('env')
    .description('the environment variables of a bot')
    .option('-b, --bot <bot>', 'which bot')
  env
    .command('list')
    .description('the names of the variables; values with --reveal')
    .option('--reveal', 'with their values')
    .action(act(list))
  env.command('get <name>').description('the value of a variable').action(act(get))
  env
    .command('set <name=value...>')
    .description('set variables; the others stay')
    .option('--secret', 'never show them again')
    .option('--restart', 'restart the bot')
    .action(act(set))
  env
    .command('unset <name...>')
    .description('remove variables')
    .option('--restart', 'restart the bot')
    .action(act(unset))
  env
    .command('import <file>')
    .description('set the variables of a .env file, `-` for standard input; shows what changes')
    .option('--replace', 'remove those that are not in it')
    .option('--secret', 'never show them again')
    .option('--restart', 'restart the bot')
    .option('--dry-run', 'only show what would change')
    .action(act(importFile))
  env
    .command('edit')
    .description('change variables in your editor, which VISUAL or EDITOR names; secret ones stay as they are')
    .option('--restart', 'restart the bot')
    .action(act(edit))
  env
    .command('pull [file]')
    .description('write the variables to a file, .env unless named; secret ones are left out')
    .option('--force', 'replace the file if there is one')
    .action(act(pull))
}

interface Loaded {
  readonly client: Botberth
  readonly bot: Bot
  readonly variables: readonly Variable[]
}

export async function load(context: Context, name?: string): Promise<Loaded> {
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
    secret ? context.text('secretMark') : reveal ? (value ?? '').replaceAll('\n', '\\n') : '••••',
  ])
  context.list(shown, { heads: ['headName', 'headValue'], rows, none: context.text('noVariables') })
}

async function get(context: Context, { bot }: { bot?: string }, name = ''): Promise<void> {
  const { variables } = await load(context, bot)
  const found = variables.find(({ key }) => key === name)
  if (!found) throw new CliError('not_found', context.text('variableUnknown', { name }), { exitCode: exit.notFound })
  if (found.value === null)
    throw new CliError('secret', context.text('variableSecret', { name }), { exitCode: exit.rejected })
  context.out.result(found, found.value)
}

async function set(context: Context, options: ChangeOptions & Named, ...[pairs]: unknown[]): Promise<void> {
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
  await finish(context, { client, botId: bot.id, isNeeded: isWaiting.includes(true), restart: options.restart })
}

async function unset(context: Context, options: ChangeOptions & Named, ...[names]: unknown[]): Promise<void> {
  const { client, bot, variables } = await load(context, options.bot)
  const given = names as string[]
  const name = given.find((one) => !variables.some(({ key }) => key === one))
  if (name !== undefined)
    throw new CliError('not_found', context.text('variableUnknown', { name }), { exitCode: exit.notFound })
  for (const key of given) await client.variables.delete(bot.id, key, { signal: context.signal })
  context.out.result({ unset: given }, given.map((name) => context.text('variableUnset', { name })).join('\n'))
  await finish(context, { client, botId: bot.id, isNeeded: true, restart: options.restart })
}

/** What it takes for the bot to see the change. */
async function finish(
  context: Context,
  {
    client,
    botId,
    isNeeded,
    restart,
  }: { client: Botberth; botId: string; isNeeded: boolean; restart: boolean | undefined },
): Promise<void> {
  if (!isNeeded) return
  if (restart) await client.servers.restart(botId, { signal: context.signal })
  else context.out.next(context.text('restartNeeded'))
}

async function importFile(
  context: Context,
  options: ChangeOptions & Named & { replace?: boolean },
  file = '-',
): Promise<void> {
  const text = file === '-' ? await context.readStdin() : readFileSync(resolve(context.io.cwd, file), 'utf8')
  checkLines(context, file, text)
  const loaded = await load(context, options.bot)
  const gone = options.replace === true ? loaded.variables.map(({ key }) => key) : []
  await apply(context, { ...options, ...loaded, text, gone })
}

async function edit(context: Context, options: ChangeOptions & Named): Promise<void> {
  const loaded = await load(context, options.bot)
  context.needTerminal('`env import FILE`')
  const shown = loaded.variables.flatMap(({ key, value }) => {
    const text = value === null ? undefined : quote(value)
    return text === undefined ? [] : [{ key, text }]
  })
  const folder = mkdtempSync(join(tmpdir(), 'botberth-env-'))
  try {
    const path = join(folder, `${loaded.bot.name.replace(/[^\w-]/g, '_')}.env`)
    writePrivate(path, shown.map(({ key, text }) => `${key}=${text}\n`).join(''))
    await openEditor(context, path)
    const text = readFileSync(path, 'utf8')
    checkLines(context, path, text)
    // What was not there to be seen was not removed either.
    await apply(context, { ...options, ...loaded, text, gone: shown.map(({ key }) => key) })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function openEditor({ io, text }: Context, path: string): Promise<void> {
  const words = (io.env['VISUAL'] || io.env['EDITOR'] || (process.platform === 'win32' ? 'notepad' : 'vi')).split(/\s+/)
  const { file, args, ...how } = launchOf([...words, path], systemMachine(io.env), text)
  const child = spawn(file, args, { stdio: 'inherit', ...how })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new CliError('not_confirmed', text('notConfirmed'), { exitCode: exit.failed })
}

interface Change extends ChangeOptions, Loaded {
  /** Of a .env file. */
  readonly text: string
  /** Those that go unless they stand in it. */
  readonly gone: readonly string[]
}

async function apply(context: Context, change: Change): Promise<void> {
  const { client, bot, variables, text, gone, ...options } = change
  const wanted = new Map(Object.entries(parseEnv(text) as Record<string, string>))
  const diff = compare(variables, wanted, gone)
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
  await finish(context, { client, botId: bot.id, isNeeded: answer.restartRequired, restart: options.restart })
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

function compare(now: readonly Variable[], wanted: ReadonlyMap<string, string>, gone: readonly string[]): Diff {
  const known = new Map(now.map((variable) => [variable.key, variable]))
  return {
    added: [...wanted.keys()].filter((key) => !known.has(key)),
    changed: [...wanted]
      .filter(([key, value]) => known.has(key) && known.get(key)?.value !== value)
      .map(([key]) => key),
    removed: gone.filter((key) => !wanted.has(key)),
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
  const { out } = context
  const path = resolve(context.io.cwd, file)
  if (existsSync(path) && !force)
    throw new CliError('file_exists', context.text('fileExists', { file }), { exitCode: exit.rejected })
  const written = variables.map(({ key, value }) => ({ key, text: value === null ? undefined : quote(value) }))
  const known = written.filter(({ text }) => text !== undefined)
  writePrivate(path, known.map(({ key, text }) => `${key}=${text}\n`).join(''))
  out.result({ file, variables: known.map(({ key }) => key) }, context.text('pulled', { count: known.length, file }))
  tellSecrets(context, variables)
  const lost = variables.filter(({ key, value }) => value !== null && !known.some((one) => one.key === key))
  if (lost.length > 0) out.progress(context.text('unwritable', { names: lost.map(({ key }) => key).join(', ') }))
}

/** Whose values nobody gets. */
export function tellSecrets(context: Context, variables: readonly Variable[]): void {
  const names = variables.filter(({ value }) => value === null).map(({ key }) => key)
  if (names.length > 0) context.out.progress(context.text('secretsLeftOut', { names: names.join(', ') }))
}

/** As `parseEnv` reads it again; undefined: there is no way to write it. */
function quote(value: string): string | undefined {
  if (/^[\w./:@%+,-]*$/.test(value)) return value
  const written = ["'", '"', '`'].map((mark) => mark + value + mark)
  return written.find((text) => parseEnv(`A=${text}`)['A'] === value)
}
