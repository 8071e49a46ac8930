import type { Dir } from 'node:fs'
import { statSync } from 'node:fs'
import { lstat, mkdir, opendir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import { findByArgument, findByEnvironment, signalProcess } from '../../lib/proc.ts'
import { type RunOptions, run } from '../../lib/run.ts'
import { StepError } from '../../lib/step-error.ts'
import type { DependencyCache, Task, Workspace } from '../runtime.ts'
import { addUses, canShare } from './caches.ts'
import type { Confinement } from './confinement.ts'
import { type Folders, goneEnding, removeTree } from './folders.ts'
import { type Sandbox, systemPath, type View } from './sandbox.ts'
import { findProgram } from './toolchain.ts'

// Of one release: its list of files is held in memory, and read whenever it is started.
const entriesMax = 200_000
const pathCharactersMax = 32 * 1024 * 1024
// A build that floods its log must not keep the server from everything else.
const outputMax = 64 * 1024

/** What is known of a release beside its files. */
export interface Release {
  /** Relative to the project, without what is mounted. */
  readonly files: readonly string[]
  readonly mounts: readonly { readonly from: string; readonly folder: string }[]
}

/** Folders that belong to the release alone: what a bot leaves in them goes with the next one. */
export const ownedFolders = ['node_modules', '.botberth']

interface Surroundings {
  readonly folders: Folders
  readonly sandbox: Sandbox
  readonly confinement: Confinement | undefined
  /** Runs a command of a build within its limits, as the bot's user. */
  readonly runTask: RunTask
  /** Those in the making. */
  readonly open: Set<ProcessWorkspace>
  readonly uses: KeyedLock
  readonly sharedBytesMax: number | undefined
}

type TaskOptions = Omit<RunOptions, 'cwd' | 'env' | 'fds'> & { env: Record<string, string> }
export type RunTask = (view: View, argv: readonly string[], options: TaskOptions) => Promise<void>

export class ProcessWorkspace implements Workspace {
  readonly folder: string
  readonly #folders: Folders
  readonly #sandbox: Sandbox
  readonly #confinement: Confinement | undefined
  readonly #runTask: RunTask
  readonly #botId: string
  readonly #releaseId: string
  readonly #mounts: { from: string; folder: string }[] = []
  readonly #open: Set<ProcessWorkspace>
  readonly #uses: KeyedLock
  readonly #sharedBytesMax: number | undefined
  readonly #asides: string[] = []
  /** All of it is the bot's: nothing was put into it by us since. */
  #isGiven = false
  /** Caches that it has, or is about to take: none of them may go. */
  readonly caches = new Set<string>()

  constructor(surroundings: Surroundings, botId: string, releaseId: string) {
    const { folders, sandbox, confinement, runTask, open, uses, sharedBytesMax } = surroundings
    this.#folders = folders
    this.#sandbox = sandbox
    this.#confinement = confinement
    this.#runTask = runTask
    this.#open = open
    this.#uses = uses
    this.#sharedBytesMax = sharedBytesMax
    this.#botId = botId
    this.#releaseId = releaseId
    this.folder = `${folders.release(botId, releaseId)}.new`
  }

  /** Also after a killed attempt: nothing of it may run or lie about. */
  async clear(): Promise<void> {
    this.#open.add(this)
    // Without a folder there was no attempt. Looking through all processes takes long on a machine with many.
    if (await isThere(this.folder)) await this.#endRest()
    await removeTree(this.folder)
    await mkdir(this.folder, { recursive: true })
    const cache = this.#folders.cache(this.#botId)
    if (this.#confinement) await this.#confinement.own(this.#botId, cache)
    else await mkdir(cache, { recursive: true })
  }

  /** What we put there is ours; whoever builds and runs it is not us. */
  async #give(): Promise<void> {
    if (!this.#isGiven) await this.#confinement?.give(this.#botId, this.folder)
    this.#isGiven = true
  }

  async exec({ argv, releaseEnv, env, timeoutMs, signal, onLine }: Task): Promise<void> {
    const cache = this.#folders.cache(this.#botId)
    const { isWalled } = this.#sandbox
    const view: View = {
      project: this.folder,
      name: this.#releaseId,
      mounts: [
        { from: cache, to: '/cache', isWritable: true },
        ...this.#mounts.map(({ from, folder }) => ({ from, to: join('/bot', folder) })),
      ],
    }
    const project = this.#sandbox.projectPath(view)
    const caches = {
      npm_config_cache: join(isWalled ? '/cache' : cache, 'npm'),
      XDG_CACHE_HOME: isWalled ? '/cache' : cache,
      npm_config_update_notifier: 'false', // it is ours to update, and asking takes time
    }
    const words = argv.map((word) => word.replaceAll('{project}', () => project))
    await this.#checkMounts()
    await this.#give()
    const all = { ...caches, ...botEnvironment(releaseEnv, project), ...env }
    try {
      await this.#runTask(view, words, { env: all, timeoutMs, signal, onLine, bytesMax: outputMax })
    } finally {
      if (!isWalled) await this.#endRest()
    }
  }

  /** Behind walls all of it ends with the first, which has the name in its command line. */
  async #endRest(): Promise<void> {
    const find = () => [...findByArgument(this.#releaseId), ...findByEnvironment(`BOTBERTH_NAME=${this.#releaseId}`)]
    for (let pids = find(); pids.length > 0; pids = find()) {
      for (const pid of pids) signalProcess(pid, 'SIGKILL')
      await sleep(5)
    }
  }

  /** A build may have put a link in the way, and what mounts follows it to wherever it leads. */
  async #checkMounts(): Promise<void> {
    for (const { folder } of this.#mounts)
      if (!(await isFolderBelow(this.folder, dirname(folder)))) throw new Error(`${folder} was moved by the build`)
  }

  async useCache(cache: DependencyCache, { isWritable }: { isWritable: boolean }): Promise<boolean> {
    const from = this.#folders.dependencies(this.#botId, cache)
    this.caches.add(from) // before anybody can find that nothing uses it
    if (!(await isThere(from))) {
      // What came with the project must not be handed to others.
      if (cache.isShared) await removeTree(join(this.folder, cache.folder))
      return false
    }
    await utimes(from, new Date(), new Date()) // used just now: the last to be pruned
    await this.#place(from, cache.folder, isWritable)
    return true
  }

  /** By renaming: complete, or not there. */
  async fillCache(cache: DependencyCache, { isWritable }: { isWritable: boolean }): Promise<void> {
    const to = this.#folders.dependencies(this.#botId, cache)
    const installed = join(this.folder, cache.folder)
    // Nothing to install after all; or a link, and what it leads to is not ours to give away.
    if (!(await isFolderBelow(this.folder, cache.folder))) return
    if (cache.isShared && !(await isThere(to)) && !(await canShare(this.#folders, this.#sharedBytesMax))) return
    this.caches.add(to)
    await mkdir(dirname(to), { recursive: true })
    if (await isThere(to)) await removeTree(installed)
    else if (cache.isShared && this.#isElsewhere()) {
      await this.#copyShared(installed, to)
      if (isWritable) return // the bot's own is in its place already
    } else {
      if (cache.isShared) await this.#confinement?.share(installed)
      await renameUnlessThere(installed, to)
    }
    await this.#place(to, cache.folder, isWritable)
  }

  /** Whether what is shared is on another file system than what the bot has. */
  #isElsewhere(): boolean {
    return statSync(this.folder).dev !== statSync(this.#folders.caches).dev
  }

  /** By a copy under another name; one that was not finished is taken for a cache that nobody uses, and goes some day. */
  async #copyShared(from: string, to: string): Promise<void> {
    const draft = `${to}.${this.#releaseId}`
    this.caches.add(draft)
    await removeTree(draft)
    await copyAcross(from, draft)
    await this.#confinement?.open(draft)
    await renameUnlessThere(draft, to)
  }

  /** Read-only in its place where that is enough; a copy of its own for builds that write into it. */
  async #place(from: string, folder: string, isWritable: boolean): Promise<void> {
    const at = join(this.folder, folder)
    this.#isGiven = false
    await makeFolder(this.folder, dirname(folder))
    await this.#putAside(at)
    if (isWritable) await copyTree(from, at)
    else {
      await mkdir(at)
      this.#mounts.push({ from, folder })
      if (!this.#sandbox.isWalled) await linkFolder(from, at)
    }
  }

  /** What is in the way goes with old releases: there may be thousands of files, and somebody waits for this one. */
  async #putAside(path: string): Promise<void> {
    const aside = `${this.folder}.${this.#asides.length}${goneEnding}`
    this.#asides.push(aside)
    await removeTree(aside)
    await rename(path, aside).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }

  async keep(): Promise<void> {
    const release = this.#folders.release(this.#botId, this.#releaseId)
    await this.#give()
    const mounted = this.#mounts.map(({ folder }) => folder)
    const files = await listFiles(this.folder, mounted)
    const note: Release = { files, mounts: this.#mounts }
    await this.#uses.run(this.#botId, async () => {
      await addUses(this.#folders, this.#botId, this.#mounts)
      await writeFile(`${release}.json`, JSON.stringify(note))
      // Whoever has read the notes before this, and goes by them, sees that it was used since.
      for (const { from } of this.#mounts) await utimes(from, new Date(), new Date())
    })
    await removeTree(release)
    await rename(this.folder, release)
    this.#open.delete(this)
  }

  async discard(): Promise<void> {
    try {
      for (const path of [...this.#asides, this.folder]) await removeTree(path)
    } finally {
      this.#open.delete(this)
    }
  }
}

/** Another bot with the same dependencies may have been faster. */
async function renameUnlessThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    await removeTree(from)
  })
}

export async function readRelease(folders: Folders, botId: string, releaseId: string): Promise<Release> {
  return JSON.parse(await readFile(`${folders.release(botId, releaseId)}.json`, 'utf8')) as Release
}

/** What every bot and build is given, and what its recipe adds. */
export function botEnvironment(release: Readonly<Record<string, string>>, project: string): Record<string, string> {
  const { PATH_PREPEND: first, ...rest } = Object.fromEntries(
    Object.entries(release).map(([key, value]) => [key, value.replaceAll('{project}', () => project)]),
  )
  // The host's own certificates too: behind a company's proxy nothing else can be reached.
  const base = { LANG: 'C.UTF-8', TZ: 'UTC', NODE_ENV: 'production', NODE_USE_SYSTEM_CA: '1', ...rest }
  return first === undefined ? base : { ...base, PATH: `${first}:${systemPath}` }
}

const systemEnv = { PATH: '/usr/bin:/bin' }

/** With its owners, and links as links. */
export async function copyTree(from: string, to: string): Promise<void> {
  await run(['cp', '-a', '-T', '--reflink=auto', '--', from, to], copying)
}

const copying = { env: systemEnv, timeoutMs: 300_000 }

// Both have to succeed.
const packAndUnpack = `
code=$({ { "$0" -C "$1" -cf - .; echo $? >&3; } | "$0" -C "$2" --no-same-owner -xpf - >&2; } 3>&1) && [ "$code" = 0 ]`

/** To another file system, as ours. One reads while the other writes, which `cp` does by turns. */
async function copyAcross(from: string, to: string): Promise<void> {
  const tar = findProgram('tar')
  if (tar === undefined) {
    await run(['cp', '-a', '--no-preserve=ownership', '-T', '--', from, to], copying)
    return
  }
  await mkdir(to)
  await run(['sh', '-c', packAndUnpack, tar, from, to], copying)
}

/** Without walls nothing can be mounted: a link has to do. */
async function linkFolder(from: string, at: string): Promise<void> {
  await rm(at, { recursive: true })
  await run(['ln', '-s', '-T', '--', from, at], { env: systemEnv, timeoutMs: 10_000 })
}

/** Whether it is a folder and every part of its path is one: no links. */
export async function isFolderBelow(root: string, path: string): Promise<boolean> {
  const names = path.split('/')
  for (const [index] of names.entries()) {
    const stats = await lstat(join(root, ...names.slice(0, index + 1))).catch(() => undefined)
    if (!stats?.isDirectory()) return false
  }
  return true
}

/** Whatever else is in its way goes. */
async function makeFolder(root: string, path: string): Promise<void> {
  const names = path.split('/')
  for (const [index] of names.entries()) {
    const at = join(root, ...names.slice(0, index + 1))
    const stats = await lstat(at).catch(() => undefined)
    if (stats && !stats.isDirectory()) await rm(at)
    if (!stats?.isDirectory()) await mkdir(at)
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** Files and links, without following any; the folders that are in `without` are left out. */
async function listFiles(root: string, without: readonly string[]): Promise<string[]> {
  const found: string[] = []
  const folders = ['']
  let [entries, characters] = [0, 0]
  for (const folder of folders)
    for await (const entry of await openFolder(join(root, folder))) {
      const path = join(folder, entry.name)
      if (without.includes(path)) continue
      if (++entries > entriesMax || (characters += path.length) > pathCharactersMax) throw tooManyFiles()
      if (entry.isDirectory()) folders.push(path)
      else found.push(path)
    }
  return found
}

function openFolder(path: string): Promise<Dir> {
  return opendir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENAMETOOLONG') throw error
    throw new StepError('project_too_deep', 'The project has folders within folders that are nested too deep.')
  })
}

function tooManyFiles(): StepError {
  const detail = `The project has more than ${entriesMax.toLocaleString('en')} files after its build, or names too long for so many.`
  return new StepError('project_too_large', detail)
}
