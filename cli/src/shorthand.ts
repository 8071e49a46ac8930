import type { Command } from 'commander'
import { walk } from './candidates.ts'

/** What a group alone means. Not left to the parser: it would take any wrong word after a group for an argument of these. */
const defaults: Readonly<Record<string, string>> = {
  keys: 'list',
  bots: 'list',
  env: 'list',
  backups: 'list',
  webhooks: 'list',
  repos: 'status',
}

/** The words as the parser wants them. */
export function spellOut(program: Command, words: readonly string[]): string[] {
  // The parser knows one word after it only: `help bots create` would tell of `bots`.
  if (words[0] === 'help') return [...words.slice(1), '--help']
  const { command, position, at } = walk(program, words)
  const isHelp = words.some((word) => word === '--help' || word === '-h')
  const inner = command.parent === program && position === 0 && !isHelp ? defaults[command.name()] : undefined
  return inner === undefined ? [...words] : words.toSpliced(at + 1, 0, inner)
}
