import { type ChildProcess, spawn } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { bootId, findByEnvironment, readProc, readTimes, signalProcess } from '../../lib/proc.ts'
import type { Exit, Instance, OutputStream } from '../runtime.ts'
import type { Folders } from './folders.ts'
import type { Launch } from './sandbox.ts'

// The folder watch sees deaths within milliseconds; this finds what it missed.
const sweepIntervalMs = 5_000

/** What is written about an instance before it is started, and what is learnt afterwards. */
interface Note {
  readonly id: string
  readonly botId: string
  readonly startedAt: string
  readonly bootId: string
  /** Of the process that keeps the exit code. Missing if we were killed right after the start. */
  readonly monitor?: { readonly pid: number; readonly startTime: number }
}

interface Known {
  note: Note
  exit: Exit | undefined
  readonly ended: PromiseWithResolvers<void>
}

/** The processes of this machine that are bots. They outlive us; what we know of them is on disk. */
export class Instances {
  readonly #folders: Folders
  readonly #isWalled: boolean
  readonly #known = new Map<string, Known>()
  readonly #listeners = new Set<(instance: Instance) => void>()
  readonly #close: () => void

  /** Finds again whatever runs, and learns what ended meanwhile. */
  constructor(folders: Folders, { isWalled }: { isWalled: boolean }) {
    this.#folders = folders
    this.#isWalled = isWalled
    const watcher = watch(folders.status, (_event, file) => {
      if (file?.endsWith('.status')) this.#look(basename(file, '.status'))
    })
    const sweep = setInterval(() => this.#sweep(), sweepIntervalMs).unref()
    watcher.unref()
    this.#close = () => {
      watcher.close()
      clearInterval(sweep)
    }
    for (const file of readdirSync(folders.output).filter((name) => name.endsWith('.json'))) {
      const note = JSON.parse(readFileSync(join(folders.output, file), 'utf8')) as Note
      this.#known.set(note.id, { note, exit: undefined, ended: Promise.withResolvers() })
    }
    this.#sweep()
  }

  close(): void {
    this.#close()
  }

  list(): Instance[] {
    return [...this.#known.values()].map(toInstance)
  }

  has(id: string): boolean {
    return this.#known.has(id)
  }

  onExit(listener: (instance: Instance) => void): () => void {
    this.#listeners.add(listener)
    for (const known of this.#known.values()) if (known.exit) listener(toInstance(known))
    return () => this.#listeners.delete(listener)
  }

  outputFile(id: string, stream: OutputStream): string {
    return join(this.#folders.output, `${id}.${stream}`)
  }

  /** The note comes first: whatever runs without one could not be found again. */
  async start({ id, botId }: { id: string; botId: string }, launch: () => Launch): Promise<void> {
    const note: Note = { id, botId, startedAt: new Date().toISOString(), bootId: bootId() }
    this.#write(note)
    this.#known.set(id, { note, exit: undefined, ended: Promise.withResolvers() })
    try {
      const child = this.#spawn(id, launch())
      await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
      const pid = child.pid ?? 0
      const startTime = readTimes(pid)?.startTime
      if (startTime !== undefined) this.#write({ ...note, monitor: { pid, startTime } })
      child.once('exit', (code) => setTimeout(() => this.#conclude(id, code ?? 1), 50))
      child.unref()
    } catch (error) {
      this.#conclude(id, 127)
      throw error
    }
  }

  #spawn(id: string, { argv, env, cwd, argsFd }: Launch): ChildProcess {
    const [command = '', ...args] = argv
    const append = (file: string) => openSync(file, 'a', 0o600)
    const files = [
      append(this.outputFile(id, 'stdout')),
      append(this.outputFile(id, 'stderr')),
      append(this.#statusFile(id)),
      ...(argsFd === undefined ? [] : [argsFd]),
    ]
    try {
      return spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', ...files] })
    } finally {
      for (const file of files) closeSync(file)
    }
  }

  /** Ends all of it: those who listen to SIGTERM in time, the others anyhow. */
  async stop(id: string, graceMs: number): Promise<void> {
    const known = this.#known.get(id)
    if (!known || known.exit) return
    if (graceMs > 0 && this.#signal(id, 'SIGTERM')) await Promise.race([known.ended.promise, sleep(graceMs)])
    while (!known.exit) {
      this.#signal(id, 'SIGKILL')
      await Promise.race([known.ended.promise, sleep(100)])
      this.#look(id)
    }
    this.#endStrays(id)
  }

  /** The process that the status names: the bot's own, or the one that all of its others hang on. */
  mainPid(id: string): number | undefined {
    return readStatus(this.#statusFile(id)).childPid
  }

  forget(id: string): void {
    this.#known.delete(id)
    for (const file of [
      join(this.#folders.output, `${id}.json`),
      this.#statusFile(id),
      this.outputFile(id, 'stdout'),
      this.outputFile(id, 'stderr'),
    ])
      rmSync(file, { force: true })
  }

  #signal(id: string, signal: 'SIGTERM' | 'SIGKILL'): boolean {
    const child = this.mainPid(id)
    const monitor = this.#known.get(id)?.note.monitor
    if (this.#isWalled) {
      // Never the monitor, or the exit code is lost. The first process of the namespace takes all others along.
      if (child === undefined || !this.#isOurs(id, child)) return false
      return signalProcess(signal === 'SIGKILL' ? child : -child, signal)
    }
    if (!monitor || readTimes(monitor.pid)?.startTime !== monitor.startTime) return false
    return signalProcess(-monitor.pid, signal)
  }

  /** A pid may have gone to a stranger: ours carry the name of the instance. */
  #isOurs(id: string, pid: number): boolean {
    return readProc(pid, 'cmdline')?.includes(id) ?? false
  }

  /** Without walls a process can leave the group; what it cannot shed is the environment it was started with. */
  #endStrays(id: string): void {
    if (this.#isWalled) return
    for (const pid of findByEnvironment(`BOTBERTH_NAME=${id}`)) signalProcess(pid, 'SIGKILL')
  }

  #sweep(): void {
    for (const [id, known] of this.#known) {
      if (known.exit) continue
      this.#look(id)
      if (!known.exit && !this.#isAlive(known.note)) this.#conclude(id, undefined)
    }
  }

  #isAlive({ id, bootId: boot, monitor }: Note): boolean {
    if (boot !== bootId()) return false
    if (monitor) return readTimes(monitor.pid)?.startTime === monitor.startTime
    const child = this.mainPid(id)
    return child !== undefined && readTimes(child) !== undefined && this.#isOurs(id, child)
  }

  /** The monitor is gone. If it could not say how the bot ended, nothing of the bot may be left either. */
  #conclude(id: string, code: number | undefined): void {
    const known = this.#known.get(id)
    if (!known || known.exit) return
    if (readStatus(this.#statusFile(id)).exitCode === undefined) {
      const child = this.mainPid(id)
      if (this.#isWalled && child !== undefined && this.#isOurs(id, child)) signalProcess(child, 'SIGKILL')
      appendFileSync(this.#statusFile(id), `{ "exit-code": ${code ?? -1} }\n`)
    }
    this.#look(id)
  }

  #look(id: string): void {
    const known = this.#known.get(id)
    if (!known || known.exit) return
    const { exitCode, at } = readStatus(this.#statusFile(id))
    if (exitCode === undefined) return
    const signal = signals.get(exitCode) ?? null
    known.exit = { code: exitCode < 0 ? null : exitCode, signal, oomKilled: false, at }
    this.#endStrays(id)
    known.ended.resolve()
    for (const listener of this.#listeners) listener(toInstance(known))
  }

  #write(note: Note): void {
    const file = join(this.#folders.output, `${note.id}.json`)
    writeFileSync(`${file}.tmp`, JSON.stringify(note), { mode: 0o600 })
    renameSync(`${file}.tmp`, file)
    const known = this.#known.get(note.id)
    if (known) known.note = note
  }

  #statusFile(id: string): string {
    return join(this.#folders.status, `${id}.status`)
  }
}

// As shells count: 128 and the number of the signal.
const signals = new Map([
  [129, 'SIGHUP'],
  [130, 'SIGINT'],
  [131, 'SIGQUIT'],
  [132, 'SIGILL'],
  [134, 'SIGABRT'],
  [135, 'SIGBUS'],
  [136, 'SIGFPE'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [141, 'SIGPIPE'],
  [143, 'SIGTERM'],
])

function readStatus(file: string): { childPid?: number; exitCode?: number; at: Date } {
  let text = ''
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const number = (name: string) => new RegExp(`"${name}": (-?\\d+)`).exec(text)?.[1]
  const [child, code] = [number('child-pid'), number('exit-code')]
  return {
    ...(child !== undefined && { childPid: Number(child) }),
    ...(code !== undefined && { exitCode: Number(code) }),
    at: code === undefined ? new Date() : statSync(file).mtime,
  }
}

function toInstance({ note, exit }: Known): Instance {
  return { id: note.id, botId: note.botId, startedAt: new Date(note.startedAt), exit }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
