import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { type Launch, launchOf, systemMachine } from '../launch.ts'
import type { Act } from '../program.ts'
import { load, tellSecrets } from './env.ts'

export function registerRun(program: Command, act: Act): void {
  program
    .command('run')
    .description('run a command here with the variables of the bot: `run -- npm start`')
    .option('-b, --bot <bot>', 'which bot')
    .argument('<command...>')
    .action(act(run))
}

async function run(context: Context, { bot }: { bot?: string }, ...[words]: unknown[]): Promise<number> {
  // The command is none of those that may act for whoever runs it.
  const { BOTBERTH_API_KEY: _, ...env } = context.io.env
  const launch = launchOf(words as string[], systemMachine(env), context.text)
  const { variables } = await load(context, bot)
  tellSecrets(context, variables)
  const values = variables.flatMap(({ key, value }) => (value === null ? [] : [[key, value]]))
  return start(context, launch, { ...env, ...Object.fromEntries(values) })
}

// These go to this process alone.
const passedOn = ['SIGTERM', 'SIGHUP'] as const

/** Until it ends: returns its exit code, or 128 and the number of the signal that ended it, as shells do. */
function start({ text }: Context, launch: Launch, env: NodeJS.ProcessEnv): Promise<number> {
  const { file, args, ...how } = launch
  const child = spawn(file, args, { stdio: 'inherit', env, ...how })
  const pass = (signal: NodeJS.Signals) => void child.kill(signal)
  for (const signal of passedOn) process.on(signal, pass)
  // The terminal sends an interrupt to both, and what it means is for the command to say.
  const interrupted = process.listeners('SIGINT')
  process.removeAllListeners('SIGINT').on('SIGINT', ignore)
  const ended = new Promise<number>((done, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const message = error.code === 'ENOENT' ? text('noCommand', { command: file }) : error.message
      reject(new CliError('not_started', message, { exitCode: exit.failed }))
    })
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  })
  return ended.finally(() => {
    for (const signal of passedOn) process.off(signal, pass)
    process.off('SIGINT', ignore)
    for (const listener of interrupted) process.on('SIGINT', listener)
  })
}

function ignore(): void {}
