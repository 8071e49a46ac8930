import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunOptions, run } from '../../lib/run.ts'
import { Reach } from './reach.ts'
import { seccompFilter } from './seccomp.ts'
import { systemView, type Toolchain } from './toolchain.ts'

/** What one command sees of the machine. */
export interface View {
  /** The host's folder that is the project. */
  readonly project: string
  /** More folders: where they are, and where they appear. Read-only unless said otherwise. */
  readonly mounts: readonly { from: string; to: string; isWritable?: boolean }[]
  /** Shows in the process list; tells whose process it is. */
  readonly name: string
  /** In front of everything: what makes the process another user, and puts it under limits. */
  readonly enter?: readonly string[] | undefined
  /** A descriptor that `enter` opens, to be held for as long as anything runs. */
  readonly lifeline?: number | undefined
  /** Without any network at all. */
  readonly isOffline?: boolean
  /** What it is told of names and of who knows more of them; the host's own otherwise. */
  readonly names?: Readonly<Record<'resolv.conf' | 'hosts', string>> | undefined
}

export interface Launch {
  readonly argv: string[]
  /** Of the first process, which is ours; the command's own comes to it by other ways. */
  readonly env: Record<string, string>
  readonly cwd: string
  /** To be passed on as the descriptors from 4 on, then closed. */
  readonly fds: readonly number[]
}

/** Puts commands behind walls, or in front of none where the machine has none to offer. */
export interface Sandbox {
  readonly isWalled: boolean
  /** Where the project is, as the command sees it. */
  projectPath(view: View): string
  /** Runs in the background, with its status on descriptor 3. */
  instance(view: View, argv: readonly string[], env: Record<string, string>): Launch
  /** Runs to its end, and ends with us. */
  task(view: View, argv: readonly string[], env: Record<string, string>): Launch
}

/** Runs one to its end. Rejects with a RunError. */
export async function runLaunch({ argv, env, cwd, fds }: Launch, options: Omit<RunOptions, 'cwd' | 'env' | 'fds'>) {
  const ended = run(argv, { ...options, cwd, env, fds: ['ignore', ...fds] })
  for (const fd of fds) closeSync(fd) // the child has its own by now
  await ended
}

/** In a PATH: where the usual programs are. Nothing that a bot's owner sets can hold it. */
export const systemPath = '\0'
const inside = '/bot'
// Those before it are the usual three, and the status.
const firstFd = 4
const tools = '/opt/botberth'
// Both are memory. Builds unpack packages there.
const botTmpBytes = 64 * 1024 * 1024
const taskTmpBytes = 1024 * 1024 * 1024

/** Bubblewrap: its monitor keeps the exit code, its pid namespace ends whole trees, its mount view hides the host. */
class Bubblewrap implements Sandbox {
  readonly isWalled = true
  /** Whether what it can be asked of the kernel is bounded. */
  readonly isFiltered: boolean
  readonly #base: string[]
  readonly program: string
  readonly isStrict: boolean
  readonly #reach: Reach

  /** Not strict: for an old bubblewrap, or a kernel that refuses, without bounds on memory files and user namespaces. */
  constructor(
    program: string,
    { node, npm }: Toolchain,
    { isStrict, isFiltered, reach, hiding }: Strength & { reach: Reach; hiding: readonly string[] },
  ) {
    this.program = program
    this.isStrict = isStrict
    this.isFiltered = isFiltered && filterFile() !== undefined
    this.#reach = reach
    this.#base = [
      ...systemView(),
      ...hiding,
      '--ro-bind',
      reach.path(node),
      `${tools}/bin/node`,
      '--ro-bind',
      reach.path(npm),
      `${tools}/npm`,
      '--symlink',
      '../npm/bin/npm-cli.js',
      `${tools}/bin/npm`,
      '--symlink',
      '../npm/bin/npx-cli.js',
      `${tools}/bin/npx`,
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--unshare-user',
      ...(isStrict ? ['--disable-userns'] : []),
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
      '--uid',
      '1000',
      '--gid',
      '1000',
      '--hostname',
      'bot',
      '--cap-drop',
      'ALL',
      '--new-session',
    ]
  }

  projectPath(): string {
    return inside
  }

  instance(view: View, argv: readonly string[], env: Record<string, string>): Launch {
    return this.#launch(view, [...this.#memory(botTmpBytes), '--json-status-fd', '3'], { argv, env })
  }

  task(view: View, argv: readonly string[], env: Record<string, string>): Launch {
    const all = isNpmAlone(argv) ? { ...compiledNpm, ...env } : env
    return this.#launch(view, [...this.#memory(taskTmpBytes), '--die-with-parent'], { argv, env: all })
  }

  /** What can be written beside the project. Everything else that bubblewrap made of memory is closed after that. */
  #memory(bytes: number): string[] {
    const size = this.isStrict ? ['--size', String(bytes)] : []
    const memory = [...size, '--tmpfs', '/tmp', ...size, '--tmpfs', '/dev/shm']
    // /proc too: its settings ask for no capability, and a bot without a user of its own may be root to the kernel.
    return [...memory, ...['/proc', '/dev', '/'].flatMap((path) => ['--remount-ro', path])]
  }

  #launch(view: View, rest: string[], { argv, env }: { argv: readonly string[]; env: Record<string, string> }): Launch {
    const { project, mounts, name, enter = [], lifeline, isOffline, names } = view
    const fds: number[] = []
    const pass = (fd: number): string => String(firstFd + fds.push(fd) - 1)
    const binds = [{ from: project, to: inside, isWritable: true }, ...mounts].flatMap(({ from, to, isWritable }) => [
      isWritable ? '--bind' : '--ro-bind',
      this.#reach.path(from),
      to,
    ])
    const path = `${tools}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`
    const environment = { HOME: inside, ...env, PATH: env['PATH']?.replace(systemPath, path) ?? path }
    const options = [
      ...this.#base,
      ...Object.entries(names ?? {}).flatMap(([file, text]) => [
        '--ro-bind-data',
        pass(passFile(text)),
        `/etc/${file}`,
      ]),
      ...binds,
      ...(isOffline ? ['--unshare-net'] : []),
      ...(lifeline === undefined ? [] : ['--sync-fd', String(lifeline)]),
      '--chdir',
      inside,
      '--setenv',
      'BOTBERTH_NAME',
      name,
      ...rest,
      '--args',
      pass(environmentFd(environment)),
      // Opened anew: it is read to its end.
      ...(this.isFiltered ? ['--seccomp', pass(openSync(`/proc/self/fd/${filterFile()}`, 'r'))] : []),
    ]
    // Those from there on are the shell's that opens the lifeline.
    if (lifeline !== undefined && firstFd + fds.length > lifeline - 1) throw new Error('too many descriptors')
    return { argv: [...enter, this.program, ...options, '--', ...argv], env: {}, cwd: '/', fds }
  }
}

// Where prepare.mjs has left it, in npm's own folder. If it has not, npm compiles itself as it does anywhere.
const compiledNpm = { NODE_COMPILE_CACHE: `${tools}/npm/.compiled`, NODE_COMPILE_CACHE_PORTABLE: '1' }

/** Nobody else's program inherits what is set for it, to compile and try to keep what it cannot. */
function isNpmAlone([command, ...args]: readonly string[]): boolean {
  return command === 'npm' && args.includes('--ignore-scripts')
}

interface Strength {
  readonly isStrict: boolean
  readonly isFiltered: boolean
}

let keptFilter: { fd: number | undefined } | undefined

function filterFile(): number | undefined {
  const filter = keptFilter ? undefined : seccompFilter()
  keptFilter ??= { fd: filter && passFile(filter) }
  return keptFilter.fd
}

/**
 * The command's environment for bubblewrap, by a file that is gone at once. Not by its own environment, where
 * LD_PRELOAD would act outside of the walls, and not by its arguments, which the process list shows.
 */
function environmentFd(env: Record<string, string>): number {
  const args = ['--clearenv', ...Object.entries(env).flatMap(([key, value]) => ['--setenv', key, value])]
  return passFile(args.map((arg) => `${arg}\0`).join(''))
}

/** A file for a child to read, without a name. */
function passFile(content: string | Buffer): number {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-'))
  const file = join(folder, 'file')
  const writer = openSync(file, 'wx', 0o600)
  let reader: number | undefined
  try {
    reader = openSync(file, 'r')
    rmSync(folder, { recursive: true }) // before anything is in it: nothing is left if we are killed here
    writeFileSync(writer, content)
    return reader
  } catch (error) {
    if (reader !== undefined) closeSync(reader)
    throw error
  } finally {
    closeSync(writer)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** No walls: the host's own view. A shell keeps the exit code. */
export class Shim implements Sandbox {
  readonly isWalled = false
  readonly #bin: string

  /** `bin`: a folder with node, npm and npx. */
  constructor(bin: string) {
    this.#bin = bin
  }

  projectPath({ project }: View): string {
    return project
  }

  instance(view: View, argv: readonly string[], env: Record<string, string>): Launch {
    return this.#launch(view, ['/bin/sh', '-c', keepExitCode, view.name, ...argv], env)
  }

  task(view: View, argv: readonly string[], env: Record<string, string>): Launch {
    return this.#launch(view, [...argv], env)
  }

  #launch({ project, name, enter = [] }: View, argv: string[], env: Record<string, string>): Launch {
    const path = `${this.#bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`
    const own = { HOME: project, ...env, PATH: env['PATH']?.replace(systemPath, path) ?? path, BOTBERTH_NAME: name }
    return { argv: [...enter, ...argv], env: own, cwd: project, fds: [] }
  }
}

// A signal to the group reaches the shell too: it waits on. A handler, not "ignore", which the bot would inherit; and
// not before the bot is there, which would have the handler too until it has shed it, and lose a signal meanwhile.
const keepExitCode = `
"$@" 3>&- &
child=$!
trap : TERM INT HUP
printf '{ "child-pid": %s }\\n' "$child" >&3
while :; do
  wait "$child"
  code=$?
  kill -0 "$child" 2>/dev/null || break
done
wait "$child" # again: a signal may have come in the moment of its end, and was what the first one told of
again=$?
[ "$again" = 127 ] || code=$again
printf '{ "exit-code": %s }\\n' "$code" >&3
exit "$code"`

export interface FoundSandbox {
  readonly sandbox?: Bubblewrap
  /** Why there is none, or only a weaker one. */
  readonly problem?: string | undefined
}

interface Trial {
  readonly project?: string
  readonly enter?: readonly string[]
  readonly reach?: Reach
  /** Options for what of the system's folders is not to be seen. */
  readonly hiding?: readonly string[]
  /** Without what `calls` is made of, for tests. */
  readonly isUnfiltered?: boolean
}

/** The strongest that works here; in many containers none does. */
export function findBubblewrap(program: string | undefined, toolchain: Toolchain, trial: Trial = {}): FoundSandbox {
  if (program === undefined) return { problem: 'it is not installed' }
  const { project = mkdtempSync(join(tmpdir(), 'botberth-')), reach = new Reach(), hiding = [], isUnfiltered } = trial
  let firstProblem: string | undefined
  try {
    for (const strength of strengths.filter(({ isFiltered }) => !(isFiltered && isUnfiltered))) {
      const sandbox = new Bubblewrap(program, toolchain, { ...strength, reach, hiding })
      const problem = trySandbox(sandbox, { project, mounts: [], name: 'probe', enter: trial.enter })
      firstProblem ??= problem
      if (problem === undefined) return { sandbox, problem: firstProblem }
    }
    return { problem: firstProblem }
  } finally {
    rmSync(project, { recursive: true })
  }
}

const strengths: readonly Strength[] = [
  { isStrict: true, isFiltered: true },
  { isStrict: true, isFiltered: false },
  { isStrict: false, isFiltered: true },
  { isStrict: false, isFiltered: false },
]

/** What is wrong with it on this machine, if anything. */
function trySandbox(sandbox: Sandbox, view: View): string | undefined {
  const { argv, fds } = sandbox.task(view, ['node', '--version'], {})
  try {
    const [command = '', ...args] = argv
    const { status, stderr, error } = spawnSync(command, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ignore', ...fds],
      timeout: 10_000,
      env: {},
    })
    return status === 0 ? undefined : (error?.message ?? stderr.toString().trim().slice(0, 500))
  } finally {
    for (const fd of fds) closeSync(fd)
  }
}
