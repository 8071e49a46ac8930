import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit, exitCodeOf } from '../exit.ts'
import type { Act } from '../program.ts'
import { version } from '../version.ts'

interface Options {
  readonly field?: string[]
  readonly input?: string
}

export function registerApi(program: Command, act: Act): void {
  program
    .command('api <method> <path>')
    .description('any request to the API, such as `api GET /bots`; the answer goes to standard output as it is')
    .option('-F, --field <name=value...>', 'fields of a JSON body; numbers, true, false and null as such')
    .option('--input <file>', 'a file as body, `-` for standard input')
    .action(act(request))
}

async function request(context: Context, options: Options, method = '', path = ''): Promise<number> {
  const apiKey = await context.key()
  const body = await bodyOf(context, options)
  const answer = await fetch(`${context.url}/api/v1/${path.replace(/^\/+/, '')}`, {
    method: method.toUpperCase(),
    headers: {
      'user-agent': `botberth-cli/${version}`,
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
    signal: context.signal,
  }).catch((error: unknown) => {
    if (context.signal.aborted) throw error
    throw new CliError('unreachable', `${context.url} cannot be reached.`, { exitCode: exit.unreachable })
  })
  context.io.stdout.write(new Uint8Array(await answer.arrayBuffer()))
  if (context.io.stdout.isTTY) context.io.stdout.write('\n')
  return answer.ok ? exit.ok : exitCodeOf(answer.status)
}

async function bodyOf(context: Context, { field, input }: Options): Promise<string | undefined> {
  if (input === '-') return context.readStdin()
  if (input !== undefined) return readFileSync(join(context.io.cwd, input), 'utf8')
  if (!field) return undefined
  const pairs = field.map((text) => {
    const at = text.indexOf('=')
    if (at < 1) throw new CliError('bad_field', context.text('variableWrong', { text }), { exitCode: exit.usage })
    return [text.slice(0, at), valueOf(text.slice(at + 1))]
  })
  return JSON.stringify(Object.fromEntries(pairs))
}

function valueOf(text: string): unknown {
  return /^(-?\d+(\.\d+)?|true|false|null)$/.test(text) ? JSON.parse(text) : text
}
