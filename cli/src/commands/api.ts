import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { safeForTerminal } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit, exitCodeOf } from '../exit.ts'
import type { Act } from '../program.ts'
import { version } from '../version.ts'

// As long as the SDK waits for an answer.
const patienceMs = 30_000

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
  checkWords(context, options, method)
  const apiKey = await context.key()
  const body = await bodyOf(context, options)
  const url = `${context.url}/api/v1/${path.replace(/^\/+/, '')}`
  const answer = await send(context, url, {
    method: method.toUpperCase(),
    headers: {
      'user-agent': `botberth-cli/${version}`,
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(body !== undefined && { 'content-type': isJson(body) ? 'application/json' : 'application/octet-stream' }),
    },
    // Elsewhere nobody has a right to the key.
    redirect: 'manual',
    ...(body !== undefined && { body }),
  })
  const target = answer.headers.get('location')
  if (answer.status >= 300 && answer.status < 400 && target !== null) {
    const message = context.text('redirected', { url: context.url, target: new URL(target, url).href })
    throw new CliError('redirected', message, { exitCode: exit.failed })
  }
  // As it is for programs; what somebody looks at must not act on the terminal.
  if (context.io.stdout.isTTY) context.io.stdout.write(`${safeForTerminal(await answer.text())}\n`)
  else for await (const chunk of answer.body ?? []) context.io.stdout.write(chunk)
  return answer.ok ? exit.ok : exitCodeOf(answer.status)
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']

function checkWords(context: Context, { field, input }: Options, method: string): void {
  const isBodyless = /^(get|head)$/i.test(method)
  const problem = !methods.includes(method.toUpperCase())
    ? context.text('methodUnknown', { method, methods: methods.join(', ') })
    : isBodyless && (field || input !== undefined)
      ? context.text('noBody', { method: method.toUpperCase() })
      : field && input !== undefined
        ? context.text('oneOf', { options: '--field, --input' })
        : undefined
  if (problem !== undefined) throw new CliError('bad_request', problem, { exitCode: exit.usage })
}

/** Waits for the beginning of the answer; what follows may be a stream, and what goes before an upload. */
async function send(context: Context, url: string, request: RequestInit): Promise<Response> {
  const late = new AbortController()
  const timer = request.body === undefined ? setTimeout(() => late.abort(), patienceMs) : undefined
  try {
    return await fetch(url, { ...request, signal: AbortSignal.any([context.signal, late.signal]) })
  } catch (error) {
    if (context.signal.aborted) throw error
    const message = context.text('unreachable', { url: context.url })
    throw new CliError('unreachable', message, { exitCode: exit.unreachable })
  } finally {
    clearTimeout(timer)
  }
}

async function bodyOf(context: Context, { field, input }: Options): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (input === '-') return new Uint8Array(await context.readStdinBytes())
  if (input !== undefined) return new Uint8Array(readFileSync(resolve(context.io.cwd, input)))
  if (!field) return undefined
  const pairs = field.map((text) => {
    const at = text.indexOf('=')
    if (at < 1) throw new CliError('bad_field', context.text('variableWrong', { text }), { exitCode: exit.usage })
    return [text.slice(0, at), valueOf(text.slice(at + 1))]
  })
  return new TextEncoder().encode(JSON.stringify(Object.fromEntries(pairs)))
}

function isJson(body: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return true
  } catch {
    return false
  }
}

function valueOf(text: string): unknown {
  return /^(-?\d+(\.\d+)?|true|false|null)$/.test(text) ? JSON.parse(text) : text
}
