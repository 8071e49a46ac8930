import { renameSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Folders, removeTree } from './folders.ts'
import type { ProcessWorkspace, Release } from './workspace.ts'

const sharedMax = 50
/** Of one bot: a rollback or two, and whatever it went back and forth between. */
const ownMax = 5
const unusedMaxMs = 14 * 86_400_000
const goneEnding = '.gone'

interface Use {
  readonly botId: string
  readonly open: ReadonlySet<ProcessWorkspace>
  /** What a bot has is on a disk, which may not be in its place. */
  readonly openDisk: (botId: string) => Promise<void>
}

/** Removes dependencies that were not used for long, or are too many. Never those that a release has. */
export async function pruneCaches(folders: Folders, { botId, open, openDisk }: Use): Promise<void> {
  await prune(folders.ownCaches(botId), { open, max: ownMax, listUsed: () => listMounted(folders, [botId]) })
  await prune(folders.caches, {
    open,
    max: sharedMax,
    listUsed: async () => {
      const botIds = await readdir(folders.bots)
      for (const id of botIds) await openDisk(id)
      return listMounted(folders, botIds)
    },
  })
}

interface Rule {
  readonly open: ReadonlySet<ProcessWorkspace>
  readonly max: number
  readonly listUsed: () => Promise<Set<string>>
}

async function prune(folder: string, { open, max, listUsed }: Rule): Promise<void> {
  const caches = await listByUse(folder)
  const isOld = (usedAt: number, index: number) => index >= max || usedAt < Date.now() - unusedMaxMs
  // What all releases have is asked only if there is something to remove: it is a file for each.
  if (!caches.some(({ usedAt }, index) => isOld(usedAt, index))) return
  const used = await listUsed()
  const spare = caches.filter(({ path }) => !used.has(path))
  const room = Math.max(0, max - (caches.length - spare.length))
  const isTaken = (path: string) => [...open].some((workspace) => workspace.caches.has(path))
  for (const { path } of spare.filter(
    ({ usedAt, path: at }, index) => at.endsWith(goneEnding) || index >= room || isOld(usedAt, 0),
  )) {
    if (isTaken(path)) continue
    const gone = path.endsWith(goneEnding) ? path : `${path}${goneEnding}`
    // In one step with the question whether it is taken: nobody finds half of it.
    if (gone !== path) renameSync(path, gone)
    await removeTree(gone)
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

async function listMounted(folders: Folders, botIds: readonly string[]): Promise<Set<string>> {
  const mounted = new Set<string>()
  for (const botId of botIds) {
    const folder = folders.releases(botId)
    for (const name of await readdir(folder).catch(() => [] as string[])) {
      if (!name.endsWith('.json')) continue
      const { mounts } = JSON.parse(await readFile(join(folder, name), 'utf8')) as Release
      for (const { from } of mounts) mounted.add(from)
    }
  }
  return mounted
}
