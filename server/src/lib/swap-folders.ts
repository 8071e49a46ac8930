import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface FolderSwap {
  /** What everybody uses. */
  readonly current: string
  /** What takes its place; on the same file system. */
  readonly next: string
  /** Where what was there is kept. */
  readonly previous: string
}

/**
 * Puts a folder, or a file, in the place of another by two renames. Killed in it and called again it goes on where it
 * stopped, and done twice it is done once.
 */
export async function swapIn({ current, next, previous }: FolderSwap): Promise<void> {
  if (!existsSync(next)) return
  if (existsSync(previous)) await rm(current, { recursive: true, force: true }) // made by somebody who found nothing there
  if (existsSync(current)) await rename(current, previous)
  await rename(next, current)
  await syncNames(current, next)
}

/** Takes that back, however far it came. */
export async function swapBack({ current, next, previous }: FolderSwap): Promise<void> {
  if (existsSync(next) && existsSync(previous))
    await rm(current, { recursive: true, force: true }) // as above
  else if (existsSync(current) && !existsSync(next)) await rename(current, next)
  if (existsSync(previous)) await rename(previous, current)
  await syncNames(current, next)
}

/** Else the next crash of the machine could undo one of the renames and leave the other. */
async function syncNames(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await using folder = await open(dirname(path))
    await folder.sync()
  }
}
