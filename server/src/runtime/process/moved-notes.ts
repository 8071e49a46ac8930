import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Folders } from './folders.ts'
import type { Release } from './workspace.ts'

/** Releases name the dependencies that they have by whole paths: in a data directory that has moved they are elsewhere. */
export async function moveNotes(dataDir: string, before: string): Promise<void> {
  if (dataDir === before) return
  const folders = new Folders(dataDir)
  const moved = (path: string) => (path.startsWith(`${before}/`) ? join(dataDir, path.slice(before.length)) : path)
  for (const botId of await readdir(folders.bots)) {
    const releases = folders.releases(botId)
    for (const name of await readNames(releases)) {
      if (!name.endsWith('.json')) continue
      const file = join(releases, name)
      const release = JSON.parse(await readFile(file, 'utf8')) as Release
      const mounts = release.mounts.map((mount) => ({ ...mount, from: moved(mount.from) }))
      if (mounts.length > 0) await writeFile(file, JSON.stringify({ ...release, mounts }))
    }
  }
}

async function readNames(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [] // it was never deployed
    throw error
  })
}
