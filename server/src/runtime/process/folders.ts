import { mkdirSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { removeBeneath } from '../../lib/beneath.ts'
import { randomToken } from '../../lib/secret.ts'

/** Of what is to be removed, and belongs to nobody any more. */
export const goneEnding = '.gone'

/** Where the process runtime keeps what below the data directory. */
export class Folders {
  /** One status file an instance, and nothing else: this folder is watched. */
  readonly status: string
  /** What is known of each instance. */
  readonly notes: string
  /** Dependencies that bots share. */
  readonly caches: string
  /** How large each of those is, by its key. */
  readonly cacheSizes: string
  /** Which of those the releases of each bot have. */
  readonly cacheUses: string
  /** Links to the programs that we ship, for bots that run without walls. */
  readonly tools: string
  /** What bots and their builds write: a folder each, which is a disk of its own where that is possible. */
  readonly bots: string
  /** Those disks. */
  readonly images: string
  /** Which bot has which number. */
  readonly numbers: string
  readonly tag: string

  constructor(dataDir: string) {
    this.status = join(dataDir, 'instances')
    this.notes = join(dataDir, 'output')
    this.caches = join(dataDir, 'dependencies')
    this.cacheSizes = join(dataDir, 'dependency-sizes')
    this.cacheUses = join(dataDir, 'dependency-uses')
    this.tools = join(dataDir, 'tools')
    this.bots = join(dataDir, 'bots')
    this.images = join(dataDir, 'images')
    this.numbers = join(dataDir, 'numbers')
    this.tag = join(dataDir, 'tag')
    const caches = [this.caches, this.cacheSizes, this.cacheUses]
    for (const folder of [this.status, this.notes, ...caches, this.tools, this.bots, this.images, this.numbers])
      mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  bot(botId: string): string {
    return join(this.bots, botId)
  }

  image(botId: string): string {
    return join(this.images, botId)
  }

  /** What it writes to stdout and stderr: on its own disk, so that it fills no other, and not where it can see it. */
  output(botId: string): string {
    return join(this.bot(botId), 'output')
  }

  /** The folder that the running bot works in; what it writes there stays over deployments. */
  home(botId: string): string {
    return join(this.bot(botId), 'home')
  }

  releases(botId: string): string {
    return join(this.bot(botId), 'releases')
  }

  release(botId: string, releaseId: string): string {
    return join(this.releases(botId), releaseId)
  }

  /** What is to take the place of `home`, and what it took the place of; a folder each. Ours alone. */
  staged(botId: string): string {
    return join(this.bot(botId), 'staged')
  }

  /** What package managers keep for the next time; one a bot, so that nobody can leave something in it for others. */
  cache(botId: string): string {
    return join(this.bot(botId), 'cache')
  }

  /** Dependencies that were installed for one bot alone. */
  ownCaches(botId: string): string {
    return join(this.bot(botId), 'dependencies')
  }

  dependencies(botId: string, { key, isShared }: { key: string; isShared: boolean }): string {
    return join(isShared ? this.caches : this.ownCaches(botId), key)
  }
}

/** With whatever a bot or a build left in it: folders that are closed, or too deep for a path. */
export async function removeTree(path: string): Promise<void> {
  await removeBeneath(dirname(path), basename(path))
}

/** Under its name it is gone in one step, before anybody else does anything: nobody finds half of it. */
export function removeAtOnce(path: string): Promise<void> {
  if (path.endsWith(goneEnding)) return removeTree(path)
  const gone = `${path}.${randomToken()}${goneEnding}`
  try {
    renameSync(path, gone)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return removeTree(gone)
}
