import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemView, type Toolchain } from './toolchain.ts'

/** What one command sees of the machine. */
export interface View {
  /** The host's folder that is the project. */
  readonly project: string
  /** More folders: where they are, and where they appear. Read-only unless said otherwise. */
  readonly mounts: readonly { from: string; to: string; isWritable?: boolean }[]
  /** Shows in the process list; tells whose process it is. */
  readonly name: string
}

export interface Launch {
  readonly argv: string[]
  /** Of the first process, which is ours; the command's own comes to it by other ways. */
  readonly env: Record<string, string>
  readonly cwd: string
  /** To be passed on as the descriptor 4, then closed. */
  readonly argsFd: number | undefined
}

/** Puts commands behind walls, or in front of none where the machine has none to offer. */
export interface Sandbox {
  readonly walls: string | undefined
  /** Where the project is, as the command sees it. */
  projectPath(view: View): string
  /** Runs in the background, with its status on descriptor 3. */
  instance(view: View, argv: readonly string[], env: Record<string, string>): Launch
  /** Runs to its end, and ends with us. */
  task(view: View, argv: readonly string[], env: Record<string, string>): Launch
}

const inside = '/bot'
const tools = '/opt/botberth'

/** Bubblewrap: its monitor keeps the exit code, its pid namespace ends whole trees, its mount view hides the host. */
export class Bubblewrap implements Sandbox {
  readonly walls = 'bubblewrap: own file system view, processes and users; no limits and no own network yet'
  readonly #base: string[]
  readonly #program: string

  constructor(program: string, { node, npm }: Toolchain) {
    this.#program = program
    this.#base = [
      ...systemView(),
      '--ro-bind',
      node,
      `${tools}/bin/node`,
      '--ro-bind',
      npm,
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
      '--tmpfs',
      '/tmp',
      '--unshare-user',
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
    return this.#launch(view, ['--json-status-fd', '3', '--args', '4', '--', ...argv], env)
  }

  task(view: View, argv: readonly string[], env: Record<string, string>): Launch {
    return this.#launch(view, ['--die-with-parent', '--args', '4', '--', ...argv], env)
  }

  #launch({ project, mounts, name }: View, rest: string[], env: Record<string, string>): Launch {
    const binds = mounts.flatMap(({ from, to, isWritable }) => [isWritable ? '--bind' : '--ro-bind', from, to])
    const argv = [this.#program, ...this.#base, '--bind', project, inside, ...binds, '--chdir', inside]
    const path = `${tools}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`
    return {
      argv: [...argv, '--setenv', 'BOTBERTH_NAME', name, ...rest],
      env: {},
      cwd: '/',
      argsFd: environmentFd({ HOME: inside, ...env, PATH: env['PATH']?.replace('{system}', path) ?? path }),
    }
  }
}

/**
 * The command's environment for bubblewrap, by a file that is gone at once. Not by its own environment, where
 * LD_PRELOAD would act outside of the walls, and not by its arguments, which the process list shows.
 */
function environmentFd(env: Record<string, string>): number {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-'))
  try {
    const file = join(folder, 'args')
    const args = ['--clearenv', ...Object.entries(env).flatMap(([key, value]) => ['--setenv', key, value])]
    writeFileSync(file, args.map((arg) => `${arg}\0`).join(''), { mode: 0o600 })
    return openSync(file, 'r')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** No walls: the host's own view and user. A shell keeps the exit code. */
export class Shim implements Sandbox {
  readonly walls = undefined
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

  #launch({ project, name }: View, argv: string[], env: Record<string, string>): Launch {
    const path = `${this.#bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`
    const own = { HOME: project, ...env, PATH: env['PATH']?.replace('{system}', path) ?? path, BOTBERTH_NAME: name }
    return { argv, env: own, cwd: project, argsFd: undefined }
  }
}

// A signal to the group reaches the shell too: it waits on. A handler, not "ignore", which the bot would inherit.
const keepExitCode = `
trap : TERM INT HUP
"$@" 3>&- &
child=$!
printf '{ "child-pid": %s }\\n' "$child" >&3
while :; do
  wait "$child"
  code=$?
  kill -0 "$child" 2>/dev/null || break
done
printf '{ "exit-code": %s }\\n' "$code" >&3`

/** Whether bubblewrap is there and works here, which it does not in many containers; else the reason. */
export function tryBubblewrap(program: string, toolchain: Toolchain): string | undefined {
  const project = mkdtempSync(join(tmpdir(), 'botberth-'))
  const { argv, argsFd } = new Bubblewrap(program, toolchain).task(
    { project, mounts: [], name: 'probe' },
    [`${tools}/bin/node`, '--version'],
    {},
  )
  try {
    const [command = '', ...args] = argv
    const { status, stderr, error } = spawnSync(command, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ignore', argsFd],
      timeout: 10_000,
      env: {},
    })
    return status === 0 ? undefined : (error?.message ?? stderr.toString().trim().slice(0, 500))
  } finally {
    if (argsFd !== undefined) closeSync(argsFd)
    rmSync(project, { recursive: true })
  }
}
