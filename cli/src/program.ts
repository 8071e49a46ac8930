import { safeForTerminal } from '@botberth/sdk'
import { Command, CommanderError } from 'commander'
import { registerAccount } from './commands/account.ts'
import { registerApi } from './commands/api.ts'
import { registerBackups } from './commands/backups.ts'
import { registerBots } from './commands/bots.ts'
import { registerCompletion } from './commands/completion.ts'
import { registerDeployments } from './commands/deployments.ts'
import { registerDoctor } from './commands/doctor.ts'
import { registerEnv } from './commands/env.ts'
import { registerList } from './commands/list.ts'
import { registerLogs } from './commands/logs.ts'
import { registerMcp } from './commands/mcp.ts'
import { registerOpen } from './commands/open.ts'
import { registerProject } from './commands/project.ts'
import { registerRepos } from './commands/repos.ts'
import { registerRun } from './commands/run.ts'
import { registerServers } from './commands/servers.ts'
import { registerWebhooks } from './commands/webhooks.ts'
import { Context, type GlobalOptions } from './context.ts'
import { exit, reportOf } from './exit.ts'
import { explain, helpIn, translate } from './help.ts'
import type { Io } from './io.ts'
import { tellNext } from './next.ts'
import { spellOut } from './shorthand.ts'
import { english, loadTexts, type Texts } from './texts.ts'
import { version } from './version.ts'

/** Wraps what a command does: its options and arguments, then what becomes of it. */
export type Act = <Options extends object>(
  work: (context: Context, options: Options, ...args: (string | undefined)[]) => Promise<number | void>,
) => (...given: unknown[]) => Promise<void>

interface Run {
  readonly io: Io
  readonly signal: AbortSignal
}

/** Runs one command line. Returns the exit code. */
export async function run(args: readonly string[], { io, signal }: Run): Promise<number> {
  let exitCode: number = exit.ok
  const texts = await loadTexts(io.env)
  const act: Act =
    (work) =>
    async (...given) => {
      const command = given.at(-1) as Command
      const options = command.optsWithGlobals<GlobalOptions>()
      const context = new Context(io, options, { signal, text: texts.say })
      try {
        const values = given.slice(0, -2) as (string | undefined)[]
        exitCode = (await work(context, options as never, ...values)) ?? exit.ok
        if (exitCode === exit.ok) tellNext(context, command)
      } catch (error) {
        exitCode = fail(context, signal.aborted ? signal.reason : error)
      } finally {
        context.end()
      }
    }
  const isJson = args.slice(0, [...args, '--'].indexOf('--')).includes('--json')
  const said = new Said(isJson ? undefined : io)
  const program = makeProgram({ ...io, stderr: said as unknown as Io['stderr'] }, act, texts)
  try {
    await program.parseAsync(spellOut(program, args), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return exit.ok
    const message = error.code === 'commander.help' ? said.text : explain(error.message, texts).replace(/^error: /, '')
    if (isJson) io.stderr.write(`${JSON.stringify({ error: { code: 'usage', message: message.trim() } })}\n`)
    return exit.usage
  }
  return exitCode
}

/** What the library says of wrong words; kept for later where it is to be JSON. */
class Said {
  readonly #io: Io | undefined
  text = ''

  constructor(io: Io | undefined) {
    this.#io = io
  }

  write(text: string): void {
    this.text += text
    this.#io?.stderr.write(text)
  }
}

function fail(context: Context, error: unknown): number {
  const { exitCode, ...report } = reportOf(error, context.text)
  const { stderr } = context.io
  context.out.problem({ error: report }, report.message)
  if (!context.out.isJson) {
    if (report.hint) stderr.write(`${safeForTerminal(report.hint)}\n`)
    if (report.requestId)
      stderr.write(`${context.out.style('dim', context.text('request', { id: report.requestId }))}\n`)
  }
  return exitCode
}

export function makeProgram(io: Io, act: Act, texts: Texts = english): Command {
  const { say } = texts
  const program = new Command('botberth')
    .description('Hosts chat bots: deploy, watch and change them from here.')
    .version(version, '-V, --version', 'output the version number')
    .helpOption('-h, --help', say('helpOption'))
    .helpCommand('help [command]', say('helpCommand'))
    .option('--json', 'print the result as JSON')
    .option('--url <url>', 'the server; BOTBERTH_URL otherwise')
    .option('--api-key-stdin', 'read the API key from standard input')
    .showSuggestionAfterError()
    .showHelpAfterError(say('seeHelp'))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: (text, write) => write(explain(text, texts)),
    })
    .configureHelp(helpIn(texts, io))
  registerAccount(program, act)
  registerProject(program, act)
  registerOpen(program, act)
  registerBots(program, act)
  registerDeployments(program, act)
  registerServers(program, act)
  registerLogs(program, act)
  registerEnv(program, act)
  registerRun(program, act)
  registerBackups(program, act)
  registerWebhooks(program, act)
  registerRepos(program, act)
  registerList(program, act)
  registerApi(program, act)
  registerDoctor(program, act)
  registerMcp(program, act)
  registerCompletion(program, act)
  program
    .command('version')
    .description('the version of this program')
    .action(act(async ({ out }) => out.result({ version }, version)))
  if (texts.help) translate(program, texts.help)
  return program
}
