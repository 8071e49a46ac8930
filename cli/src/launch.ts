import { lstatSync, statSync } from 'node:fs'
import { win32 } from 'node:path'
import { CliError, exit, type Say } from './exit.ts'

interface Machine {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  isFile(path: string): boolean
}

export interface Launch {
  readonly file: string
  readonly args: readonly string[]
  /** The words stand as they are to reach the program: they are quoted already. */
  readonly windowsVerbatimArguments?: true
}

export function systemMachine(env: Machine['env']): Machine {
  return { platform: process.platform, env, isFile }
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true
  } catch {
    // A program of Windows' store is a link that only the system can follow.
    return isLink(path)
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false // a folder of the path that is closed to us
  }
}

/**
 * How a command is started. On Windows most tools of Node.js are `.cmd` files, which only `cmd.exe` can run: Node.js refuses
 * to (CVE-2024-27980), because what stands in their arguments could become commands.
 */
export function launchOf([command = '', ...args]: readonly string[], machine: Machine, say: Say): Launch {
  if (machine.platform !== 'win32') return { file: command, args }
  const file = findProgram(command, machine) ?? command
  if (!/\.(cmd|bat)$/i.test(file)) return { file, args }
  const words = [file, ...args].map((word) => quote(word, say))
  // No commands of the registry before it, no `!NAME!`, and of the whole line only the outermost quotes are taken off.
  const switches = ['/d', '/v:off', '/s', '/c']
  const shell = read(machine.env, 'ComSpec') ?? 'cmd.exe'
  return { file: shell, args: [...switches, `"${words.join(' ')}"`], windowsVerbatimArguments: true }
}

/** As Windows would: in the folders of `Path`, with the endings of `PATHEXT`. Not in the present folder, which may be anybody's. */
function findProgram(command: string, { env, isFile }: Machine): string | undefined {
  const endings = (read(env, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD')
    .split(';')
    .filter((one) => /^\.(com|exe|bat|cmd)$/i.test(one))
  const hasEnding = endings.some((one) => command.toLowerCase().endsWith(one.toLowerCase()))
  const names = hasEnding ? [command] : endings.map((one) => command + one.toLowerCase())
  const isPath = /[\\/:]/.test(command)
  const folders = isPath ? [''] : (read(env, 'Path') ?? '').split(';').filter((one) => win32.isAbsolute(one))
  return folders
    .flatMap((folder) => names.map((name) => (isPath ? win32.normalize(name) : win32.join(folder, name))))
    .find(isFile)
}

/** Names of variables have no case there; those of a copied environment do. */
function read(env: Machine['env'], name: string): string | undefined {
  const key = Object.keys(env).find((one) => one.toLowerCase() === name.toLowerCase())
  return (key !== undefined && env[key]) || undefined
}

/**
 * Within quotes `cmd.exe` takes every mark as it is, but for these: a quote ends them, `%NAME%` is replaced, a line break ends
 * the line. There is no way to write them that every `.cmd` file passes on unchanged.
 */
function quote(word: string, say: Say): string {
  if (/["%\r\n\0]/.test(word)) throw new CliError('bad_word', say('cmdWord', { word }), { exitCode: exit.usage })
  // Before a quote the program would take a backslash for an escape.
  return `"${word.replace(/\\+$/, '$&$&')}"`
}
