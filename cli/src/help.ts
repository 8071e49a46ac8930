import type { Command, HelpConfiguration, Option } from 'commander'
import { type Io, widthOf } from './io.ts'
import type { HelpTexts } from './texts/help-ko.ts'
import type { Texts } from './texts.ts'

// Longer lines are hard to read.
const widthMax = 100

/** How help looks. */
export function helpIn({ say, help }: Texts, { stdout }: Io): HelpConfiguration {
  return {
    showGlobalOptions: true,
    sortSubcommands: false,
    helpWidth: Math.min(widthMax, stdout.columns || 80),
    displayWidth: widthOf,
    styleTitle: (title) => help?.titles[title] ?? title,
    optionDescription: ({ description, argChoices, defaultValue, required }: Option) => {
      const more = [
        ...(argChoices ? [say('choices', { choices: argChoices.join(', ') })] : []),
        ...(required && defaultValue !== undefined ? [say('default', { value: String(defaultValue) })] : []),
      ]
      return more.length > 0 ? `${description} (${more.join('; ')})` : description
    },
    argumentDescription: ({ description, argChoices }) =>
      argChoices ? `${description} (${say('choices', { choices: argChoices.join(', ') })})` : description,
  }
}

/** Every command and option in another language. A text that is missing there stays English; a test sees to it that none is. */
export function translate(command: Command, help: HelpTexts, path = ''): void {
  command.description(help.commands[path] ?? command.description())
  for (const option of command.options)
    option.description = help.options[`${path} ${option.long}`] ?? help.options[option.long ?? ''] ?? option.description
  for (const argument of command.registeredArguments)
    argument.description = help.arguments[`${path} ${argument.name()}`] ?? argument.description
  for (const inner of command.commands) translate(inner, help, `${path} ${inner.name()}`.trim())
}

/** What the parser says of wrong words, in the language of whoever typed them. */
export function explain(message: string, { help }: Texts): string {
  return (help?.mistakes ?? []).reduce((text, [pattern, words]) => text.replace(pattern, words), message)
}
