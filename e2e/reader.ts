// Somebody who follows a page of the documentation: runs what is printed in a shell, one block after the other, and reads
// what comes back. Variables and the folder are kept from block to block, as in one terminal.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'

/** What a person does at the terminal when something appears on it; returns what is typed. */
export interface Reaction {
  /** In the command that it belongs to. */
  readonly sample: string
  readonly seen: RegExp
  readonly respond: (found: RegExpExecArray) => Promise<string> | string
}

export const ctrlC = '\u0003'
const interrupted = 130

interface Ended {
  readonly output: string
  /** Undefined: all went well. */
  readonly problem: string | undefined
}

const children = new Set<ChildProcess>()

after(() => {
  for (const child of children) endGroup(child)
})

/** A process and everything that it has started. */
export function endGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid ?? 0), 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** In a process group of its own, ended with the tests at the latest. */
export function startProgram(argv: readonly string[], how: { cwd: string; env: NodeJS.ProcessEnv }) {
  const [file = '', ...args] = argv
  const child = spawn(file, args, { ...how, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  children.add(child)
  let output = ''
  const listeners: (() => void)[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      for (const listener of listeners) listener()
    })
  }
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      children.delete(child)
      resolve(code ?? interrupted)
    })
  })
  return { child, exited, output: () => output, onOutput: (listener: () => void) => listeners.push(listener) }
}

export class Reader {
  readonly folder: string
  /** Everything that was printed so far. */
  printed = ''
  readonly #env: NodeJS.ProcessEnv
  readonly #state: string
  #count = 0

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.folder = join(folder, 'home')
    this.#state = folder
    this.#env = { ...env, HOME: this.folder }
    mkdirSync(this.folder, { recursive: true })
    writeFileSync(join(this.folder, '.gitconfig'), '[user]\n\tname = Reader\n\temail = reader@example.com\n')
    writeFileSync(join(folder, 'folder'), this.folder)
  }

  /** At a terminal if there is something to react to. `cwd`: instead of where the block before it has ended. */
  async run(
    commands: string,
    { cwd, reactions = [] }: { cwd?: string; reactions?: readonly Reaction[] },
  ): Promise<Ended> {
    const file = join(this.#state, `${this.#count++}.sh`)
    writeFileSync(file, this.#script(commands, cwd))
    const argv = reactions.length > 0 ? ['script', '-qefc', `bash '${file}'`, '/dev/null'] : ['bash', file]
    const { child, exited, output, onOutput } = startProgram(argv, { cwd: this.folder, env: this.#env })
    if (reactions.length === 0) child.stdin?.end()
    const waiting = [...reactions]
    let from = 0
    let wanted = 0
    onOutput(() => {
      const found = waiting[0]?.seen.exec(output().slice(from))
      const reaction = found ? waiting.shift() : undefined
      if (!found || !reaction) return
      from = output().length
      void react(reaction, found)
    })
    const react = async (reaction: Reaction, found: RegExpExecArray) => {
      const typed = await reaction.respond(found)
      if (typed === ctrlC) wanted = interrupted
      child.stdin?.write(typed)
    }
    const code = await exited
    this.printed += output()
    const problem =
      code !== wanted ? `exit code ${code}` : waiting[0] ? `${String(waiting[0].seen)} never appeared` : undefined
    return { output: output(), problem }
  }

  /** Every variable is exported, so that the next block gets it; bash keeps its own options to itself. */
  #script(commands: string, cwd: string | undefined): string {
    const [variables, folder] = [join(this.#state, 'variables'), join(this.#state, 'folder')]
    const before = existsSync(variables) ? `. '${variables}'` : ':'
    return `set -aeuo pipefail
${before}
cd '${cwd ?? readFileSync(folder, 'utf8').trim()}'
trap '{ declare +x SHELLOPTS BASHOPTS; export -p >"${variables}"; ${cwd === undefined ? `pwd >"${folder}";` : ''} } 2>&-' EXIT
${commands}`
  }
}
