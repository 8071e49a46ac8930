import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { StartError } from '../lib/data-dir.ts'

// Whoever has the file can try as many as they like.
const charactersMin = 12

interface Source {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WriteStream
}

/**
 * From BOTBERTH_PASSPHRASE, from the terminal without showing it, or from the first line of the standard input. Never from
 * the command line, where everybody on the machine could read it.
 */
export async function readPassphrase(source: Source, { isNew }: { isNew: boolean }): Promise<string> {
  const given = source.env['BOTBERTH_PASSPHRASE'] || (await ask(source, 'Passphrase: '))
  if (isNew && [...given].length < charactersMin)
    throw new StartError(
      `The passphrase takes ${charactersMin} characters or more: set BOTBERTH_PASSPHRASE, or type it when you are asked.`,
    )
  const isTyped = !source.env['BOTBERTH_PASSPHRASE'] && source.stdin.isTTY
  if (isNew && isTyped && (await ask(source, 'Once more: ')) !== given)
    throw new StartError('The two are not the same. Nothing was done.')
  return given
}

async function ask({ stdin, stderr }: Source, question: string): Promise<string> {
  const { isTTY } = stdin
  if (isTTY) stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: nowhere, terminal: isTTY })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
    if (isTTY) stderr.write('\n')
  }
}
