import { statSync } from 'node:fs'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import { measure } from './disks.ts'
import { type Folders, goneEnding, removeAtOnce } from './folders.ts'
import { mebibyte } from './limits.ts'
import type { ProcessWorkspace, Release } from './workspace.ts'

const sharedMax = 50
/** They are on nobody's disk. Where all of them are in use, what others install is their own. */
const sharedBytesMax = 10 * 1024 * mebibyte
/** Of one bot: a rollback or two, and whatever it went back and forth between. */
const ownMax = 5
const unusedMaxMs = 14 * 86_400_000
/** Beside the ids of bots, in the lock. */
const ofAll = ''

interface Use {
  readonly botId: string
  readonly open: ReadonlySet<ProcessWorkspace>
  /** What a bot has is on a disk, which may not be in its place. */
  readonly openDisk: (botId: string) => Promise<void>
  readonly bytesMax?: number | undefined
  /** By bot: a release of it may be completed meanwhile. */
  readonly lock: KeyedLock
}

/** Removes dependencies that were not used for long, or are too many or too large. Never those that a release has. */
export async function pruneCaches(folders: Folders, use: Use): Promise<void> {
  const { botId, open, openDisk, lock, bytesMax = sharedBytesMax } = use
  const noteOwn = () => lock.run(botId, () => noteMounted(folders, botId))
  await noteOwn()
  await prune(folders.ownCaches(botId), { open, max: ownMax, listUsed: noteOwn })
  // One at a time: what another bot's has begun to write down would be taken for left over.
  await lock.run(ofAll, async () => {
    await measureNew(folders)
    await prune(folders.caches, {
      open,
      max: sharedMax,
      sizes: { of: await readSizes(folders), bytesMax },
      listUsed: () => listShared(folders, { openDisk, lock }),
    })
    const left = new Set(await readdir(folders.caches))
    for (const key of await readdir(folders.cacheSizes)) if (!left.has(key)) await rm(join(folders.cacheSizes, key))
  })
}

/** Whether there is room for more of them. */
export async function canShare(folders: Folders, bytesMax = sharedBytesMax): Promise<boolean> {
  return sum(await readSizes(folders)) < bytesMax
}

/** Before the release is complete: what it has must not go. */
export async function addUses(folders: Folders, botId: string, mounts: Release['mounts']): Promise<void> {
  const before = (await readUses(folders, botId)) ?? (await listMounted(folders, botId))
  await noteUses(folders, botId, new Set([...before, ...mounts.map(({ from }) => from)]))
}

export async function forgetUses(folders: Folders, botId: string): Promise<void> {
  await rm(join(folders.cacheUses, botId), { force: true })
}

/** Complete, or as it was. */
async function noteUses(folders: Folders, botId: string, used: ReadonlySet<string>): Promise<void> {
  const file = join(folders.cacheUses, botId)
  await writeFile(`${file}.new`, JSON.stringify([...used]), { mode: 0o600 })
  await rename(`${file}.new`, file)
}

async function readUses(folders: Folders, botId: string): Promise<Set<string> | undefined> {
  try {
    return new Set(JSON.parse(await readFile(join(folders.cacheUses, botId), 'utf8')) as string[])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined // not since there are such files
    throw error
  }
}

/** By all bots. What is written down is asked, so that not every disk has to be in its place. */
async function listShared(folders: Folders, { openDisk, lock }: Pick<Use, 'openDisk' | 'lock'>): Promise<Set<string>> {
  const used = new Set<string>()
  for (const botId of await readdir(folders.bots)) {
    const own = await lock.run(botId, async () => {
      const noted = await readUses(folders, botId)
      if (noted) return noted
      await openDisk(botId)
      return noteMounted(folders, botId)
    })
    for (const path of own) used.add(path)
  }
  return used
}

async function noteMounted(folders: Folders, botId: string): Promise<Set<string>> {
  const mounted = await listMounted(folders, botId)
  await noteUses(folders, botId, mounted)
  return mounted
}

async function measureNew(folders: Folders): Promise<void> {
  const known = new Set(await readdir(folders.cacheSizes))
  for (const key of await readdir(folders.caches))
    if (!known.has(key) && !key.endsWith(goneEnding)) {
      const file = join(folders.cacheSizes, key)
      await writeFile(`${file}.new`, String(await measure(join(folders.caches, key))))
      await rename(`${file}.new`, file)
    }
}

async function readSizes({ cacheSizes }: Folders): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  const keys = (await readdir(cacheSizes)).filter((key) => !key.endsWith('.new')) // which are being written
  for (const key of keys) sizes.set(key, Number(await readFile(join(cacheSizes, key), 'utf8')))
  return sizes
}

function sum(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((all, bytes) => all + bytes, 0)
}

interface Rule {
  readonly open: ReadonlySet<ProcessWorkspace>
  readonly max: number
  readonly sizes?: { readonly of: ReadonlyMap<string, number>; readonly bytesMax: number }
  readonly listUsed: () => Promise<Set<string>>
}

async function prune(folder: string, { open, max, sizes, listUsed }: Rule): Promise<void> {
  const caches = await listByUse(folder)
  const isOld = (usedAt: number, index: number) => index >= max || usedAt < Date.now() - unusedMaxMs
  let bytes = sizes ? sum(sizes.of) : 0
  const isFull = () => sizes !== undefined && bytes >= sizes.bytesMax
  // What all releases have is asked only if there is something to remove: it is a file for each.
  if (!isFull() && !caches.some(({ usedAt }, index) => isOld(usedAt, index))) return
  const used = await listUsed()
  const spare = caches.filter(({ path }) => !used.has(path))
  const room = Math.max(0, max - (caches.length - spare.length))
  const isTaken = (path: string) => [...open].some((workspace) => workspace.caches.has(path))
  const isSpent = ({ usedAt, path }: (typeof spare)[number], index: number) =>
    path.endsWith(goneEnding) || index >= room || isOld(usedAt, 0)
  // The last used go last.
  for (const [index, cache] of [...spare.entries()].toReversed()) {
    const { path } = cache
    // By a release that is complete since they were listed; or it has gone meanwhile.
    const isUsedAgain = statSync(path, { throwIfNoEntry: false })?.mtimeMs !== cache.usedAt
    if ((!isSpent(cache, index) && !isFull()) || isTaken(path) || isUsedAgain) continue
    bytes -= sizes?.of.get(basename(path)) ?? 0
    await removeAtOnce(path)
  }
}

/** The last used first. */
async function listByUse(folder: string): Promise<{ path: string; usedAt: number }[]> {
  const names = await readdir(folder).catch(() => [] as string[])
  const caches = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      return { path, usedAt: (await stat(path)).mtimeMs }
    }),
  )
  return caches.toSorted((a, b) => b.usedAt - a.usedAt)
}

async function listMounted(folders: Folders, botId: string): Promise<Set<string>> {
  const mounted = new Set<string>()
  const folder = folders.releases(botId)
  for (const name of await readdir(folder).catch(() => [] as string[])) {
    if (!name.endsWith('.json')) continue
    const { mounts } = JSON.parse(await readFile(join(folder, name), 'utf8')) as Release
    for (const { from } of mounts) mounted.add(from)
  }
  return mounted
}
