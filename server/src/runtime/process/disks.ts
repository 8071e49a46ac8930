import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, type StatsFs, statSync } from 'node:fs'
import { mkdir, rename, rm, rmdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../lib/app-error.ts'
import { KeyedLock } from '../../lib/keyed-lock.ts'
import type { Log } from '../../lib/log.ts'
import { RunError, run } from '../../lib/run.ts'
import type { DiskUse } from '../runtime.ts'
import {
  draftEnding,
  execute,
  fileSystemBytes,
  growMountedImage,
  growUnmountedImage,
  imageBytes,
  loopDevice,
  makeFileSystem,
  makeImage,
  mountImage,
  unmount,
} from './disk-image.ts'
import { type Folders, removeTree } from './folders.ts'
import { mebibyte } from './limits.ts'
import { outputMb, outputOnDisk } from './output-files.ts'
import type { Disk } from './reach.ts'
import { findProgram, programFolders } from './toolchain.ts'

const plainEnding = 'plain'
const mountPointEnding = 'at'
const probeMb = 1
const packages = {
  'mkfs.ext4': 'e2fsprogs',
  e2fsck: 'e2fsprogs',
  resize2fs: 'e2fsprogs',
  mount: 'mount',
  losetup: 'mount',
  flock: 'util-linux',
}

interface Options {
  readonly folders: Folders
  readonly log: Log | undefined
  /** False: nobody asks for disks, or nobody but bots' own users could be kept to them. */
  readonly isWanted: boolean
}

interface Wanted {
  readonly diskMb: number
  /** Something works in the bot's folder: it cannot be moved now. */
  readonly isBusy: boolean
}

/**
 * A disk for each bot, mounted as its folder: an image that takes no more than the bot may have. The mounts stay when
 * we end, because bots go on. Where there can be none, folders are what they are, and others keep an eye on them.
 */
export class Disks {
  readonly #folders: Folders
  readonly #log: Log | undefined
  readonly #lock = new KeyedLock()
  /** Of the file system on which all folders of bots are that have no disk. */
  readonly #hostDevice: number
  /** Why there are none; undefined: there are. */
  readonly problem: string | undefined
  readonly remedy: string | undefined

  constructor({ folders, log, isWanted }: Options) {
    this.#folders = folders
    this.#log = log
    this.#hostDevice = statSync(folders.bots).dev
    const found = isWanted ? this.#findProblem() : { problem: 'it takes root and bubblewrap to give them disks' }
    this.problem = found.problem
    this.remedy = found.remedy
  }

  get #isPossible(): boolean {
    return this.problem === undefined
  }

  /** By making, mounting and removing one. */
  #findProblem(): { problem?: string; remedy?: string } {
    const missing = Object.entries(packages).find(([program]) => findProgram(program) === undefined)
    if (missing) return { problem: `there is no ${missing[0]}`, remedy: `apt install ${missing[1]}` }
    this.#removeDrafts()
    const image = join(this.#folders.images, `probe.${draftEnding}`)
    const folder = `${image}.${mountPointEnding}`
    mkdirSync(folder)
    const size = String(imageBytes(probeMb))
    const [make = '', ...args] = makeFileSystem(image)
    const problem =
      tryCommand('truncate', ['-s', size, image]) ??
      tryCommand(make, args) ??
      tryCommand('mount', ['-t', 'ext4', '-o', 'loop', image, folder]) ??
      tryCommand('umount', [folder]) ??
      this.#sharePlace()
    this.#removeDrafts()
    return problem === undefined
      ? {}
      : { problem, remedy: 'a kernel that lets root mount ext4 from loop devices; in a container they are not given' }
  }

  /** What a killed server did not finish. */
  #removeDrafts(): void {
    const names = readdirSync(this.#folders.images).map((name) => join(this.#folders.images, name))
    for (const folder of names.filter((name) => name.endsWith(`.${mountPointEnding}`))) {
      if (isMountPoint(folder)) tryCommand('umount', ['-l', folder])
      rmSync(folder, { recursive: true })
    }
    for (const name of names) if (name.endsWith(`.${draftEnding}`)) rmSync(name, { force: true })
  }

  /**
   * All disks hang on one mount: whoever copies our mounts, as each start of a bot may, lets go of all of them with it,
   * and in copies that others keep they end when they end here.
   */
  #sharePlace(): string | undefined {
    const { bots } = this.#folders
    return isMountPoint(bots) ? undefined : tryCommand('mount', ['--bind', '--make-shared', bots, bots])
  }

  /** Now, in its place. */
  has(botId: string): boolean {
    const device = statSync(this.#folders.bot(botId), { throwIfNoEntry: false })?.dev
    return device !== undefined && device !== this.#hostDevice
  }

  /** Undefined: it has none, or it is not in its place. */
  find(botId: string): Disk | undefined {
    if (!this.has(botId)) return undefined
    return { device: loopDevice(this.#folders.bot(botId)), image: realpathSync(this.#folders.image(botId)) }
  }

  /** Before a bot or a build of it starts. In its place when this resolves, and as large as it should be, or larger. */
  async ready(botId: string, wanted: Wanted): Promise<void> {
    const image = this.#folders.image(botId)
    const bytes = imageBytes(wanted.diskMb)
    if (this.has(botId) && fileSystemBytes(image) >= bytes) return
    await this.open(botId)
    if (!this.#isPossible) return
    await this.#lock.run(botId, async () => {
      const made = existsSync(image) ? 'before' : await this.#make(botId, bytes, wanted)
      if (made === undefined) return
      await this.#mount(botId, { isNew: made === 'empty' })
      if (fileSystemBytes(image) < bytes) await this.#grow(botId, bytes, wanted)
    })
  }

  /** Or not: the bot has as much room as before then, and the next start tries again. */
  async #grow(botId: string, bytes: number, { isBusy }: Wanted): Promise<void> {
    const image = this.#folders.image(botId)
    const growth = { folder: this.#folders.bot(botId), bytes }
    try {
      await growMountedImage(image, growth).catch((error: unknown) => {
        if (isBusy) throw error
        return growUnmountedImage(image, growth)
      })
    } catch (error) {
      this.#log?.warn({ err: error, bot: botId }, 'the disk of a bot could not be made larger')
    } finally {
      await this.#mount(botId)
    }
  }

  /** Whatever the bot has can be looked at when this resolves, as after a restart of the machine. */
  async open(botId: string): Promise<void> {
    if (this.has(botId)) return
    await this.#lock.run(botId, async () => {
      await this.#recover(botId)
      if (existsSync(this.#folders.image(botId))) await this.#mount(botId)
    })
  }

  async #mount(botId: string, { isNew = false } = {}): Promise<void> {
    if (this.has(botId)) return
    if (!this.#isPossible)
      throw new AppError('unavailable', {
        detail: 'The disk of this bot cannot be mounted. Its operator finds the reason in the log.',
        cause: new Error(`images cannot be mounted (${this.problem}): the files of ${botId} are in one`),
      })
    const folder = this.#folders.bot(botId)
    await mkdir(folder, { recursive: true })
    const words = await mountImage(this.#folders.image(botId), folder, { isNew })
    if (words !== undefined)
      this.#log?.warn({ bot: botId, e2fsck: words }, 'the disk of a bot was not clean, and was mended')
  }

  /** Undefined: the bot has a folder from before, which cannot be moved now, or does not fit. */
  async #make(botId: string, bytes: number, { isBusy }: Wanted): Promise<'empty' | 'filled' | undefined> {
    const folder = this.#folders.bot(botId)
    const isPlain = existsSync(folder) && readdirSync(folder).length > 0
    if (isPlain && isBusy) return undefined
    const image = this.#folders.image(botId)
    if (!isPlain) {
      await makeImage(image, bytes)
      return 'empty'
    }
    // The image has its name only when all is in it, and the folder loses its own before: there is always one of them.
    try {
      await makeImage(image, bytes, async (draft) => {
        await copyInto(draft, folder)
        await rename(folder, `${folder}.${plainEnding}`)
      })
    } catch (error) {
      await this.#recover(botId)
      this.#log?.warn({ err: error, bot: botId }, 'the files of a bot could not be moved to a disk of their own')
      return undefined
    }
    await this.#recover(botId)
    return 'filled'
  }

  /** We were killed while files were moved: they are where they were, or all of them are in the image. */
  async #recover(botId: string): Promise<void> {
    const folder = this.#folders.bot(botId)
    const plain = `${folder}.${plainEnding}`
    if (!existsSync(plain)) return
    if (existsSync(this.#folders.image(botId))) await removeTree(plain)
    else await rename(plain, folder)
  }

  /** Nothing of it is left, or once more the next time. */
  async remove(botId: string): Promise<void> {
    const folder = this.#folders.bot(botId)
    await this.#lock.run(botId, async () => {
      while (this.has(botId)) await unmount(folder)
      await rm(this.#folders.image(botId), { force: true })
      await removeTree(`${folder}.${plainEnding}`)
      await removeTree(folder)
    })
  }

  async use(botId: string): Promise<DiskUse> {
    await this.open(botId)
    const folder = this.#folders.bot(botId)
    // A restore has all of the bot's files beside those that it has: that is ours, and for a while.
    if (!this.has(botId)) return { usedBytes: await measure(folder, this.#folders.staged(botId)) }
    const stats = await statfs(folder)
    const usedBytes =
      (stats.blocks - stats.bfree) * stats.bsize -
      Math.min(outputMb * mebibyte, outputOnDisk(this.#folders.output(botId)))
    return { usedBytes, fullness: fullnessOf(stats) }
  }

  async fullness(botId: string): Promise<number | undefined> {
    await this.open(botId)
    return this.has(botId) ? fullnessOf(await statfs(this.#folders.bot(botId))) : undefined
  }

  /** Nothing runs any more: nothing of ours is left on the machine. */
  async close(): Promise<void> {
    if (this.#isPossible && isMountPoint(this.#folders.bots)) await execute(['umount', '-l', this.#folders.bots])
  }
}

function fullnessOf({ blocks, bavail, files, ffree }: StatsFs): number {
  return 1 - Math.min(bavail / blocks, ffree / files)
}

async function copyInto(image: string, folder: string): Promise<void> {
  const at = `${image}.${mountPointEnding}`
  await mkdir(at)
  await mountImage(image, at)
  try {
    await execute(['cp', '-a', '-T', '--', folder, at])
  } finally {
    await unmount(at)
    await rmdir(at)
  }
}

/**
 * Follows no links, and gets in nobody's way. The bot may remove files meanwhile, which is no failure. Folders that it has
 * closed to itself, and so to us where we are the same user, are opened: else it could hide in them what it has.
 */
export async function measure(folder: string, without?: string): Promise<number> {
  if (!existsSync(folder)) return 0
  const first = await diskUse(folder, without)
  if (!first.isClosed) return first.bytes
  await execute([
    'nice',
    '-n',
    '19',
    'find',
    folder,
    '-xdev',
    ...closedFolders,
    '-exec',
    'chmod',
    'u+rwx',
    '{}',
    ';',
  ]).catch(passOver)
  return (await diskUse(folder, without)).bytes
}

// Before it goes into each.
const closedFolders = ['-type', 'd', '!', '-perm', '-u+rx']

async function diskUse(folder: string, without?: string): Promise<{ bytes: number; isClosed: boolean }> {
  const lines: string[] = []
  // Whatever it comes by twice it counts the first time only.
  const first = without !== undefined && existsSync(without) ? [without] : []
  await run(['nice', '-n', '19', 'du', '-s', '-x', '-B1', '--', ...first, folder], {
    env: { PATH: programFolders.join(':'), LC_ALL: 'C' },
    timeoutMs: 60_000,
    onLine: (line) => lines.push(line),
  }).catch(passOver)
  const bytes = Number(lines.map((line) => /^\d+(?=\t)/.exec(line)?.[0]).findLast(Boolean) ?? 0)
  return {
    bytes,
    isClosed: lines.some((line) => /^du: cannot (read directory|access) .*: Permission denied$/.test(line)),
  }
}

function passOver(error: unknown): void {
  if (!(error instanceof RunError) || error.reason !== 'exit') throw error
}

/** Also of one that shows the same file system again. */
function isMountPoint(folder: string): boolean {
  const path = realpathSync(folder).replaceAll(
    /[\\ \t\n]/g,
    (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`,
  )
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .some((line) => line.split(' ', 5)[4] === path)
}

/** What is wrong with it, if anything. */
function tryCommand(command: string, args: readonly string[]): string | undefined {
  const env = { PATH: programFolders.join(':'), LC_ALL: 'C' }
  const { status, stderr, error } = spawnSync(command, args, { env, timeout: 10_000 })
  return status === 0 ? undefined : (error?.message ?? stderr.toString().trim().slice(0, 300))
}
