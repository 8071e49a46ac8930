import type { Readable } from 'node:stream'

/** How an instance ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
  readonly oomKilled: boolean
  /** Whether it was stopped because its disk held more than it may. */
  readonly diskFull?: boolean
  readonly at: Date
}

/** One run of a bot, from its start to its exit. */
export interface Instance {
  readonly id: string
  readonly botId: string
  readonly startedAt: Date
  /** Undefined while it runs. */
  readonly exit: Exit | undefined
}

export interface Limits {
  readonly memoryMb: number
  readonly cpus: number
  readonly diskMb: number
}

/** What to start. The id is the caller's: to start the same one twice starts it once. */
export interface InstanceSpec {
  readonly id: string
  readonly botId: string
  readonly releaseId: string
  readonly argv: readonly string[]
  /** What the recipe needs. `{project}` stands for the project's folder. */
  readonly releaseEnv: Readonly<Record<string, string>>
  /** What the bot's owner set: wins, and reaches the bot byte for byte. */
  readonly env: Readonly<Record<string, string>>
  readonly limits: Limits
}

export type OutputStream = 'stdout' | 'stderr'

export interface Stats {
  /** Of processor time since the start. */
  readonly cpuMs: number
  readonly memoryBytes: number
  readonly processes: number
  readonly networkRxBytes: number
  readonly networkTxBytes: number
}

export interface DiskUse {
  /** Of all that the bot has; 0 before its first deployment. */
  readonly usedBytes: number
  /** From 0 to 1, in bytes or in files, whichever is nearer to its end. Undefined: nothing holds the bot to a size. */
  readonly fullness?: number
}

/** Of these files of a release those that the staged ones lack, and that have to be put beside them. */
export type MissingFiles = (paths: readonly string[]) => Promise<string[]>

/** Where the files are that a bot works with. */
export interface BotFiles {
  /** Of this machine. The bot writes to it meanwhile, and may be hostile: no path below it is to be trusted. */
  readonly folder: string
  /** Whose files are among them; null: none, or not all of them. */
  readonly releaseId: string | null
  /** Folders in it that are put there with the release, at every start of another one. */
  readonly owned: readonly string[]
}

export interface FileEntry {
  readonly name: string
  readonly type: 'file' | 'folder' | 'other'
  readonly sizeBytes: number
  readonly modifiedAt: Date
}

export interface Task {
  readonly argv: readonly string[]
  /** As in an instance. */
  readonly releaseEnv: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onLine: (line: string, stream: OutputStream) => void
}

export interface DependencyCache {
  readonly key: string
  readonly folder: string
  readonly isShared: boolean
}

/** A release in the making, beside whatever runs. Unless it is kept it leaves nothing behind. */
export interface Workspace {
  /** Of this machine, for the source to be put into; empty at first. Not where the release will live. */
  readonly folder: string
  /** Runs a command inside the bot's walls, in the project's folder. Rejects with a RunError. */
  exec(task: Task): Promise<void>
  /** Puts dependencies that were installed before in their place; false if there are none. */
  useCache(cache: DependencyCache, options: { isWritable: boolean }): Promise<boolean>
  /** Keeps the dependencies that were just installed for the next time. */
  fillCache(cache: DependencyCache, options: { isWritable: boolean }): Promise<void>
  /** The release is complete: it can be started from now on. */
  keep(): Promise<void>
  discard(): Promise<void>
}

/** One of the things that keep bots from each other and from the host. */
export interface Wall {
  readonly name: 'files' | 'users' | 'calls' | 'limits' | 'network' | 'disk'
  /** `soft`: it holds honest mistakes, and hostile ones only in part. */
  readonly state: 'on' | 'soft' | 'off'
  /** What it is made of, or what is missing. */
  readonly detail: string
  /** What mends it, unless it is on. */
  readonly remedy?: string
}

/** What a wall did not give to a bot that runs. */
export interface Refusal {
  readonly instanceId: string
  readonly botId: string
  readonly wall: Wall['name']
  /** For its owner. */
  readonly text: string
}

/**
 * Where bots are built and run. Nothing here says on which machine, as which process or in which folder. All of it
 * can be called again after the caller died in the middle.
 */
export interface Runtime {
  /** What keeps bots from each other and from the host. */
  readonly walls: readonly Wall[]
  /**
   * A text that tells one version of a program from another, for whatever depends on it; undefined if bots do not have
   * that program.
   */
  identifyTool(name: string): string | undefined
  /** Rejects with a StepError where there is no room for it. */
  prepare(bot: { id: string; limits: Limits }, releaseId: string): Promise<Workspace>
  /**
   * Puts the release's files in their place and starts it. What an earlier release left in its place goes first.
   * Rejects with a StepError if the bot's disk holds more than it may.
   */
  start(spec: InstanceSpec): Promise<void>
  /** SIGTERM to all of it, after `graceMs` SIGKILL; resolves when nothing of it is left. */
  stop(instanceId: string, graceMs: number): Promise<void>
  /** Everything that was started and not forgotten, ended or not. */
  list(): Promise<Instance[]>
  /** Calls for each exit, also for those that `list` has shown; returns what stops it. */
  watch(onExit: (instance: Instance) => void): () => void
  /** How much an instance has written so far. A hostile one can make it less, or more than it has. */
  outputBytes(instanceId: string, stream: OutputStream): Promise<number>
  /** What an instance wrote, from an offset in bytes. Empty: nothing more for now. */
  readOutput(instanceId: string, stream: OutputStream, offset: number): Promise<Buffer>
  /** What stands before the offset was read and may go. */
  dropOutput(instanceId: string, stream: OutputStream, offset: number): Promise<void>
  stats(instanceId: string): Promise<Stats | undefined>
  /** Since it was asked last. A wall that refuses much says so once for each bot. */
  takeRefusals(): Promise<Refusal[]>
  /** An exit was recorded, and its output was read. */
  forget(instanceId: string): Promise<void>
  hasRelease(botId: string, releaseId: string): Promise<boolean>
  /** `listKept` is asked after a look at what there is: what is made meanwhile stays, whoever names it. */
  removeReleases(botId: string, listKept: () => Promise<readonly string[]>): Promise<void>
  /** Whether the bot has a folder that it works in: from its first start on. Without one the rest is `not_found`. */
  hasFiles(botId: string): Promise<boolean>
  /** Paths are relative to that folder; the empty one is the folder itself. Links are never followed. */
  listFiles(botId: string, path: string): Promise<FileEntry[]>
  /** The caller reads the stream or destroys it. */
  openFile(botId: string, path: string): Promise<{ stream: Readable; sizeBytes: number }>
  /** As a whole or not at all, with the folders that lead to it. */
  writeFile(botId: string, path: string, data: AsyncIterable<Uint8Array>): Promise<void>
  /** Also a folder with all that is in it. False if there is nothing of that name. */
  removeFile(botId: string, path: string): Promise<boolean>
  findFiles(botId: string): Promise<BotFiles | undefined>
  /**
   * An empty folder of this machine for files that are to take the place of the bot's own, on its disk, which has to
   * have room for so many bytes. By a name: whatever was staged by that name before is gone.
   */
  stageFiles(bot: { id: string; limits: Limits }, staged: { name: string; bytes: number }): Promise<string>
  /** All is in it: the bot's from now on, with what belongs to the release. `isPlaced`: its other files are there too. */
  finishStaged(
    bot: { id: string; limits: Limits },
    staged: { name: string; releaseId: string | null; isPlaced: boolean; missing: MissingFiles },
  ): Promise<void>
  /** In one step, and no less if we are killed in it and it is called again. The bot must not run. */
  swapStaged(botId: string, name: string): Promise<void>
  /** What was there before is there again. */
  swapStagedBack(botId: string, name: string): Promise<void>
  /** Also what was there before. */
  removeStaged(botId: string, name: string): Promise<void>
  /** Everything of a bot: its processes, files and releases. */
  remove(botId: string): Promise<void>
  disk(botId: string): Promise<DiskUse>
  /** Of the bot's own disk, from 0 to 1, without a look at its files. Undefined: it has none. */
  fullness(botId: string): Promise<number | undefined>
}
