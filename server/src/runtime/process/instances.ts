import { type ChildProcess, spawn } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  existsSync,
  type FSWatcher,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { basename, extname, join } from 'node:path'
import type { Log } from '../../lib/log.ts'
import {
  bootId,
  findByArgument,
  findByEnvironment,
  listTree,
  readProc,
  readTimes,
  signalProcess,
} from '../../lib/proc.ts'
import type { Exit, Instance, OutputStream } from '../runtime.ts'
import type { Folders } from './folders.ts'
import { type GroupLimiter, mebibyte } from './limits.ts'
import type { Guarded } from './memory-guard.ts'
import type { RunningBot } from './networks.ts'
import { keepRoom } from './output-files.ts'
import type { Launch } from './sandbox.ts'

// The folder watch sees deaths within milliseconds; this finds what it missed, or all where there is none.
const sweepIntervalMs = 5_000
const sweepAloneIntervalMs = 500
// A SIGKILL takes effect within milliseconds.
const leftIntervalMs = 5
/** An exit code that nobody knows. */
const lost = -1

/** What is written about an instance before it is started, and what is learnt afterwards. */
interface Note {
  readonly id: string
  readonly botId: string
  readonly startedAt: string
  readonly bootId: string
  /** Which folder this note was written in: one in a copy of it speaks of processes that are not the copy's. */
  readonly folder: string
  readonly memoryMb?: number
  readonly cpus?: number
  /** Of the process that keeps the exit code. Missing if we were killed right after the start. */
  readonly monitor?: Monitor
}

interface Monitor {
  readonly pid: number
  readonly startTime: number
}

interface Known {
  note: Note
  /** The folder of what it writes. */
  readonly output: string
  exit: Exit | undefined
  /** Asked for several times a second, and always the same once it is known. */
  main?: number | undefined
  /** How it ended, as far as we can tell, if nobody has written it down; -1 for lost. */
  concluded?: number
  /** For what is left of it to be gone. */
  timer?: NodeJS.Timeout | undefined
  readonly ended: PromiseWithResolvers<void>
}

interface Options {
  readonly isWalled: boolean
  readonly limiter?: GroupLimiter | undefined
  readonly log?: Log | undefined
}

/** The processes of this machine that are bots. They outlive us; what we know of them is on disk. */
export class Instances {
  readonly #folders: Folders
  readonly #folder: string
  readonly #isWalled: boolean
  readonly #limiter: GroupLimiter | undefined
  readonly #log: Log | undefined
  readonly #known = new Map<string, Known>()
  readonly #listeners = new Set<(instance: Instance) => void>()
  /** Undefined: bots of an ordinary user, who share its watches, may have left none for us. */
  readonly #watcher: FSWatcher | undefined
  readonly #sweeper: NodeJS.Timeout
  #isClosed = false

  /** Finds again whatever runs, and learns what ended meanwhile. */
  constructor(folders: Folders, { isWalled, limiter, log }: Options) {
    this.#folders = folders
    const { dev, ino } = statSync(folders.notes) // stays the same when the folder is moved, and not when it is copied
    this.#folder = `${dev}:${ino}`
    this.#isWalled = isWalled
    this.#limiter = limiter
    this.#log = log
    this.#watcher = tryWatch(folders.status, (file) => {
      if (file.endsWith('.status')) this.#tryTo(() => this.#look(basename(file, '.status')))
    })
    const everyMs = this.#watcher ? sweepIntervalMs : sweepAloneIntervalMs
    this.#sweeper = setInterval(() => this.#sweep(), everyMs).unref()
    for (const file of readdirSync(folders.notes)) {
      if (file.endsWith('.json')) this.#adopt(basename(file, '.json'))
      if (file.endsWith('.tmp')) rmSync(join(folders.notes, file), { force: true })
    }
    limiter?.sweep(new Map([...this.#known].map(([id, { note }]) => [id, note.cpus])))
    this.#sweep()
  }

  #adopt(id: string): void {
    const note = readNote(join(this.#folders.notes, `${id}.json`))
    if (note && note.folder !== this.#folder) {
      this.forget(id)
      return
    }
    const monitor = note?.monitor ?? (note?.bootId === bootId() ? findMonitor(id) : undefined)
    // Cut short by a loss of power or a full disk: whose it was is not known, so it may not go on. Or we were killed
    // between the note and the start: then it never was, and whoever wanted it starts it.
    if (!note || (!monitor && !this.#hasBegun(id))) {
      for (const pid of [...findByArgument(id), ...findByEnvironment(nameEntry(id))]) signalProcess(pid, 'SIGKILL')
      this.forget(id)
      return
    }
    const found = monitor ? { ...note, monitor } : note
    const output = this.#findOutput(found)
    this.#known.set(id, { note: found, output, exit: undefined, ended: Promise.withResolvers() })
  }

  #hasBegun(id: string): boolean {
    const { childPid, exitCode } = readStatus(this.#statusFile(id))
    return childPid !== undefined || exitCode !== undefined
  }

  /** One that an earlier version started writes beside its note for as long as it runs. */
  #findOutput({ id, botId }: Pick<Note, 'id' | 'botId'>): string {
    return existsSync(join(this.#folders.notes, `${id}.stdout`)) ? this.#folders.notes : this.#folders.output(botId)
  }

  close(): void {
    this.#isClosed = true
    this.#watcher?.close()
    clearInterval(this.#sweeper)
    for (const { timer } of this.#known.values()) clearTimeout(timer)
  }

  list(): Instance[] {
    return [...this.#known.values()].map(toInstance)
  }

  /** Those that have not ended. */
  running(): RunningBot[] {
    return this.#notes().map(({ id, botId }) => ({
      botId,
      monitor: this.mainPid(id) === undefined ? undefined : this.#monitor(id),
    }))
  }

  /** For when nobody else sees to their memory. */
  listGuarded(): Guarded[] {
    return this.#notes().flatMap(({ id, memoryMb }) => {
      const pid = this.mainPid(id)
      if (pid === undefined || memoryMb === undefined) return []
      return { pid, memoryBytes: memoryMb * mebibyte, end: () => this.#endForMemory(id) }
    })
  }

  #notes(): Note[] {
    return [...this.#known.values()].flatMap(({ note, exit }) => (exit ? [] : note))
  }

  botOf(id: string): string | undefined {
    return this.#known.get(id)?.note.botId
  }

  has(id: string): boolean {
    return this.#known.has(id)
  }

  onExit(listener: (instance: Instance) => void): () => void {
    this.#listeners.add(listener)
    for (const known of this.#known.values()) if (known.exit) listener(toInstance(known))
    return () => this.#listeners.delete(listener)
  }

  /** Undefined: it is not known, or no longer. */
  outputFile(id: string, stream: OutputStream): string | undefined {
    const folder = this.#known.get(id)?.output
    return folder && join(folder, `${id}.${stream}`)
  }

  /**
   * The note comes first: whatever runs without one could not be found again. What cannot be started has ended, as
   * if a shell had been told to start it. Rejects if there is no room for what it would write. `isBounded`: its disk
   * can be full.
   */
  async start(
    bot: Pick<Note, 'id' | 'botId' | 'memoryMb' | 'cpus'>,
    { launch, isBounded }: { launch: () => Launch; isBounded: boolean },
  ): Promise<void> {
    const note: Note = { ...bot, startedAt: new Date().toISOString(), bootId: bootId(), folder: this.#folder }
    const { id } = note
    const output = this.#folders.output(note.botId)
    const files = this.#openOutput(output, id)
    const known: Known = { note, output, exit: undefined, ended: Promise.withResolvers() }
    try {
      this.#write(note)
      this.#known.set(id, known)
      const child = this.#spawn(id, files, launch())
      child.once('exit', (code) => this.#tryTo(() => this.#conclude(id, code ?? lost)))
      await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
      child.unref()
      if (isBounded) keepRoom(files)
      const pid = child.pid ?? 0
      const startTime = readTimes(pid)?.startTime
      if (startTime !== undefined) known.note = { ...note, monitor: { pid, startTime } }
    } catch (error) {
      if (!this.#known.has(id)) throw error
      tryAppend(join(output, `${id}.stderr`), `The bot could not be started: ${(error as Error).message}\n`)
      this.#conclude(id, 127)
      return
    } finally {
      for (const file of files) closeSync(file)
    }
    try {
      this.#write(known.note)
    } catch {
      // A full disk, say. It runs all the same, and can be found again by its name.
    }
  }

  /** Of its stdout and stderr. What was left there by runs that nobody knows any more goes. */
  #openOutput(folder: string, id: string): number[] {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const file of readdirSync(folder))
      if (!this.#known.has(basename(file, extname(file)))) rmSync(join(folder, file), { recursive: true })
    const files: number[] = []
    try {
      for (const stream of ['stdout', 'stderr']) files.push(openSync(join(folder, `${id}.${stream}`), 'a', 0o600))
      return files
    } catch (error) {
      for (const file of files) closeSync(file)
      throw error
    }
  }

  #spawn(id: string, output: readonly number[], { argv, env, cwd, fds }: Launch): ChildProcess {
    const [command = '', ...args] = argv
    let status: number | undefined
    try {
      status = openSync(this.#statusFile(id), 'a', 0o600)
      return spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', ...output, status, ...fds] })
    } finally {
      for (const file of [...(status === undefined ? [] : [status]), ...fds]) closeSync(file)
    }
  }

  /** Ends all of it: those who listen to SIGTERM in time, the others anyhow. */
  async stop(id: string, graceMs: number): Promise<void> {
    const known = this.#known.get(id)
    if (!known) return
    const until = performance.now() + graceMs
    let isAsked = false
    while (!known.exit && !this.#isClosed) {
      const restMs = until - performance.now()
      if (restMs <= 0) this.#kill(id)
      else if (!isAsked) isAsked = this.#ask(id)
      const pauseMs = restMs <= 0 ? 50 : Math.min(restMs, isAsked ? 250 : 10)
      await Promise.race([known.ended.promise, sleep(pauseMs)])
      this.#check(id)
    }
  }

  /** It has taken more memory than it may. That is written down first: we may be gone when its end is seen. */
  #endForMemory(id: string): void {
    tryAppend(this.#statusFile(id), '{ "out-of-memory": 1 }\n')
    this.#kill(id)
  }

  /** While it runs: the process that the status names, the bot's own or the one that all of its others hang on. */
  mainPid(id: string): number | undefined {
    const known = this.#known.get(id)
    if (!known || known.exit) return undefined
    known.main ??= readStatus(this.#statusFile(id)).childPid
    return known.main
  }

  forget(id: string): void {
    clearTimeout(this.#known.get(id)?.timer)
    const output = this.#known.get(id)?.output ?? this.#folders.notes
    this.#known.delete(id)
    for (const file of [
      join(this.#folders.notes, `${id}.json`),
      this.#statusFile(id),
      join(output, `${id}.stdout`),
      join(output, `${id}.stderr`),
    ])
      rmSync(file, { force: true })
    this.#limiter?.leave(id, 'bots')
  }

  /** SIGTERM, but not before there is somebody to hear it: one that comes too early is lost. */
  #ask(id: string): boolean {
    const child = this.mainPid(id)
    if (child === undefined) return false
    if (!this.#isWalled) {
      const monitor = this.#monitor(id)
      return monitor !== undefined && signalProcess(-monitor, 'SIGTERM')
    }
    // Never the monitor, or the exit code is lost. The first process of the namespace leads the group and is deaf.
    const isAlone = readProc(child, `task/${child}/children`) === ''
    return !isAlone && this.#isOurs(id, child) && signalProcess(-child, 'SIGTERM')
  }

  #kill(id: string): void {
    for (const pid of this.#listProcesses(id)) signalProcess(pid, 'SIGKILL')
  }

  /** All but the monitor, or enough of them to take the others along. */
  #listProcesses(id: string): number[] {
    const child = readStatus(this.#statusFile(id)).childPid
    if (this.#isWalled) return child !== undefined && this.#isOurs(id, child) ? [child] : []
    // A process can leave the group and its parents, but hardly ever drops the environment that it was started with.
    const monitor = this.#monitor(id)
    const pids = new Set([...(monitor === undefined ? [] : listTree(monitor)), ...findByEnvironment(nameEntry(id))])
    return [...pids].filter((pid) => pid !== monitor && readTimes(pid))
  }

  /** A pid may have gone to a stranger: ours carry the name of the instance. */
  #isOurs(id: string, pid: number): boolean {
    return readProc(pid, 'cmdline')?.includes(id) ?? false
  }

  /** Undefined once it is gone. */
  #monitor(id: string): number | undefined {
    const note = this.#known.get(id)?.note
    if (!note?.monitor || note.bootId !== bootId()) return undefined
    return readTimes(note.monitor.pid)?.startTime === note.monitor.startTime ? note.monitor.pid : undefined
  }

  #sweep(): void {
    for (const [id, { exit }] of this.#known) if (!exit) this.#tryTo(() => this.#check(id))
  }

  /** Of a timer, where nobody could deal with it: the machine may have no file left to open just now. The next sweep looks again. */
  #tryTo(look: () => void): void {
    try {
      look()
    } catch (error) {
      this.#log?.warn({ err: error }, 'a bot could not be looked at')
    }
  }

  #check(id: string): void {
    this.#look(id)
    const known = this.#known.get(id)
    if (known && !known.exit && this.#monitor(id) === undefined) this.#conclude(id, lost)
  }

  /** The monitor is gone. What it wrote counts more than what we think. */
  #conclude(id: string, code: number): void {
    const known = this.#known.get(id)
    if (!known || known.exit || this.#isClosed) return
    known.concluded ??= code
    this.#look(id)
  }

  /** Tells of the end once it is known and nothing is left: what the bot left behind goes with it. */
  #look(id: string): void {
    const known = this.#known.get(id)
    if (!known || known.exit || this.#isClosed) return
    const status = readStatus(this.#statusFile(id))
    const code = status.exitCode ?? known.concluded
    if (code === undefined) return
    const monitor = this.#monitor(id)
    const left = [...this.#listProcesses(id), ...(monitor === undefined ? [] : [monitor])]
    for (const pid of left) signalProcess(pid, 'SIGKILL')
    if (left.length > 0) {
      known.timer ??= setTimeout(() => {
        known.timer = undefined
        this.#tryTo(() => this.#look(id))
      }, leftIntervalMs)
      return
    }
    // If that fails, whoever looks next finds no monitor either, and comes to the same end.
    if (status.exitCode === undefined) tryAppend(this.#statusFile(id), `{ "exit-code": ${code} }\n`)
    const oomKilled = code !== 0 && (status.isOutOfMemory || (this.#limiter?.hasRunOutOfMemory(id) ?? false))
    known.exit = { code: code < 0 ? null : code, signal: signals.get(code) ?? null, oomKilled, at: status.at }
    known.ended.resolve()
    for (const listener of this.#listeners) listener(toInstance(known))
  }

  #write(note: Note): void {
    const file = join(this.#folders.notes, `${note.id}.json`)
    try {
      writeFileSync(`${file}.tmp`, JSON.stringify(note), { mode: 0o600 })
      renameSync(`${file}.tmp`, file)
    } catch (error) {
      rmSync(`${file}.tmp`, { force: true })
      throw error
    }
  }

  #statusFile(id: string): string {
    return join(this.#folders.status, `${id}.status`)
  }
}

const nameEntry = (id: string) => `BOTBERTH_NAME=${id}`

function tryWatch(folder: string, onFile: (name: string) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, (_event, file) => file !== null && onFile(file))
    watcher.on('error', () => {}) // the sweep goes on
    return watcher.unref()
  } catch (error) {
    if (!['EMFILE', 'ENOSPC'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return undefined
  }
}

/** A full disk, say, must not keep us from going on. */
function tryAppend(file: string, text: string): void {
  try {
    appendFileSync(file, text, { mode: 0o600 })
  } catch {
    // It is known to us all the same.
  }
}

function readNote(file: string): Note | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Note
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The first of those that carry the name. */
function findMonitor(id: string): Monitor | undefined {
  const named = findByArgument(id)
  const pid = named.find((candidate) => !named.includes(readTimes(candidate)?.parent ?? 0))
  const startTime = pid === undefined ? undefined : readTimes(pid)?.startTime
  return pid === undefined || startTime === undefined ? undefined : { pid, startTime }
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

function readStatus(file: string): { childPid?: number; exitCode?: number; isOutOfMemory: boolean; at: Date } {
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
    isOutOfMemory: number('out-of-memory') !== undefined,
    at: code === undefined ? new Date() : statSync(file).mtime,
  }
}

function toInstance({ note, exit }: Known): Instance {
  return { id: note.id, botId: note.botId, startedAt: new Date(note.startedAt), exit }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
