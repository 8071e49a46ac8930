import type { Argument, Command, Option } from 'commander'
import type { Context } from './context.ts'
import { NamesFile } from './settings.ts'

const freshMs = 5 * 60_000
// Somebody waits with a finger on the key.
const patienceMs = 1_000

/** What may stand for the last of these words, which is being typed. */
export async function candidates(context: Context, program: Command, words: readonly string[]): Promise<string[]> {
  const typed = (words.at(-1) ?? '').replace(/^""$/, '')
  const { command, position, option } = walk(program, words.slice(0, -1))
  if (option) return (option.argChoices ?? []).filter((one) => one.startsWith(typed))
  const all = typed.startsWith('-')
    ? optionsOf(program, command).map(({ long, short }) => long ?? short ?? '')
    : [...subcommandsOf(command), ...(await valuesOf(context, command.registeredArguments[position]))]
  return all.filter((one) => one.startsWith(typed))
}

interface Place {
  readonly command: Command
  readonly position: number
  /** Whose value comes next. */
  readonly option: Option | undefined
  /** Of the word that names the command; -1: none does. */
  readonly at: number
}

/** Which command the words lead to, how many arguments it has by now, and which option takes the next word. */
export function walk(program: Command, words: readonly string[]): Place {
  let [command, position, at] = [program, 0, -1]
  let option: Option | undefined
  for (const [index, word] of words.entries()) {
    if (option) option = undefined
    else if (word.startsWith('-')) option = findTaker(optionsOf(program, command), word)
    else {
      const inner = command.commands.find((one) => one.name() === word)
      if (inner) [command, position, at] = [inner, 0, index]
      else position++
    }
  }
  return { command, position, option, at }
}

function optionsOf(program: Command, command: Command): readonly Option[] {
  return command === program ? program.options : [...command.options, ...program.options]
}

function findTaker(options: readonly Option[], word: string): Option | undefined {
  return options.find(({ long, short, required }) => required && [long, short].includes(word))
}

function subcommandsOf(command: Command): string[] {
  const visible = command.createHelp().visibleCommands(command)
  return visible.map((one) => one.name())
}

async function valuesOf(context: Context, argument: Argument | undefined): Promise<readonly string[]> {
  if (argument?.argChoices) return argument.argChoices
  return argument?.name() === 'bot' ? botNames(context) : []
}

/** As they were within the last minutes. Without a server, or a key, there are none to offer. */
async function botNames(context: Context): Promise<readonly string[]> {
  const file = new NamesFile(context.settings)
  try {
    const known = file.read(context.url)
    if (known && Date.now() - known.at < freshMs) return known.names
    const client = await context.client()
    const bots = await client.bots.list({ signal: AbortSignal.timeout(patienceMs), retries: 0 })
    const names = bots.map(({ name }) => name)
    file.write(context.url, names)
    return names
  } catch {
    return [] // a completion that complains would spoil the line that somebody types
  }
}
